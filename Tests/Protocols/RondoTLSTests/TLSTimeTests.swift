import Rondo
import RondoSockets
import RondoTLS
import Synchronization
import Testing

/// Handshakes, reads and writes of secured connections that end before they are done.
@Suite(.timeLimit(.minutes(5))) struct TLSTimeTests {
  @Test func `a handshake that never ends is given up, never early`() async throws {
    try await withPlain { loop, near, far in
      let start = loop.clock.now
      let context = try Certificates.server()
      let error = await failure { _ = try await far.secured(by: context, timeout: .milliseconds(30)) }
      #expect(error == .wait(.timedOut))
      #expect(loop.clock.now - start >= .milliseconds(30))
      #expect(far.isClosed)
      #expect(try await near.read() == nil)
    }
  }

  @Test func `a handshake ends at the connection's deadline`() async throws {
    try await withPlain { loop, near, far in
      let deadline = loop.clock.now + .milliseconds(30)
      near.deadline = deadline
      let context = try Certificates.client()
      let error = await failure { _ = try await near.secured(as: "rondo.test", by: context) }
      #expect(error == .wait(.timedOut))
      #expect(loop.clock.now >= deadline)
    }
  }

  @Test func `a handshake ends when nothing moves for too long`() async throws {
    try await withPlain { loop, near, far in
      near.idleLimit = .milliseconds(30)
      let (start, context) = (loop.clock.now, try Certificates.client())
      let error = await failure { _ = try await near.secured(as: "rondo.test", by: context, timeout: nil) }
      #expect(error == .wait(.timedOut) && loop.clock.now - start >= .milliseconds(30))
    }
  }

  @Test func `the limits of time outlive the handshake`() async throws {
    try await withPlain { loop, near, far in
      let deadline = loop.clock.now + .seconds(3_600)
      near.deadline = deadline
      near.idleLimit = .seconds(1_800)
      let (client, server) = try await secure(near, far)
      #expect(client.deadline == deadline && client.idleLimit == .seconds(1_800))
      #expect(server.deadline == nil && server.idleLimit == nil)
    }
  }

  @Test func `a handshake that is cancelled closes the connection`() async throws {
    try await withPlain { _, near, far in
      let context = try Certificates.client()
      let task = Task { try await near.secured(as: "rondo.test", by: context) }
      // The client has said hello, and waits.
      _ = try await far.read()
      task.cancel()
      let error = await failure { _ = try await task.value }
      #expect(error == .wait(.cancelled))
      #expect(near.isClosed)
      await #expect(throws: ConnectionError.closed) { try await near.read() }
    }
  }

  @Test func `a handshake ends when its connection is closed`() async throws {
    try await withPlain { _, near, far in
      let context = try Certificates.client()
      let task = Task { try await near.secured(as: "rondo.test", by: context) }
      _ = try await far.read()
      near.close()
      let error = await failure { _ = try await task.value }
      #expect(error == .closed)
    }
  }

  @Test func `a write that is cancelled in the middle cuts the connection short`() async throws {
    try await withSecured { client, server in
      let data = pattern(10_000_000)
      let task = Task { try await client.write(data) }
      _ = try await server.read(exactly: 1)
      task.cancel()
      let error = await failure { _ = try await task.value }
      #expect(error == .wait(.cancelled))
      await #expect(throws: ConnectionError.writeCutShort) { try await client.write([1]) }
    }
  }

  @Test func `a write that is cancelled in its first record cuts the connection short`() async throws {
    try await withPlain { _, near, far in
      let (client, server) = try await secure(near, far)
      let record = pattern(16_384)
      // One whole record at a time, until one finds no room.
      while true {
        let isDone = Atomic(false)
        // It writes before it is made, as far as there is room.
        let task = Task.immediate {
          try await client.write(record)
          isDone.store(true, ordering: .relaxed)
        }
        if isDone.load(ordering: .relaxed) { continue }
        task.cancel()
        let error = await failure { _ = try await task.value }
        #expect(error == .wait(.cancelled))
        break
      }
      await #expect(throws: ConnectionError.writeCutShort) { try await client.write([1]) }
      _ = server
    }
  }

  @Test func `a close in the middle of a write ends it, whichever thread closes`() async throws {
    try await withLoop { loop in
      let data = pattern(2_000_000)
      for _ in 0..<100 {
        let (client, server) = try await secure(Connection.pair(on: loop))
        async let written = failure { try await client.write(data) }
        let closing = Task.detached {
          _ = try await server.read(exactly: .random(in: 1...100_000))
          client.close()
        }
        try await closing.value
        let error = await written
        #expect(error == .closed)
        let end = await failure { while try await server.read() != nil {} }
        // A write that was cut short leaves no room for the goodbye.
        #expect(end == nil || end == .tls(.truncated))
      }
    }
  }

  @Test func `both ends that close at once end both`() async throws {
    try await withLoop { loop in
      for _ in 0..<100 {
        let (client, server) = try await secure(Connection.pair(on: loop))
        async let closing: Void = Task.detached { client.close() }.value
        server.close()
        await closing
        #expect(client.isClosed && server.isClosed)
      }
    }
  }

  @Test func `a handshake that is cancelled at any time closes the connection or makes one`() async throws {
    try await withLoop { loop in
      let (serverContext, clientContext) = (try Certificates.server(), try Certificates.client())
      for round in 0..<200 {
        let (near, far) = try Connection.pair(on: loop)
        let server = Task { try await far.secured(by: serverContext) }
        let client = Task { try await near.secured(as: "rondo.test", by: clientContext) }
        for _ in 0..<round { await Task.yield() }
        client.cancel()
        let (one, other) = (await client.result, await server.result)
        if case .success(let connection) = one {
          let far = try other.get()
          try await far.write("hello")
          #expect(try await connection.read() == Array("hello".utf8))
        } else {
          #expect(near.isClosed)
          if case .success(let far) = other {
            await #expect(throws: (any Error).self) { try await far.read(exactly: 1) }
          }
        }
      }
    }
  }
}
