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

    // On the loop's thread: where other tests hold the pool's, the client says nothing for longer than it may.
    try await withTaskExecutorPreference(loop) {
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
    }

    await thread.end()
    #expect(log.text == "hello")
  }

  @Test func `Listener: a file`() async throws {
    let (log, path) = (Log(), "/tmp/\(uniqueName())")
    @Sendable func print(_ text: String) { log.note(text) }
    try await withLoop { loop in
      let listener = try Listener.unix(path, mode: 0o600)
      let serving = Task { try await listener.serve(on: loop) { try await $0.write("Hello\n") } }
      let client = try await Connection.connected(to: listener.address, on: loop)
      print(try await client.readLine() ?? "no line")
      listener.stop()
      try await serving.value
    }
    #expect(log.text == "Hello")
  }

  @Test func `Connection: several parts in one write`() async throws {
    try await withLoop { loop in
      let (connection, far) = try Connection.pair(on: loop)
      let body: [UInt8] = [1, 2]
      try await connection.write { writer in
        writer.append("\(body.count)\n")
        writer.append(body)
      }
      #expect(try await far.read() == [50, 10, 1, 2])
    }
  }
}
