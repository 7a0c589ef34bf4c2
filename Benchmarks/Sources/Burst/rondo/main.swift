import CBurst
import Rondo
import RondoSockets

nonisolated(unsafe) let page = burst_open()
let loop = Loop.main
loop.add(
  SocketSource(try Socket(owning: CInt(burst_socket)), for: .data) { _, event in
    guard case .datagram(let datagram) = event else { return }
    burst_took(page, datagram.bytes, datagram.bytes.count)
  })
loop.run()
