import CBurst
import Rondo
import RondoMain
import RondoSockets

let page = burst_open()
let socket = try Socket(owning: CInt(burst_socket))
for try await datagram in try socket.datagrams(on: .main) {
  burst_took(page, datagram.bytes, datagram.bytes.count)
}
