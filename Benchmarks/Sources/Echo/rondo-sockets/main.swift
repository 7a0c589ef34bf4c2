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
        case .received(let bytes) where (try? source.send(bytes)) != nil:
          if source.queuedByteCount > 0 { source.disable(.data) }  // A client that does not read is not read from.
        case .sent: source.enable(.data)
        default: source.invalidate()
        }
      })
  })
loop.run()
