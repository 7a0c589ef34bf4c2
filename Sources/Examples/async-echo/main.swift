// An echo server: the README's program, to the letter.
//
//   make run ARGS=ADDRESS    127.0.0.1:7007 without one
//
// Type into `nc 127.0.0.1 7007`, and each line comes back. SIGINT (Ctrl-C) and SIGTERM end it.

import Glibc
import Rondo
import RondoDaemon
import RondoMain
import RondoSockets

let address = try SocketAddress(parsing: CommandLine.arguments.dropFirst().first ?? "127.0.0.1:7007")
let listener = try Socket.listening(at: address)
for signal in [SIGINT, SIGTERM] {
  Loop.main.add(try SignalSource(signal) { _, _ in Loop.main.stop() }, to: .common)
}
print("Listening at \(listener.localAddress!). Ctrl-C ends the server.")
fflush(nil)
for try await (client, _) in try listener.connections(on: .main) {
  Task {
    for try await bytes in try client.data(on: .main) {
      try await client.send(bytes, on: .main, timeout: .seconds(30))
    }
  }
}
