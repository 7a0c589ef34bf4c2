import Glibc
import Rondo
import RondoDaemon
import RondoSockets
import RondoTestSupport
import Testing

// The examples of the article YourFirstServer, run. Its first program is `Sources/Examples/async-echo`, which
// RondoReadmeTests attacks.

/// Echoes what clients send. It closes a client that sends nothing, or reads nothing, for `limit`.
struct FirstServer: Sendable {
  let listener: Socket
  let loop: Loop
  let limit: Duration

  /// Serves until its task is cancelled.
  func run() async throws {
    try await withThrowingDiscardingTaskGroup { clients in
      for try await (client, _) in try listener.connections(on: loop) {
        clients.addTask { try? await echo(client) }
      }
    }
  }

  private func echo(_ client: Socket) async throws {
    while true {
      try await loop.readable(client.descriptor, timeout: limit)
      switch try client.receive() {
      case .bytes(let bytes, sender: _): try await client.send(bytes, on: loop, timeout: limit)
      case .end: return
      case .nothing: continue
      }
    }
  }
}

@Suite(.offThePool) struct YourFirstServerTests {
  @Test func `a client gets back what it sends, and the end after its end`() async throws {
    try await withLoopThread { thread in
      let loop = thread.loop

      let server = FirstServer(listener: try .listening(at: .loopback()), loop: loop, limit: .seconds(60))
      let serving = Task(executorPreference: loop) { try await server.run() }
      let client = try await Socket.connected(to: server.listener.localAddress!, on: loop)
      try await client.send(Array("hello".utf8), on: loop)
      try client.finishSending()
      var answer: [UInt8] = []
      for try await bytes in try client.data(on: loop) { answer += bytes }
      #expect(answer == Array("hello".utf8))
      serving.cancel()

      await #expect(throws: Socket.StreamError.wait(.cancelled)) { try await serving.value }
    }
  }

  @Test func `a client that is silent is closed, never early`() async throws {
    try await withLoopThread { thread in
      let loop = thread.loop
      let server = FirstServer(listener: try .listening(at: .loopback()), loop: loop, limit: .milliseconds(50))
      let serving = Task(executorPreference: loop) { try await server.run() }
      let begin = ContinuousClock.now
      let silent = try await Socket.connected(to: server.listener.localAddress!, on: loop)
      for try await _ in try silent.data(on: loop) {}
      #expect(ContinuousClock.now - begin >= .milliseconds(50))
      serving.cancel()
    }
  }

  @Test func `a client that does not read is closed`() async throws {
    try await withLoopThread { thread in
      let loop = thread.loop
      let server = FirstServer(listener: try .listening(at: .loopback()), loop: loop, limit: .milliseconds(50))
      let serving = Task(executorPreference: loop) { try await server.run() }
      let deaf = try await Socket.connected(to: server.listener.localAddress!, on: loop)
      let bytes = [UInt8](repeating: 1, count: 1 << 20)
      await #expect(throws: Socket.StreamError.self) {
        while true { try await deaf.send(bytes, on: loop, timeout: .seconds(600)) }
      }
      serving.cancel()
    }
  }

  @Test func `a stop cancels every client, and SIGTERM is one`() async {
    await #expect(processExitsWith: .success) {
      try await withLoopThread { thread in
        let loop = thread.loop
        let server = FirstServer(listener: try .listening(at: .loopback()), loop: loop, limit: .seconds(600))

        let serving = Task(executorPreference: loop) { try await server.run() }
        loop.add(try SignalSource(SIGTERM) { _, _ in serving.cancel() }, to: .common)
        let client = try await Socket.connected(to: server.listener.localAddress!, on: loop)
        try await client.send([1], on: loop)
        for try await _ in try client.data(on: loop) { kill(getpid(), SIGTERM) }
        _ = await serving.result
      }
    }
  }
}
