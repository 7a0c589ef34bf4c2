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

    let listener = try Listener(at: .loopback())
    let serving = Task {
      try await listener.serve(on: loop) { connection in
        for try await bytes in connection { try await connection.write(bytes) }
      }
    }
    let client = try await Connection.connected(to: listener.address, on: loop, timeout: .seconds(5))
    try await client.write("hello\n")
    try await client.finishWriting()
    for try await line in client.lines() { print(line) }
    serving.cancel()

    await thread.end()
    #expect(log.text == "hello")
  }
}
