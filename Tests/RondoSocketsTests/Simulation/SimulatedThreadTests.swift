import Glibc
import Rondo
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

/// Threads that code of a simulated host starts.
@Suite struct SimulatedThreadTests {
  @Test(.seeds(20)) func `a thread's loop runs in the time of its host`() throws {
    try withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      let trace = Trace()
      let thread = try host.run { try LoopThread(name: "worker") }
      thread.execute {
        trace.note("begins \(thread.isCurrent) \(Loop.main === host.loop) \(Loop.current === thread.loop)")
        let timer = Loop.Timer(after: .seconds(3_600)) { _ in
          trace.note("hour \(simulation.elapsed.components.seconds)")
        }
        Loop.current.add(timer)
      }
      simulation.run(for: .seconds(4_000))
      host.run { thread.stop() }
      #expect(thread.hasEnded)
      #expect(trace.text == "begins true true true hour 3600")
    }
  }

  @Test(.seeds(50)) func `calls between threads bring their results back`() throws {
    try withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      try host.run {
        let (one, other) = (try LoopThread(name: "one"), try LoopThread(name: "other"))
        let sum = try one.sync { () throws -> Int in try other.sync { 20 } + 1 }
        #expect(sum == 21)
        one.stop()
        #expect(throws: Loop.CallError<Never>.self) { try one.sync { 1 } }
        other.stop()
      }
      let result = Guarded(0)
      host.start {
        let value = try await withLoopThread(name: "scoped") { thread in
          try await thread.async { 7 }
        }
        result.withLock { $0 = value }
      }
      simulation.run(for: .seconds(1))
      #expect(result.withLock { $0 } == 7)
    }
  }

  @Test func `without a seed threads run in their order, until each sleeps`() throws {
    #expect(try order(seed: nil) == "a1 a2 b1 b2")
  }

  @Test func `a seed chooses which thread runs, and chooses the same again`() throws {
    var seen: Set<String> = []
    for number in 1...50 {
      let text = try order(seed: Seed(UInt64(number)))
      #expect(try order(seed: Seed(UInt64(number))) == text)
      seen.insert(text)
    }
    #expect(seen.count >= 4, "\(seen)")
  }

  private func order(seed: Seed?) throws -> String {
    try withSimulation(seed: seed) { simulation in
      let host = simulation.host("10.0.0.1")
      let trace = Trace()
      try host.run {
        let threads = [try LoopThread(name: "a"), try LoopThread(name: "b")]
        for thread in threads {
          thread.execute {
            trace.note("\(thread.name)1")
            // Another thread may go on while this one posts.
            host.loop.perform {}
            trace.note("\(thread.name)2")
          }
        }
        for thread in threads { thread.stop() }
      }
      return trace.text
    }
  }

  /// Hands numbers from one loop to another. The one that takes them sleeps when there is none.
  private final class HandOver: Sendable {
    private let state = Guarded((numbers: [Int](), isAsleep: true))
    private let taken = Guarded<[Int]>([])
    let isMended: Bool
    let taker: Loop
    let observer: Loop

    init(isMended: Bool, taker: Loop, observer: Loop) {
      (self.isMended, self.taker, self.observer) = (isMended, taker, observer)
    }

    var result: [Int] { taken.withLock { $0 } }

    func put(_ number: Int) {
      let wakes = state.withLock { state in
        state.numbers.append(number)
        defer { state.isAsleep = false }
        return state.isAsleep
      }
      if wakes { taker.perform { self.take() } }
    }

    private func take() {
      while true {
        let numbers = state.withLock { state in
          defer { state.numbers = [] }
          if isMended, state.numbers.isEmpty { state.isAsleep = true }
          return state.numbers
        }
        if numbers.isEmpty { break }
        taken.withLock { $0 += numbers }
      }
      // Before it says that it sleeps, and after it has looked: what is put between is lost.
      observer.perform {}
      if !isMended { state.withLock { $0.isAsleep = true } }
    }
  }

  private func handsOver(_ seed: UInt64, isMended: Bool) throws -> Bool {
    try withSimulation(seed: Seed(seed)) { simulation in
      let host = simulation.host("10.0.0.1")
      return try host.run {
        let (giver, taker) = (try LoopThread(name: "giver"), try LoopThread(name: "taker"))
        let handOver = HandOver(isMended: isMended, taker: taker.loop, observer: host.loop)
        giver.execute { for number in 1...5 { handOver.put(number) } }
        giver.stop()
        taker.stop()
        return handOver.result == [1, 2, 3, 4, 5]
      }
    }
  }

  @Test func `a wakeup that a hand-over can lose is found by one of 200 seeds`() throws {
    let found = try (1...200).first { try !handsOver(UInt64($0), isMended: false) }
    #expect(found != nil)
    let lost = try (1...200).filter { try !handsOver(UInt64($0), isMended: true) }
    #expect(lost.isEmpty)
  }

  /// Has a lock of the program's own, which the thread sanitizer knows: none of Rondo's is held at a post.
  @safe private final class Counter: Sendable {
    private nonisolated(unsafe) let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private nonisolated(unsafe) var number = 0

    init() { unsafe pthread_mutex_init(mutex, nil) }

    deinit {
      unsafe pthread_mutex_destroy(mutex)
      unsafe mutex.deallocate()
    }

    /// Counts, and calls `body` under the lock.
    ///
    /// - Returns: How often it has counted.
    @discardableResult
    func count(_ body: () -> Void = {}) -> Int {
      unsafe pthread_mutex_lock(mutex)
      defer { unsafe pthread_mutex_unlock(mutex) }
      unsafe number += 1
      body()
      return unsafe number
    }
  }

  @Test(.seeds(10)) func `a thread that posts under a lock does not keep others from it for ever`() throws {
    try withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      let counter = Counter()
      try host.run {
        let threads = [try LoopThread(name: "a"), try LoopThread(name: "b")]
        for _ in 1...5 {
          for thread in threads {
            thread.execute {
              counter.count { host.loop.perform {} }
            }
          }
          counter.count { threads[0].loop.perform {} }
        }
        for thread in threads { thread.stop() }
      }
      #expect(counter.count() == 16)
    }
  }

  @Test(.seeds(20)) func `a group serves connections on its threads`() throws {
    try withSimulation { simulation in
      let (host, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let group = try host.run { try LoopGroup(name: "worker") }
      #expect(group.loops.count == 2)
      let address = try SocketAddress(parsing: "10.0.0.1:80")
      let served = Guarded<Set<Int>>([])
      host.start {
        let listener = try Listener(at: address)
        try await listener.serve(over: group) { connection in
          served.withLock { _ = $0.insert(group.loops.firstIndex { $0.isCurrent } ?? -1) }
          while let bytes = try await connection.read() { try await connection.write(bytes) }
        }
      }
      let answers = Guarded(0)
      for number in 1...10 {
        client.start {
          try await Task.sleep(for: .seconds(1))
          let connection = try await Connection.connected(to: address, on: client.loop)
          try await connection.write([UInt8(number)])
          if try await connection.read() == [UInt8(number)] { answers.withLock { $0 += 1 } }
          connection.close()
        }
      }
      simulation.run(until: { answers.withLock { $0 } == 10 })
      host.run { group.stop() }
      let (count, loops) = (answers.withLock { $0 }, served.withLock { $0 })
      #expect(count == 10)
      #expect(loops == [0, 1])
    }
  }

  @Test func `a seed gives the same events again, with threads and faults`() throws {
    for number in 1...20 {
      let events = try events(seed: UInt64(number))
      #expect(events.count > 50)
      #expect(try self.events(seed: UInt64(number)) == events)
    }
  }

  /// What happens where a group serves clients.
  private func events(seed: UInt64) throws -> [String] {
    let log = RunLog(tells: true, eventCount: 10_000)
    try RunLog.$current.withValue(log) {
      try withSimulation(seed: Seed(seed)) { simulation in
        let (host, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
        let address = try SocketAddress(parsing: "10.0.0.1:80")
        let group = try host.run { try LoopGroup(threads: 3) }
        host.start {
          let listener = try Listener(at: address)
          try await listener.serve(over: group) { connection in
            while let bytes = try await connection.read() { try await connection.write(bytes) }
          }
        }
        simulation.run(for: .milliseconds(1))
        simulation.faults.swarm(oneIn: 20)
        for _ in 1...5 {
          client.start {
            let connection = try await Connection.connected(to: address, on: client.loop)
            for _ in 1...5 {
              try await connection.write([UInt8](repeating: 1, count: 10_000))
              _ = try await connection.read()
            }
            connection.close()
          }
        }
        simulation.run(for: .seconds(10))
        host.run { group.stop() }
      }
    }
    return log.sentences + log.events
  }

  @Test(.seeds(20)) func `work of other threads reaches the main actor's loop of its host`() throws {
    try withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      let trace = Trace()
      let thread = try host.run { try LoopThread(name: "worker") }
      let (main, own) = (host.loop, thread.loop)
      // A task that begins on the thread stays there, in its time.
      thread.execute {
        Task {
          try await Task.sleep(for: .seconds(60))
          trace.note("thread \(Loop.standIn === own)")
          await Task(executorPreference: main) { trace.note("main \(Loop.standIn === main)") }.value
          trace.note("thread \(Loop.standIn === own) \(simulation.elapsed)")
        }
      }
      simulation.run(for: .seconds(61))
      host.run { thread.stop() }
      #expect(trace.text == "thread true main true thread true 60.0 seconds")
    }
  }

  @Test func `the threads of a host that crashes do nothing more, and end with the scope`() throws {
    let trace = Trace()
    let thread = try withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      let thread = try host.run { try LoopThread(name: "worker") }
      thread.execute { Loop.current.add(Loop.Timer(every: .seconds(1)) { _ in trace.note("tick") }) }
      simulation.run(for: .milliseconds(2_500))
      host.crash()
      simulation.run(for: .seconds(10))
      host.restart()
      simulation.run(for: .seconds(10))
      let other = try host.run { try LoopThread(name: "worker") }
      let answer = try host.run { try other.sync { 1 } }
      host.run { other.stop() }
      #expect(answer == 1 && !thread.hasEnded)
      return thread
    }
    #expect(thread.hasEnded)
    #expect(trace.text == "tick tick")
  }

  @Test func `a wait that nothing can end is told at once`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      waitForEachOther()
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("nothing is left that could end that wait"))
    #expect(text.contains("thread \"one\" waits for a thread, too; 10.0.0.1, thread \"other\" waits for a thread, too"))
  }

  @Test func `a thread that the program leaves is named at the end of the scope`() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      leaveThread()
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("The thread \"left\" of 10.0.0.1 has not ended with its simulation"))
  }

  @Test func `a thread outside of hosts is real`() throws {
    try withSimulation { simulation in
      _ = simulation.host("10.0.0.1")
      let thread = try LoopThread(name: "real")
      #expect(try thread.sync { Loop.current === thread.loop && Loop.main !== thread.loop })
      #expect(!thread.loop.isVirtual)
      thread.stop()
    }
  }

  @Test func `a call from a thread of a host that needs its turn has it`() throws {
    // Of what two threads do at once, the seed chooses the order; the sockets are the host's.
    try withSimulation(seed: 7) { simulation in
      let host = simulation.host("10.0.0.1")
      let made = Guarded<[CInt]>([])
      try host.run {
        let threads = try (0..<4).map { try LoopThread(name: "\($0)") }
        for thread in threads {
          thread.execute {
            let sockets = (0..<10).compactMap { _ in try? Socket(family: AF_INET, .stream) }
            made.withLock { $0 += sockets.map(\.descriptor) }
          }
        }
        for thread in threads { thread.stop() }
      }
      let all = made.withLock { $0 }
      #expect(all.count == 40 && host.openDescriptorCount == 0)
    }
  }
}

/// For async code: two threads, each of which waits for the other.
private func waitForEachOther() {
  withSimulation { simulation in
    let host = simulation.host("10.0.0.1")
    host.run {
      let (one, other) = (try! LoopThread(name: "one"), try! LoopThread(name: "other"))
      other.execute { try? one.sync {} }
      one.execute { try? other.sync {} }
      try? one.sync {}
    }
  }
}

/// For async code: a thread that the program ends only when its simulation is over.
private func leaveThread() {
  let thread = withSimulation { simulation in
    let host = simulation.host("10.0.0.1")
    let thread = try! host.run { try LoopThread(name: "left") }
    simulation.run(for: .seconds(1))
    return thread
  }
  precondition(thread.hasEnded && !thread.execute {})
  thread.stop()
}
