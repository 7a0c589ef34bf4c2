// Message ports between processes that die, under attack, and without descriptors, for the tests:
// `rondo-port-probe kill COUNT DIRECTORY`, `attack WAY`, `descriptors DIRECTORY`. For the first it starts itself as `rondo-port-probe serve WAY NAME [DIRECTORY]`.

import Glibc
import RondoTestProcess

// A probe that waits for ever has failed; no probe takes a hundredth of this.
endProcess(after: 600)
let arguments = CommandLine.arguments.dropFirst()
switch (arguments.first, arguments.count) {
case ("kill", 3): probeKills(count: Int(arguments[2])!, directory: arguments[3])
case ("attack", 2): probeAttack(Attack(rawValue: arguments[2])!)
case ("descriptors", 2): probeDescriptors(directory: arguments[2])
case ("serve", 3...4): serve(Way(rawValue: arguments[2])!, name: arguments[3], directory: arguments.dropFirst(3).first)
default:
  print(
    "usage: rondo-port-probe kill COUNT DIRECTORY | attack WAY | descriptors DIRECTORY | serve WAY NAME [DIRECTORY]")
  exit(2)
}
