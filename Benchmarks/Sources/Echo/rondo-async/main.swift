import CEcho
import Rondo
import RondoMain
import RondoSockets

let listener = try Listener(Socket(owning: CInt(echo_listener)))
try await listener.serve(on: .main) { connection in
  for try await bytes in connection { try await connection.write(bytes) }
}
