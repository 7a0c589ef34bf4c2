import CEcho
import Rondo
import RondoSockets

let loop = Loop.main
loop.add(
  SocketSource(try Socket(owning: CInt(echo_listener)), for: .accept) { _, event in
    guard case .accepted(let socket, from: _) = event else { return }
    loop.add(
      SocketSource(socket, for: .data) { source, event in
        switch event {
        case .received(let bytes) where (try? source.send(bytes)) != nil: break
        default: source.invalidate()
        }
      })
  })
loop.run()
