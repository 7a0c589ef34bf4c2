// A timer, a listener and a signal on the main thread's loop: the program of the article Getting started.
//
//   swift run first-steps
//
// It says each second that one more has passed, greets who connects to the address it prints (nc 127.0.0.1 PORT), and
// ends with Ctrl-C.

import Glibc
import Rondo
import RondoDaemon
import RondoSockets

// What was printed goes out before each sleep, into a pipe or a file as well.
Loop.main.add(Loop.Observer(.beforeWaiting) { _ in fflush(nil) }, to: .common)

let ticks = Loop.Timer(every: .seconds(1), tolerance: .milliseconds(100)) { tick in
  print("one more second, \(tick.missed) missed")
}
let listener = SocketSource(try .listening(at: .loopback()), for: .accept) { _, event in
  switch event {
  case .accepted(let socket, from: _): _ = try? socket.send(Array("Hello, and goodbye.\n".utf8)[...])
  case .failed(let error): fatalError("Nobody can connect any more: \(error)")
  default: break  // No descriptor is left: it pauses by itself.
  }
}
let interrupt = try SignalSource(SIGINT) { _, _ in Loop.main.stop() }

Loop.main.add(ticks)
Loop.main.add(listener)
Loop.main.add(interrupt, to: .common)
print("Connect to \(listener.socket!.localAddress!), or press Ctrl-C.")
Loop.main.run()
print("The end.")
