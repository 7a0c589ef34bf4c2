import Rondo
import RondoSockets
import Synchronization
import Testing

// The example of RondoSockets.docc, compiled and run. `ExampleTextTests` compares it with the page.

/// What the examples have done.
private final class Log: Sendable {
  private let notes = Mutex<[String]>([])

  func note(_ text: String) { notes.withLock { $0.append(text) } }

  var text: String { notes.withLock { $0.joined(separator: ", ") } }
}

@Suite struct DocumentationExamplesTests {
  @Test func `RondoSockets: async code`() async throws {
    let log = Log()
    @Sendable func print(_ text: String) { log.note(text) }
    let thread = try LoopThread(name: "example")
    let loop = thread.loop

    let listener = try Socket.listening(at: .loopback())
    async let echoing: Void = {
      for try await (socket, _) in try listener.connections(on: loop) {
        for try await piece in try socket.data(on: loop) {
          try await socket.send(piece, on: loop, timeout: .seconds(30))
        }
        break
      }
    }()
    let client = try await Socket.connected(to: listener.localAddress!, on: loop, timeout: .seconds(5))
    try await client.send(Array("hello".utf8), on: loop)
    try client.finishSending()
    for try await piece in try client.data(on: loop) { print(String(decoding: piece, as: UTF8.self)) }
    try await echoing

    await thread.end()
    #expect(log.text == "hello")
  }
}
