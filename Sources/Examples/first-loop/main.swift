// A loop with a timer, a descriptor and a signal: the README's program, to the letter.
//
//   echo hello | swift run first-loop
//
// It ends after three seconds, or with Ctrl-C.

import Glibc
import Rondo
import RondoDaemon

func say(_ text: String) {
  print(text)
  fflush(nil)
}

let loop = Loop.main
loop.add(Loop.Timer(every: .seconds(1)) { tick in say("a second, \(tick.missed) missed") })
let input = try? Loop.DescriptorSource(STDIN_FILENO, for: .read) { source, readiness in
  say("standard input: \(readiness)")
  source.invalidate()
}
if let input { loop.add(input) }
loop.add(try SignalSource(SIGINT) { _, _ in loop.stop() }, to: .common)
say("The run ended: \(loop.run(for: .seconds(3)))")
