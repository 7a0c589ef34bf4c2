import Rondo
import RondoSockets
import RondoTestSupport
import Synchronization
import Testing

/// A task for each connection, and how a server ends. Without limits of time, which a slow machine may reach.
@Suite struct ServingTests {
  /// What the tests count.
  private final class Tally: Sendable {
    let present = Atomic(0)
    let most = Atomic(0)
    let served = Atomic(0)

    func enter() {
      let count = present.add(1, ordering: .relaxed).newValue
      _ = most.max(count, ordering: .relaxed)
    }

    func leave() {
      present.subtract(1, ordering: .relaxed)
      served.add(1, ordering: .relaxed)
    }
  }

  private func echo(_ connection: Connection) async throws {
    for try await bytes in connection { try await connection.write(bytes) }
  }

  @Test func `each connection is served on the loop's thread, and closed when its handler returns`() async throws {
    try await withLoop { loop in
      let listener = try Listener(at: .loopback())
      let serving = Task {
        try await listener.serve(on: loop, limits: .none) { connection in
          #expect(loop.isCurrent)
          try await connection.write("\(await connection.readLine() ?? "")!\n")
        }
      }
      for name in ["one", "two"] {
        let client = try await Connection.connected(to: listener.address, on: loop)
        try await client.write("\(name)\n")
        #expect(try await client.readLine() == "\(name)!")
        #expect(try await client.read() == nil)
      }
      serving.cancel()
      try await serving.value
    }
  }

  @Test func `no more connections than the limit are served at a time, and all in the end`() async throws {
    try await withLoop { loop in
      let listener = try Listener(at: .loopback())
      let tally = Tally()
      let serving = Task {
        try await listener.serve(on: loop, limits: ServerLimits(connections: 3, idle: nil)) { connection in
          tally.enter()
          defer { tally.leave() }
          try await echo(connection)
        }
      }
      try await withThrowingTaskGroup { group in
        for number in 0..<20 as Range<UInt8> {
          group.addTask {
            let client = try await Connection.connected(to: listener.address, on: loop)
            try await client.write([number])
            #expect(try await client.read() == [number])
          }
        }
        try await group.waitForAll()
      }
      serving.cancel()
      try await serving.value
      #expect(tally.most.load(ordering: .relaxed) == 3)
      #expect(tally.served.load(ordering: .relaxed) == 20)
    }
  }

  @Test func `a server that is full can be cancelled`() async throws {
    try await withLoop { loop in
      let listener = try Listener(at: .loopback())
      let serving = Task { try await listener.serve(on: loop, limits: ServerLimits(connections: 1, idle: nil), echo) }
      let clients = [
        try await Connection.connected(to: listener.address, on: loop),
        try await Connection.connected(to: listener.address, on: loop),
      ]
      try await clients[0].write([1])
      #expect(try await clients[0].read() == [1])
      serving.cancel()
      try await serving.value
      #expect(try await clients[0].read() == nil)
    }
  }

  @Test func `within the grace a connection goes on, and none is accepted`() async throws {
    try await withLoop { loop in
      let listener = try Listener(at: .loopback())
      let serving = Task { try await listener.serve(on: loop, limits: .none, grace: .seconds(600), echo) }
      let client = try await Connection.connected(to: listener.address, on: loop)
      try await client.write([1])
      #expect(try await client.read() == [1])
      serving.cancel()
      try await client.write([2])
      #expect(try await client.read() == [2])
      try await client.finishWriting()
      try await serving.value
      // It is in the queue, for another server.
      let late = try await Connection.connected(to: listener.address, on: loop)
      late.deadline = loop.clock.now + .milliseconds(20)
      try await late.write([3])
      await #expect(throws: ConnectionError.wait(.timedOut)) { try await late.read() }
    }
  }

  @Test func `after the grace the tasks are cancelled, and never before`() async throws {
    try await withLoop { loop in
      let listener = try Listener(at: .loopback())
      let errors = Mutex<[ConnectionError?]>([])
      let serving = Task {
        try await listener.serve(
          on: loop, limits: .none, grace: .milliseconds(20),
          onError: { error in errors.withLock { $0.append(error as? ConnectionError) } }, echo)
      }
      let client = try await Connection.connected(to: listener.address, on: loop)
      try await client.write([1])
      #expect(try await client.read() == [1])
      let clock = ContinuousClock()
      let start = clock.now
      serving.cancel()
      try await serving.value
      #expect(clock.now - start >= .milliseconds(20))
      #expect(errors.withLock { $0 } == [.wait(.cancelled)])
      #expect(try await client.read() == nil)
    }
  }

