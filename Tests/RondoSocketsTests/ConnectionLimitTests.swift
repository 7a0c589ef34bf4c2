import Dispatch
import Rondo
import RondoSockets
import RondoTesting
import Synchronization
import Testing

/// How a wait on a connection ends without bytes: by a limit, by closing, by the end of the loop.
@Suite struct ConnectionLimitTests {
  /// How long `body` takes, and what it throws.
  private func time(_ body: () async throws -> Void) async -> (Duration, ConnectionError?) {
    let clock = ContinuousClock()
    let start = clock.now
    do {
      try await body()
      return (clock.now - start, nil)
    } catch {
      return (clock.now - start, error as? ConnectionError)
    }
  }

  @Test func `a peer that sends nothing ends a read by the limit of idleness, and never before`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      near.idleLimit = .milliseconds(20)
      let (duration, error) = await time { _ = try await near.read() }
      #expect(error == .wait(.timedOut))
      #expect(duration >= .milliseconds(20))
      // The next one has its own time, and finds what came.
      try await far.write([1])
      #expect(try await near.read() == [1])
    }
  }

  @Test func `a peer that takes nothing ends a write by the limit of idleness, and never before`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      near.idleLimit = .milliseconds(20)
      let (duration, error) = await time { try await near.write([UInt8](repeating: 0, count: 10_000_000)) }
      #expect(error == .wait(.timedOut))
      #expect(duration >= .milliseconds(20))
      _ = far
    }
  }

  @Test func `a wait with a limit may begin while the loop's mail is about to close the connection`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      near.idleLimit = .seconds(600)
      let reading = Task(executorPreference: loop) { () -> ConnectionError? in
        Self.leaveMailThatCloses(near, loop)
        do throws(ConnectionError) { _ = try await near.read() } catch { return error }
        return nil
      }
      let error = await reading.value
      #expect(error == .closed)
      withExtendedLifetime(far) {}
    }
  }

  /// Has another thread invalidate a timer whose closure, when it dies, closes the connection. The loop's thread.
  private static func leaveMailThatCloses(_ connection: Connection, _ loop: Loop) {
    let timer = {
      let closer = Closer(connection)
      return Loop.Timer(after: .seconds(3600)) { _ in _ = closer }
    }()
    loop.add(timer)
    let isDone = DispatchSemaphore(value: 0)
    DispatchQueue(label: "invalidates").async {
      timer.invalidate()
      isDone.signal()
    }
    isDone.wait()
  }

  /// Closes a connection when it dies.
  private final class Closer: Sendable {
    private let connection: Connection
    init(_ connection: Connection) { self.connection = connection }
    deinit { connection.close() }
  }

  @Test func `a deadline ends every wait, and one that begins after it at once`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      let deadline = loop.clock.now + .milliseconds(20)
      near.deadline = deadline
      let dripping = Task {
        while !Task.isCancelled {
          try await far.write([1])
          try await Task.sleep(for: .milliseconds(1))
        }
      }
      let (_, error) = await time { _ = try await near.readLine() }
      #expect(error == .wait(.timedOut))
      #expect(loop.clock.now >= deadline)
      dripping.cancel()
      _ = await dripping.result
      // What is there needs no wait.
      #expect(try await near.read() != nil)
      while try near.socket!.receive() != .nothing {}
      let (_, again) = await time { _ = try await near.read() }
      #expect(again == .wait(.timedOut))
      near.deadline = nil
      try await far.write([2])
      #expect(try await near.read() == [2])
    }
  }

  @Test func `a limit that is set counts for a wait that has begun`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      let reading = Task { try await near.read() }
      try await Task.sleep(for: .milliseconds(5))
      near.deadline = loop.clock.now + .milliseconds(5)
      await #expect(throws: ConnectionError.wait(.timedOut)) { try await reading.value }
      _ = far
    }
  }

  @Test func `closing ends the calls that wait, and refuses later ones`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      let reading = Task { try await near.read() }
      let writing = Task { try await near.write([UInt8](repeating: 0, count: 10_000_000)) }
      // The writer has begun, and cannot end.
      #expect(try await far.read(upTo: 1) != nil)
      near.close()
      near.close()
      await #expect(throws: ConnectionError.closed) { try await reading.value }
      await #expect(throws: ConnectionError.closed) { try await writing.value }
      await #expect(throws: ConnectionError.closed) { try await near.read() }
      await #expect(throws: ConnectionError.closed) { try await near.write([1]) }
      await #expect(throws: ConnectionError.closed) { try await near.finishWriting() }
      #expect(near.isClosed)
      // The peer reads what was sent, and then the end.
      while let bytes = try await far.read() { #expect(!bytes.isEmpty) }
    }
  }

  @Test func `closing with bytes unread does not take from the peer what was sent to it`() async throws {
    try await withLoop { loop in
      let listener = try Listener(at: .loopback())
      let client = try await Connection.connected(to: listener.address, on: loop)
      var connections = try listener.connections(on: loop).makeAsyncIterator()
      var server: Connection? = try await connections.next()
      try await client.write([UInt8](repeating: 1, count: 10_000))
      // Most of it is there, and unread.
      #expect(try await server!.read(upTo: 1) == [1])
      try await server!.write("goodbye\n")
      server!.close()
      server = nil
      #expect(try await client.readLine() == "goodbye")
      #expect(try await client.read() == nil)
    }
  }

  @Test func `a released connection leaves neither descriptor nor source behind`() async throws {
    try await withLoop { loop in
      weak var socket: Socket?
      for isCancelled in [true, false] {
        let (near, far) = try Connection.pair(on: loop)
        socket = near.socket
        near.idleLimit = .seconds(60)
        let reading = Task { try await near.read() }
        if isCancelled {
          reading.cancel()
          _ = await reading.result
        } else {
          far.close()
          #expect(try await reading.value == nil)
        }
      }
      // The loop's source has the last reference, and leaves on the loop's thread.
      while socket != nil { try await loop.call {} }
    }
  }

  @Test func `in virtual time a limit of half a minute takes none`() {
    withVirtualLoop { virtual in
      let told = Told()
      let loop = virtual.loop
      let task = Task(executorPreference: loop) {
        let (near, far) = try Connection.pair(on: loop)
        near.idleLimit = .seconds(30)
        do throws(ConnectionError) { _ = try await near.read() } catch { told.error.withLock { $0 = error } }
        _ = far
        loop.stop()
      }
      loop.run(for: .seconds(3_600))
      _ = task
      #expect(told.error.withLock { $0 } == .wait(.timedOut))
      #expect(virtual.elapsed == .seconds(30))
    }
  }
}

/// What a task was told.
private final class Told: Sendable {
  let error = Mutex<ConnectionError?>(nil)
}
