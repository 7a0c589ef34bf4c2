import Glibc
import Rondo
import RondoDaemon
import RondoSockets
import RondoTestSupport
import Testing

// The examples of the article YourFirstServer, run. Its first program is `Sources/Examples/async-echo`, which
// RondoReadmeTests attacks.

/// Echoes what clients send. It closes a client that neither sends nor reads for `limit`.
struct FirstServer: Sendable {
  let listener: Listener
  let loop: Loop
  let limit: Duration

  /// Serves until its task is cancelled, and then lets clients finish for up to `grace`.
  func run(grace: Duration = .zero) async throws {
    try await listener.serve(on: loop, limits: ServerLimits(idle: limit), grace: grace) { connection in
      while try await connection.awaitRequest(), let bytes = try await connection.read() {
        try await connection.write(bytes)
      }
    }
  }
}

@Suite(.offThePool) struct YourFirstServerTests {
  @Test func `a client gets back what it sends, and the end after its end`() async throws {
    try await withLoopThread { thread in
      let loop = thread.loop

      let server = FirstServer(listener: try Listener(at: .loopback()), loop: loop, limit: .seconds(60))
      let serving = Task(executorPreference: loop) { try await server.run() }
      let client = try await Connection.connected(to: server.listener.address, on: loop)
      try await client.write("hello")
      try await client.finishWriting()
      #expect(try await client.read(exactly: 5) == Array("hello".utf8))
      #expect(try await client.read() == nil)
      serving.cancel()
      try await serving.value
    }
  }

  @Test func `a client that is silent is closed, never early`() async throws {
    try await withLoopThread { thread in
      let loop = thread.loop
      let server = FirstServer(listener: try Listener(at: .loopback()), loop: loop, limit: .milliseconds(50))
      let serving = Task(executorPreference: loop) { try await server.run() }
      let begin = ContinuousClock.now
      let silent = try await Connection.connected(to: server.listener.address, on: loop)
      #expect(try await silent.read() == nil)
      #expect(ContinuousClock.now - begin >= .milliseconds(50))
      serving.cancel()
    }
  }

  @Test func `a client that does not read is closed`() async throws {
    try await withLoopThread { thread in
      let loop = thread.loop
      let server = FirstServer(listener: try Listener(at: .loopback()), loop: loop, limit: .milliseconds(50))
      let serving = Task(executorPreference: loop) { try await server.run() }
      let deaf = try await Connection.connected(to: server.listener.address, on: loop)
      let bytes = [UInt8](repeating: 1, count: 1 << 20)
      await #expect(throws: ConnectionError.socket(.reset)) {
        while true { try await deaf.write(bytes) }
      }
      serving.cancel()
    }
  }

  @Test func `SIGTERM cancels every client`() async {
    await #expect(processExitsWith: .success) {
      try await withLoopThread { thread in
        let loop = thread.loop
        let server = FirstServer(listener: try Listener(at: .loopback()), loop: loop, limit: .seconds(600))
        let client = try await Connection.connected(to: server.listener.address, on: loop)
        try await client.write([1])
        let killing = Task {
          if try await client.read() == [1] { kill(getpid(), SIGTERM) }
        }
        let signal = try await withCancellation(by: [SIGINT, SIGTERM], on: loop) { try await server.run() }
        precondition(signal == SIGTERM)
        try await killing.value
        let last = try await client.read()
        precondition(last == nil)
      }
    }
  }
}
