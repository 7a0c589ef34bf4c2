// A timer, a listener and a signal on the main thread's loop.
//
//   make run EXAMPLE=first-steps
//
// It says each second that one more has passed, greets who connects to the address it prints (nc 127.0.0.1 PORT), and
// ends with Ctrl-C.

import Glibc
import Rondo
import RondoDaemon
import RondoSockets

/// Prints a line at once, into a pipe as well.
func say(_ text: String) {
  print(text)
  fflush(nil)
}

let ticks = Loop.Timer(every: .seconds(1), tolerance: .milliseconds(100)) { tick in
  say("one more second, \(tick.missed) missed")
}
let listener = SocketSource(try .listening(at: .loopback()), for: .accept) { _, event in
  switch event {
  case .accepted(let socket, from: _): _ = try? socket.send(Array("Hello, and goodbye.\n".utf8))
  case .failed(let error): fatalError("Nobody can connect any more: \(error)")
  default: break  // No descriptor is left: it pauses by itself.
  }
}
let interrupt = try SignalSource(SIGINT) { _, _ in Loop.main.stop() }

Loop.main.add(ticks)
Loop.main.add(listener)
Loop.main.add(interrupt, to: .common)
say("Connect to \(listener.socket!.localAddress!), or press Ctrl-C.")
Loop.main.run()
say("The end.")
