import Glibc
import Rondo
import RondoSockets
import Synchronization
import Testing

/// Sockets in async code: what arrives, who connects, sending with patience.
@Suite struct AsyncSocketTests {
  /// A loop of its own thread for the length of `body`.
  private func withLoop<Result: Sendable>(_ body: (Loop) async throws -> Result) async throws -> Result {
    let thread = try LoopThread(name: "sockets")
    do {
      let result = try await body(thread.loop)
      await thread.end()
      return result
    } catch {
      await thread.end()
      throw error
    }
  }

  @Test func `what arrives comes in order and whole, to the peer's end`() async throws {
    try await withLoop { loop in
      let (near, far) = try Socket.pair()
      let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
      let sending = Task {
        try await near.send(bytes, on: loop)
        try near.finishSending()
      }
      var received: [UInt8] = []
      for try await piece in try far.data(on: loop) { received += piece }
      try await sending.value
      #expect(received == bytes)
    }
  }

  @Test func `a piece is no longer than it may be, and datagrams come one by one`() async throws {
    try await withLoop { loop in
      let (near, far) = try Socket.pair()
      _ = try near.send([1, 2, 3, 4, 5][...])
      var pieces = try far.data(on: loop, atMost: 2).makeAsyncIterator()
      #expect(try await [pieces.next(), pieces.next(), pieces.next()] == [[1, 2], [3, 4], [5]])
      let (left, right) = try Socket.pair(.datagram)
      for datagram: [UInt8] in [[1], [], [2, 3]] { _ = try left.send(datagram[...]) }
      var datagrams = try right.data(on: loop).makeAsyncIterator()
      #expect(try await [datagrams.next(), datagrams.next(), datagrams.next()] == [[1], [], [2, 3]])
    }
  }

