import Rondo
import RondoFoundation
import RondoPorts
import RondoSockets
import RondoTesting
import Testing

// The examples of RondoFoundation.docc, compiled and run. `ExampleTextTests` sees to it that they stand in the
// documentation as they stand here.

private let log = Notes()

@Suite(.serialized) struct DocumentationExamplesTests {
  /// What the examples of `body` noted.
  private func notes(_ body: () throws -> Void) rethrows -> String {
    log.clear()
    try body()
    return log.text
  }

  @Test func `ComingFromFoundation: the first example`() {
    let text = notes {
      withVirtualLoop { _ in
        let loop = RunLoop.current
        Timer.scheduledTimer(withTimeInterval: 60, repeats: true) { timer in log.note("a minute") }
        loop.perform { log.note("soon") }
        loop.run(until: Date(timeIntervalSinceNow: 0.01))
      }
    }
    #expect(text == "soon")
  }

  @Test func `ComingFromFoundation: the perform family`() {
    let text = notes {
      withVirtualLoop { _ in
        let loop = RunLoop.current
        final class Sensor: NSObject, Sendable {
          func read(_ register: Int) { log.note("read \(register)") }
        }
        let sensor = Sensor()
        sensor.perform(Sensor.read, with: 1, afterDelay: 0)
        let request = loop.perform(afterDelay: 5, target: sensor) { log.note("never") }
        request.cancel()
        NSObject.cancelPreviousPerformRequests(withTarget: sensor)
        loop.run()
      }
    }
    #expect(text == "")
  }

  @Test func `ComingFromFoundation: a worker`() throws {
    let text = try notes {
      let worker = try LoopThread(name: "worker")
      try worker.runLoop.perform(waitUntilDone: true) { log.note("on the worker") }
      worker.stop()
    }
    #expect(text == "on the worker")
  }

  @Test func `PortsAndSockets: a named port`() throws {
    let name = try MessagePortName("documentation-\(ProcessInfo.processInfo.processIdentifier)")
    let server = try LoopThread(name: "server")
    try server.sync {
      let port = try LocalMessagePort(name) { request in
        try? request.reply(Data(request.data.reversed()))
      }
      RunLoop.current.add(port, forMode: .common)
    }
    let asker = try LoopThread(name: "asker")
    let answer = try asker.sync {
      let remote = try RemoteMessagePort(name)
      let reply = try remote.request(Data("abc".utf8), sendTimeout: .seconds(1), replyTimeout: .seconds(60))
      return reply
    }
    asker.stop()
    server.stop()
    #expect(answer == Data("cba".utf8))
  }

  @Test func `PortsAndSockets: a server that echoes`() throws {
    let server = try LoopThread(name: "server")
    let address = try server.sync {
      let listener = try Socket.listening(at: SocketAddress(parsing: "127.0.0.1:0"))
      let source = SocketSource(listener, for: .accept) { _, event in
        guard case .accepted(let connection, from: _) = event else { return }
        let echo = SocketSource(connection, for: .data) { source, event in
          switch event {
          case .received(let bytes, from: _):
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
      try socket.finishSending()
      var echoed: [UInt8] = []
      while true {
        switch try socket.receive() {
        case .bytes(let bytes, sender: _): echoed += bytes
        case .nothing: Thread.sleep(forTimeInterval: 0.001)
        case .end: return echoed
        }
      }
    }
    client.stop()
    server.stop()
    #expect(echoed == Array("echo".utf8))
  }
}
