// A loop with a timer, a descriptor and a signal: the README's program, to the letter.
//
//   echo hello | make run EXAMPLE=first-loop
//
// It ends after three seconds, or with Ctrl-C.

import Glibc
import Rondo
import RondoDaemon

Loop.main.add(Loop.Observer(.beforeWaiting) { _ in fflush(nil) })
Loop.main.add(Loop.Timer(every: .seconds(1)) { tick in print("a second, \(tick.missed) missed") })
let input = try? Loop.DescriptorSource(STDIN_FILENO, for: .read) { source, readiness in
  print("standard input: \(readiness)")
  source.invalidate()
}
if let input { Loop.main.add(input) }
Loop.main.add(try SignalSource(SIGINT) { _, _ in Loop.main.stop() }, to: .common)
print("The run ended: \(Loop.main.run(for: .seconds(3)))")
