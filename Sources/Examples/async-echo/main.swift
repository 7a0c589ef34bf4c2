// An echo server: the README's program, to the letter.
//
//   make run ARGS=ADDRESS    127.0.0.1:7007 without one
//
// Type into `nc 127.0.0.1 7007`, and each line comes back. SIGINT (Ctrl-C) and SIGTERM end it.

import Glibc
import RondoServer

let address = try SocketAddress(parsing: CommandLine.arguments.dropFirst().first ?? "127.0.0.1:7007")
let listener = try Listener(at: address)
print("Listening at \(listener.address). Ctrl-C ends the server.")
fflush(nil)
try await withCancellation(by: [SIGINT, SIGTERM], on: .main) {
  try await listener.serve(on: .main, limits: ServerLimits(idle: .seconds(30)), grace: .seconds(5)) { connection in
    while try await connection.awaitRequest(), let bytes = try await connection.read() {
      try await connection.write(bytes)
    }
  }
}
