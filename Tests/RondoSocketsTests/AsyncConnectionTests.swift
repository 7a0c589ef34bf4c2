import Glibc
import Rondo
import RondoSockets
import Synchronization
import Testing

/// Connections between tasks: what arrives, whose turn it is, and how a wait ends.
@Suite struct AsyncConnectionTests {
  @Test func `what arrives comes in order and whole, to the peer's end`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
      let sending = Task {
        try await near.write(bytes)
        try await near.finishWriting()
      }
      var received: [UInt8] = []
      for try await piece in far { received += piece }
      try await sending.value
      #expect(received == bytes)
      // The other way is open still.
      try await far.write([1])
      #expect(try await near.read() == [1])
    }
  }

  @Test func `a reset is thrown, and is no end`() async throws {
    try await withLoop { loop in
      let listener = try Listener(at: .loopback())
      // No connection: one that is released says goodbye first.
      var client: Socket? = try Socket(family: AF_INET, .stream)
      _ = try client!.connect(to: listener.address)
      var connections = try listener.connections(on: loop).makeAsyncIterator()
      let server = try await connections.next()!
      resetOnClose(client!)
      client = nil
      await #expect(throws: ConnectionError.socket(.reset)) {
        for try await _ in server {}
      }
    }
  }

  @Test func `a task that is cancelled is told so, and not that the peer has ended`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      let reading = Task { for try await _ in near {} }
      let listening = Task {
        let listener = try Listener(at: .loopback())
        for try await _ in try listener.connections(on: loop) {}
      }
      let sending = Task { try await near.write([UInt8](repeating: 0, count: 10_000_000)) }
      for task in [reading, listening, sending] {
        task.cancel()
        guard case .failure(let error) = await task.result else {
          Issue.record("it ended without a word")
          continue
        }
        #expect(error as? ConnectionError == .wait(.cancelled))
      }
      _ = far
    }
  }

  /// Small pieces, 17 at most between two turns of another task; and pieces of 16 KiB, which cost twice as much.
  @Test(arguments: [(size: 1, pieces: 1_280, turns: 1_280 / 17 - 1), (size: 16_384, pieces: 16, turns: 1)])
  func `a task whose bytes are always there lets others run every few pieces`(
    _ size: Int, _ pieces: Int, _ fewest: Int
  ) async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      try near.socket!.setOption(SOL_SOCKET, SO_SNDBUF, 4 << 20)
      #expect(try near.socket!.send([UInt8](repeating: 1, count: size * pieces)) == size * pieces)
      let turns = Turns()
      let neighbour = Task(executorPreference: loop) {
        while !Task.isCancelled {
          turns.count.add(1, ordering: .relaxed)
          await Task.yield()
        }
      }
      let reading = Task(executorPreference: loop) {
        var start: Int?
        for _ in 0..<pieces {
          let piece = try await far.read(upTo: size)
          #expect(piece?.count == size)
          // What the neighbour did before counts for nothing.
          start = start ?? turns.count.load(ordering: .relaxed)
        }
        return turns.count.load(ordering: .relaxed) - start!
      }
      #expect(try await reading.value >= fewest)
      neighbour.cancel()
    }
  }

  @Test(arguments: [false, true])
  func `a cancelled task ends at its next read, however much is there`(_ isOnLoop: Bool) async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      try await near.write([UInt8](repeating: 1, count: 1_000))
      let reading = Task(executorPreference: isOnLoop ? loop : nil) {
        var pieces = 0
        do {
          while try await far.read(upTo: 1) != nil {
            pieces += 1
            if pieces == 100 { unsafe withUnsafeCurrentTask { unsafe $0!.cancel() } }
          }
        } catch ConnectionError.wait(.cancelled) {
          return pieces
        }
        return -1
      }
      #expect(try await reading.value == 100)
      // What it has not read is there for the next one.
      #expect(try await far.read() == [UInt8](repeating: 1, count: 900))
    }
  }

  @Test func `of two tasks that read one connection the second is refused`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      let readers = (0..<2).map { _ in
        Task { () -> String in
          do {
            for try await piece in far { return "\(piece)" }
            return "end"
          } catch {
            // The one that waits goes on.
            try await near.write([7])
            return "\(error as! ConnectionError == .wait(.alreadyAwaited))"
          }
        }
      }
      var told: [String] = []
      for reader in readers { told.append(try await reader.value) }
      #expect(told.sorted() == ["[7]", "true"])
    }
  }

  @Test func `an edge that no task awaits calls the loop once`() async throws {
    try await withLoop { loop in
      let (near, far) = try Socket.pair()
      let connection = try Connection(far, on: loop)
      try await beWatched(connection) { _ = try near.send([1][...]) }
      let before = try await loop.call { loop.statistics.descriptorCallouts }
      _ = try near.send([3][...])
      for _ in 0..<100 { try await loop.call {} }
      let after = try await loop.call { loop.statistics.descriptorCallouts }
      #expect(after - before <= 2)
    }
  }

  @Test func `an error that came with the last bytes is told after them`() async throws {
    try await withLoop { loop in
      let (near, socket) = try Socket.pair()
      let connection = try Connection(near, on: loop)
      try await beWatched(connection) { _ = try socket.send([1][...]) }
      try await connection.write([2])
      let rest = Task { for try await _ in connection {} }
      // The loop finds bytes and the error at once: a peer that closes without reading resets.
      try await loop.call { Self.sendAndClose(socket) }
      await #expect(throws: ConnectionError.socket(.reset)) { try await rest.value }
    }
  }

  @Test func `the end of a pipe that came with its last bytes is told after them`() async throws {
    try await withLoop { loop in
      var ends: [CInt] = [0, 0]
      unsafe #expect(pipe(&ends) == 0)
      let (reader, writer) = (try Connection(reading: ends[0], on: loop), ends[1])
      try await beWatched(reader) { _ = unsafe write(writer, [1], 1) }
      let reading = Task { try await [reader.read(), reader.read()] }
      try await loop.call {
        _ = unsafe write(writer, [2], 1)
        close(writer)
      }
      #expect(try await reading.value == [[2], nil])
    }
  }

  /// Has a task wait for a byte, until the loop has told of one: it watches from then on.
  private func beWatched(_ connection: Connection, _ send: () throws -> Void) async throws {
    repeat {
      let reading = Task { try await connection.read() }
      try await Task.sleep(for: .milliseconds(1))
      try send()
      _ = try await reading.value
    } while connection.loop.statistics.descriptorCallouts == 0
  }

  /// Sends a byte, and closes the file, whatever has a reference to the socket.
  private static func sendAndClose(_ socket: Socket) {
    _ = try? socket.send([3][...])
    let null = unsafe open("/dev/null", O_RDONLY)
    dup2(null, socket.descriptor)
    close(null)
  }

  @Test func `a loop that ends is told, and is no end of what arrives`() async throws {
    let thread = try LoopThread(name: "ends")
    let loop = thread.loop
    let (near, far) = try Connection.pair(on: loop)
    let reading = Task { for try await _ in near {} }
    // The loop watches before its thread ends, or the reader finds it ended: it is told either way.
    await thread.end()
    guard case .failure(let error) = await reading.result else {
      Issue.record("it ended without a word")
      return
    }
    #expect(error as? ConnectionError == .wait(.loopEnded))
    _ = far
  }
}

/// How often a task has had its turn.
private final class Turns: Sendable {
  let count = Atomic(0)
}