  @Test(arguments: [true, false])
  func `of the tasks that a handler starts, children are cancelled with the server`(_ isChild: Bool) async throws {
    try await withLoop { loop in
      let listener = try Listener(at: .loopback())
      let own = Mutex<Task<[UInt8]?, any Error>?>(nil)
      let serving = Task {
        try await listener.serve(on: loop, limits: .none) { connection in
          if isChild {
            async let ending = connection.read()
            own.withLock { $0 = Task { nil } }
            do {
              let bytes = try await ending
              Issue.record("The child was not cancelled, and read \(String(describing: bytes)).")
            } catch {
              #expect(error as? ConnectionError == .wait(.cancelled))
            }
          } else {
            own.withLock { $0 = Task { try await connection.read() } }
            try? await Task.sleep(for: .seconds(3_600))
          }
        }
      }
      let client = try await Connection.connected(to: listener.address, on: loop)
      while own.withLock({ $0 }) == nil { await Task.yield() }
      // The reader waits by now, or soon.
      for _ in 0..<10 { try await loop.call {} }
      serving.cancel()
      try await serving.value
      // The end of the handler closed its connection.
      if !isChild { await #expect(throws: ConnectionError.closed) { try await own.withLock { $0 }!.value } }
      #expect(try await client.read() == nil)
    }
  }

  @Test func `what a handler throws ends its connection alone, and is told`() async throws {
    struct Failure: Error {}
    try await withLoop { loop in
      let listener = try Listener(at: .loopback())
      let failures = Mutex(0)
      let serving = Task {
        try await listener.serve(
          on: loop, limits: .none, onError: { error in failures.withLock { $0 += error is Failure ? 1 : 0 } }
        ) {
          connection in
          if try await connection.read() == [0] { throw Failure() }
          try await connection.write([2])
        }
      }
      let (bad, good) = (
        try await Connection.connected(to: listener.address, on: loop),
        try await Connection.connected(to: listener.address, on: loop)
      )
      try await bad.write([0])
      #expect(try await bad.read() == nil)
      try await good.write([1])
      #expect(try await good.read() == [2])
      serving.cancel()
      try await serving.value
      #expect(failures.withLock { $0 } == 1)
    }
  }

  @Test func `the end of the loop ends the server, with the reason`() async throws {
    let thread = try LoopThread(name: "ends")
    let loop = thread.loop
    let listener = try Listener(at: .loopback())
    let serving = Task { try await listener.serve(on: loop, limits: .none, echo) }
    await thread.end()
    await #expect(throws: ConnectionError.wait(.loopEnded)) { try await serving.value }
  }

  @Test func `cancellations at any point leave no connection behind`() async throws {
    try await withLoop { loop in
      let listener = try Listener(at: .loopback())
      let tally = Tally()
      for round in 0..<stressCount(3_000) {
        let serving = Task {
          try await listener.serve(on: loop, limits: .none) { connection in
            tally.enter()
            defer { tally.leave() }
            try await echo(connection)
          }
        }
        let clients = (0..<10).map { number in
          Task {
            let client = try await Connection.connected(to: listener.address, on: loop)
            try await client.write([UInt8](repeating: 1, count: number * 1_000 + 1))
            _ = try await client.read()
          }
        }
        for _ in 0..<round % 100 { await Task.yield() }
        for client in clients { client.cancel() }
        serving.cancel()
        try await serving.value
        for client in clients { _ = await client.result }
      }
      #expect(tally.present.load(ordering: .relaxed) == 0)
    }
  }

  @Test func `stops at any point serve every request that was sent before, and none twice`() async throws {
    try await withLoop { loop in
      for round in 0..<stressCount(1_000) {
        let listener = try Listener(at: .loopback())
        let served = Atomic(0)
        let serving = Task {
          try await listener.serve(on: loop, limits: ServerLimits(connections: 4, idle: nil), grace: .seconds(600)) {
            connection in
            while try await connection.awaitRequest(), let bytes = try await connection.read() {
              served.add(1, ordering: .relaxed)
              try await connection.write(bytes)
            }
          }
        }
        var clients: [Connection] = []
        for number in 0..<4 as Range<UInt8> {
          let client = try await Connection.connected(to: listener.address, on: loop)
          try await client.write([number])
          clients.append(client)
        }
        for _ in 0..<round % 50 { await Task.yield() }
        listener.stop()
        for (number, client) in clients.enumerated() {
          #expect(try await client.read() == [UInt8(number)])
          #expect(try await client.read() == nil)
        }
        try await serving.value
        #expect(served.load(ordering: .relaxed) == 4)
      }
    }
  }
}
