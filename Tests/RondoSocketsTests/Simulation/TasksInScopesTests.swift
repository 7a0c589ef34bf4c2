import Dispatch
import Rondo
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

/// Tasks and actors that name no loop, in virtual time.
@Suite struct TasksInScopesTests {
  private actor Counter {
    private var count = 0

    func next() async -> Int {
      count += 1
      await Task.yield()
      return count
    }

    func rest(_ duration: Duration) async throws { try await Task.sleep(for: duration) }
  }

  @Test(.seeds(20)) func `tasks that a host's code makes stay on its loop, and sleep by its clock`() {
    withSimulation { simulation in
      let (host, other) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let trace = Trace()
      other.start { while true { try await Task.sleep(for: .milliseconds(100)) } }
      @Sendable func note(_ name: String) {
        #expect(Loop.standIn === host.loop)
        trace.note("\(name) \(simulation.elapsed.components.seconds)")
      }
      host.start {
        Task {
          try await Task.sleep(for: .seconds(1))
          note("task")
        }
        Task.detached {
          try await Task.sleep(nanoseconds: 2_000_000_000)
          note("detached")
        }
        Task {
          try await ContinuousClock().sleep(until: .now + .seconds(3))
          note("continuous")
        }
        Task {
          try await SuspendingClock().sleep(for: .seconds(4))
          note("suspending")
        }
        await withTaskGroup { group in
          group.addTask {
            try? await Task.sleep(for: .seconds(5))
            note("child")
          }
        }
        async let value: Void = Task.sleep(for: .seconds(1))
        try await value
        note("let")
      }
      simulation.run(for: .seconds(10))
      #expect(trace.text == "task 1 detached 2 continuous 3 suspending 4 child 5 let 6")
    }
  }

  @Test func `actors without an executor run in virtual time`() {
    withSimulation { simulation in
      let hosts = (1...3).map { simulation.host("10.0.0.\($0)") }
      let (counter, trace) = (Counter(), Trace())
      for host in hosts {
        host.start {
          try await counter.rest(.seconds(1))
          trace.note("\(await counter.next()) \(simulation.elapsed.components.seconds)")
        }
      }
      simulation.run(for: .seconds(2))
      #expect(trace.text == "3 1 3 1 3 1" || trace.text == "1 1 2 1 3 1", "\(trace.text)")
    }
  }

  @Test func `a timeout that a library makes of two tasks is in virtual time`() {
    struct TooLate: Error {}
    @Sendable func withTimeout<Value: Sendable>(
      _ limit: Duration, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
      try await withThrowingTaskGroup { group in
        group.addTask { try await body() }
        group.addTask {
          try await Task.sleep(for: limit)
          throw TooLate()
        }
        defer { group.cancelAll() }
        return try await group.next()!
      }
    }
    withSimulation { simulation in
      let (host, trace) = (simulation.host("10.0.0.1"), Trace())
      host.start {
        await Task {
          do {
            try await withTimeout(.seconds(5)) { try await Task.sleep(for: .seconds(3_600)) }
          } catch { trace.note("\(type(of: error)) \(simulation.elapsed.components.seconds)") }
        }.value
      }
      simulation.run(for: .seconds(60))
      #expect(trace.text == "TooLate 5")
    }
  }

  @Test func `a task that the test resumes or cancels goes on where it began`() {
    withSimulation { simulation in
      let hosts = (1...2).map { simulation.host("10.0.0.\($0)") }
      let trace = Trace()
      let (words, sink) = AsyncStream.makeStream(of: String.self)
      let tasks = SharedTasks()
      hosts[0].start {
        tasks.add(
          Task {
            for await word in words { trace.note("\(word) \(Loop.standIn === hosts[0].loop)") }
          })
        tasks.add(
          Task {
            try? await Task.sleep(for: .seconds(3_600))
            trace.note("ended \(Loop.standIn === hosts[0].loop) \(simulation.elapsed.components.seconds)")
          })
      }
      hosts[1].start {
        try await Task.sleep(for: .seconds(1))
        sink.yield("host")
      }
      simulation.at(.seconds(2)) { sink.yield("test") }
      simulation.at(.seconds(3)) { tasks.cancel() }
      simulation.run(for: .seconds(10))
      #expect(trace.text == "host true test true ended true 3")
    }
  }

  @Test func `a task of a host that has crashed runs no more`() {
    withSimulation { simulation in
      let (host, trace) = (simulation.host("10.0.0.1"), Trace())
      host.start {
        Task {
          while true {
            try await Task.sleep(for: .seconds(1))
            trace.note("tick")
          }
        }
      }
      simulation.run(for: .milliseconds(2_500))
      host.crash()
      simulation.run(for: .seconds(10))
      host.restart()
      simulation.run(for: .seconds(10))
      #expect(trace.text == "tick tick")
    }
  }

  @Test func `scopes on several threads, and in each other, keep their tasks apart`() {
    let texts = Guarded<Set<String>>([])
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      let trace = Trace()
      withSimulation(seed: Seed(7)) { simulation in
        let hosts = (1...3).map { simulation.host("10.0.0.\($0)") }
        for host in hosts {
          host.start {
            for _ in 0..<20 {
              Task {
                // Exact: a sleep of the runtime's adds to a real clock, which runs on while another thread has the processor.
                try await host.loop.clock.sleep(for: .milliseconds(simulation.choose(among: 50)))
                #expect(Loop.standIn === host.loop)
                trace.note("\(host.address)@\(simulation.elapsed / .milliseconds(1))")
              }
              try await host.loop.clock.sleep(for: .milliseconds(10))
            }
            Self.nest(trace)
          }
        }
        simulation.run(for: .seconds(1))
      }
      texts.withLock { _ = $0.insert(trace.text) }
    }
    #expect(texts.withLock { $0.count } == 1)
    #expect(texts.withLock { $0.first!.split(separator: " ").count } == 63)
  }

  /// A scope in the code of a host.
  private static func nest(_ trace: Trace) {
    withVirtualLoop(seed: nil) { virtual in
      Task {
        try await Task.sleep(for: .seconds(5))
        #expect(Loop.standIn === virtual.loop)
        trace.note("nested")
      }
      virtual.advance(by: .seconds(5))
    }
  }

  @Test func `a task that outlives its scope goes on in real time`() async {
    let (ends, sink) = AsyncStream.makeStream(of: Void.self)
    Self.leaveTask(sink)
    for await _ in ends { break }
  }

  private static func leaveTask(_ sink: AsyncStream<Void>.Continuation) {
    withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      host.start {
        Task {
          try await Task.sleep(for: .milliseconds(1))
          sink.yield()
        }
      }
      simulation.run(for: .microseconds(10))
    }
  }
}

/// What a host has started.
private final class SharedTasks: Sendable {
  private let tasks = Guarded<[Task<Void, Never>]>([])

  func add(_ task: Task<Void, Never>) { tasks.withLock { $0.append(task) } }
  func cancel() { for task in tasks.withLock({ $0 }) { task.cancel() } }
}
