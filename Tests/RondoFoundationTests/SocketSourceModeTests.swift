import Rondo
import RondoFoundation
import RondoSockets
import Testing

/// Socket sources by the names of Foundation's run loop.
@Suite struct SocketSourceModeTests {
  @Test func `a listener and its connections echo in the modes of run loops`() throws {
    let server = try LoopThread(name: "server")
    let address = try server.sync {
      let listener = try Socket.listening(at: SocketAddress(parsing: "127.0.0.1:0"))
      let source = SocketSource(listener, for: .accept) { _, event in
        guard case .accepted(let connection, from: _) = event else { return }
        let echo = SocketSource(connection, for: .data) { source, event in
          switch event {
          case .received(let bytes):
            try? source.send(bytes)
            if source.queuedByteCount > 0 { source.disable(.data) }
          case .sent: source.enable(.data)
          case .end: source.invalidate()
          default: break
          }
        }
        RunLoop.current.add(echo, forMode: .default)
      }
      RunLoop.current.add(source, forMode: .default)
      return listener.localAddress!
    }
    let client = try LoopThread(name: "client")
    let echoed = try client.sync { () throws -> [UInt8] in
      let socket = try Socket(family: address.family, .stream)
      try socket.connect(to: address, timeout: .seconds(60))
      try socket.send(Array("echo".utf8), timeout: .seconds(60))
      try socket.finishWriting()
      var echoed: [UInt8] = []
      while true {
        switch try socket.receive() {
        case .bytes(let bytes): echoed += bytes
        case .nothing, .datagram: Thread.sleep(forTimeInterval: 0.001)
        case .end: return echoed
        }
      }
    }
    client.stop()
    server.stop()
    #expect(echoed == Array("echo".utf8))
  }
}