  @Test func `a reset is thrown, and is no end`() async throws {
    try await withLoop { loop in
      let listener = try Socket.listening(at: .loopback())
      var client: Socket? = try await Socket.connected(to: listener.localAddress!, on: loop)
      var connections = try listener.connections(on: loop).makeAsyncIterator()
      let server = try await connections.next()!.socket
      resetOnClose(client!)
      client = nil
      await #expect(throws: Socket.StreamError.socket(.reset)) {
        for try await _ in try server.data(on: loop) {}
      }
    }
  }

  @Test func `a task that is cancelled is told so, and not that the peer has ended`() async throws {
    try await withLoop { loop in
      let (near, far) = try Socket.pair()
      let reading = Task { for try await _ in try near.data(on: loop) {} }
      let listening = Task {
        let listener = try Socket.listening(at: .loopback())
        for try await _ in try listener.connections(on: loop) {}
      }
      let sending = Task { try await near.send([UInt8](repeating: 0, count: 10_000_000), on: loop) }
      for task in [reading, listening, sending] {
        task.cancel()
        guard case .failure(let error) = await task.result else {
          Issue.record("it ended without a word")
          continue
        }
        #expect(error as? Socket.StreamError == .wait(.cancelled))
      }
      _ = far
    }
  }

  @Test func `a task whose bytes are always there lets others run every few pieces`() async throws {
    try await withLoop { loop in
      let (near, far) = try Socket.pair()
      _ = try near.send([UInt8](repeating: 1, count: 1_280)[...])
      let turns = Turns()
      let neighbour = Task(executorPreference: loop) {
        while !Task.isCancelled {
          turns.count.add(1, ordering: .relaxed)
          await Task.yield()
        }
      }
      let reading = Task(executorPreference: loop) {
        var start: Int?
        var pieces = 0
        for try await _ in try far.data(on: loop, atMost: 1) {
          // What the neighbour did before counts for nothing.
          start = start ?? turns.count.load(ordering: .relaxed)
          pieces += 1
          if pieces == 1_280 { break }
        }
        return turns.count.load(ordering: .relaxed) - start!
      }
      // 64 pieces at most between two turns of the neighbour.
      #expect(try await reading.value >= 1_280 / 64 - 1)
      neighbour.cancel()
    }
  }

  @Test(arguments: [false, true])
  func `a cancelled task ends at its next read, however much is there`(_ isOnLoop: Bool) async throws {
    try await withLoop { loop in
      let (near, far) = try Socket.pair()
      _ = try near.send([UInt8](repeating: 1, count: 1_000)[...])
      let reading = Task(executorPreference: isOnLoop ? loop : nil) {
        var pieces = 0
        do {
          for try await _ in try far.data(on: loop, atMost: 1) {
            pieces += 1
            if pieces == 100 { unsafe withUnsafeCurrentTask { unsafe $0!.cancel() } }
          }
        } catch Socket.StreamError.wait(.cancelled) {
          return pieces
        }
        return -1
      }
      #expect(try await reading.value == 100)
      // What it has not read is there for the next one.
      #expect(try far.receive(atMost: 2_000) == .bytes([UInt8](repeating: 1, count: 900)))
    }
  }

  @Test func `of two tasks that read one socket the second is refused`() async throws {
    try await withLoop { loop in
      let (near, far) = try Socket.pair()
      let readers = (0..<2).map { _ in
        Task { () -> String in
          do {
            for try await piece in try far.data(on: loop) { return "\(piece)" }
            return "end"
          } catch {
            // The one that waits goes on.
            _ = try near.send([7][...])
            return "\(error as! Socket.StreamError == .wait(.alreadyAwaited))"
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
      var pieces = try far.data(on: loop).makeAsyncIterator()
      _ = try near.send([1][...])
      #expect(try await pieces.next() == [1])
      // From here on it is watched.
      let waiting = Task { try await pieces.next() }
      while loop.statistics.descriptorCallouts == 0 {
        _ = try near.send([2][...])
        try await Task.sleep(for: .milliseconds(1))
      }
      _ = try await waiting.value
      let before = try await loop.call { loop.statistics.descriptorCallouts }
      _ = try near.send([3][...])
      for _ in 0..<100 { try await loop.call {} }
      let after = try await loop.call { loop.statistics.descriptorCallouts }
      #expect(after - before <= 2)
    }
  }

  @Test func `a loop that ends is told, and is no end of what arrives`() async throws {
    let thread = try LoopThread(name: "ends")
    let loop = thread.loop
    let (near, far) = try Socket.pair()
    let reading = Task { for try await _ in try near.data(on: loop) {} }
    // The loop watches before its thread ends, or the reader finds it ended: it is told either way.
    await thread.end()
    guard case .failure(let error) = await reading.result else {
      Issue.record("it ended without a word")
      return
    }
    #expect(error as? Socket.StreamError == .wait(.loopEnded))
    _ = far
  }

  @Test func `everybody who connects is accepted, one by one`() async throws {
    try await withLoop { loop in
      let listener = try Socket.listening(at: .loopback(), backlog: 200)
      let address = listener.localAddress!
      let connecting = Task {
        var clients: [Socket] = []
        for _ in 0..<100 { clients.append(try await Socket.connected(to: address, on: loop)) }
        return clients
      }
      var accepted: [Socket] = []
      for try await (socket, peer) in try listener.connections(on: loop) {
        #expect(peer.port != nil)
        accepted.append(socket)
        if accepted.count == 100 { break }
      }
      #expect(try await connecting.value.count == 100)
      // Who has let go of the sequence may begin another, and the listener still listens.
      _ = try await Socket.connected(to: address, on: loop)
      var more = try listener.connections(on: loop).makeAsyncIterator()
      #expect(try await more.next() != nil)
    }
  }

  @Test func `nobody there is thrown, with the reason`() async throws {
    try await withLoop { loop in
      // Bound, and nobody listens.
      let free = try Socket(family: AF_INET, .stream)
      try free.bind(to: .loopback())
      let unused = free.localAddress!
      await #expect(throws: Socket.StreamError.socket(.refused(unused))) {
        _ = try await Socket.connected(to: unused, on: loop)
      }
      _ = free
    }
  }

  @Test func `a wait for room ends when its time is over, and never before`() async throws {
    try await withLoop { loop in
      let (near, far) = try Socket.pair()
      let clock = ContinuousClock()
      let begin = clock.now
      await #expect(throws: Socket.StreamError.wait(.timedOut)) {
        try await near.send([UInt8](repeating: 0, count: 10_000_000), on: loop, timeout: .milliseconds(20))
      }
      #expect(clock.now - begin >= .milliseconds(20))
      _ = far
    }
  }
}

/// How often a task has had its turn.
private final class Turns: Sendable {
  let count = Atomic(0)
}
