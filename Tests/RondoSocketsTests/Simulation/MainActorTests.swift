import Glibc
import Rondo
import RondoAsync
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

/// State of the main actor, as a program has it.
@MainActor private final class Model {
  private(set) var count = 0

  func increment() async -> Int {
    count += 1
    await Task.yield()
    count += 1
    return count
  }

  func rest(_ duration: Duration) async throws { try await Task.sleep(for: duration) }
}

/// The main actor in virtual time, in tests that run on it.
@Suite struct MainActorTests {
  @MainActor @Test func `functions of the main actor run on the loop of the scope, in its time`() {
    withVirtualLoop { virtual in
      let trace = Trace()
      let model = Model()
      Task { @MainActor in
        trace.note("\(await model.increment())")
        try await model.rest(.seconds(3_600))
        trace.note("\(virtual.elapsed)")
      }
      Task.detached { trace.note("detached \(await model.increment())") }
      virtual.advance(by: .seconds(3_599))
      #expect(trace.tokens.count == 2 && model.count == 4)
      virtual.advance(by: .seconds(1))
      #expect(trace.tokens.last == "3600.0 seconds")
    }
  }

  @MainActor @Test func `the main loop is the scope's, and its handlers are the main actor's`() {
    withVirtualLoop { virtual in
      #expect(Loop.main === virtual.loop)
      let model = Model()
      let trace = Trace()
      Loop.main.add(
        Loop.Timer(every: .seconds(1), handler: isolated(to: MainActor.shared) { _ in trace.note("\(model.count)") }))
      Loop.main.add(
        Loop.Timer(after: .seconds(1)) { _ in
          MainActor.assumeIsolated { _ = Task { _ = await model.increment() } as Task<Void, Never> }
        })
      virtual.advance(by: .seconds(2))
      #expect(trace.text == "0 2")
    }
    #expect(Loop.main !== Loop.standIn)
  }

  @MainActor @Test(.seeds(20)) func `a program on the main actor serves a client on a host of its own`() {
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let address = try! SocketAddress(parsing: "10.0.0.1:7")
      let model = Model()
      let trace = Trace()
      server.start { @MainActor in
        let listener = try Listener(at: address)
        try await listener.serve(on: .main) { @MainActor connection in
          while let line = try await connection.readLine() {
            try await model.rest(.seconds(60))
            try await connection.write("\(line) \(await model.increment())\n")
          }
        }
      }
      client.start {
        let connection = try await Connection.connected(to: address, on: .main)
        for _ in 0..<2 {
          try await connection.write("hello\n")
          trace.note(try await connection.readLine() ?? "end")
          trace.note("\(simulation.elapsed.components.seconds)")
        }
        #expect(Loop.main === client.loop)
      }
      simulation.run(for: .seconds(200))
      #expect(trace.text == "hello 2 60 hello 4 120")
    }
  }

  @MainActor @Test func `a task of the main actor that the test cancels ends in virtual time`() {
    withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      let (model, trace) = (Model(), Trace())
      let task = host.start { @MainActor in
        do { try await model.rest(.seconds(3_600)) } catch { trace.note("\(error) \(simulation.elapsed)") }
      }
      simulation.at(.seconds(5)) { task.cancel() }
      simulation.run(for: .seconds(10))
      #expect(trace.text == "CancellationError() 5.0 seconds")
    }
  }

  @MainActor @Test func `each host has a main loop of its own`() {
    withSimulation { simulation in
      let hosts = ["10.0.0.1", "10.0.0.2"].map { simulation.host($0) }
      let trace = Trace()
      for host in hosts {
        host.start { @MainActor in
          try await Task.sleep(for: .seconds(1))
          #expect(Loop.main === host.loop && Loop.main.isCurrent)
          await Task.yield()
          #expect(Loop.current(of: host))
          trace.note(host.address)
        }
      }
      simulation.run(for: .seconds(2))
      #expect(trace.text == "10.0.0.1 10.0.0.2")
    }
  }

  @Test func `what is left to the main actor at the end of a scope goes on there, in real time`() async {
    let (ends, sink) = AsyncStream.makeStream(of: Bool.self)
    await MainActor.run {
      inScope {
        Task { @MainActor in
          try await Task.sleep(for: .seconds(1))
          MainActor.preconditionIsolated()
          sink.yield(Loop.standIn == nil)
        }
      }
    }
    for await isOutside in ends {
      #expect(isOutside)
      break
    }
  }

  @MainActor @Test func `outside of scopes the main actor is where it was`() async throws {
    inScope { Task { @MainActor in } }
    let before = ContinuousClock.now
    try await Task.sleep(for: .milliseconds(2))
    #expect(ContinuousClock.now - before >= .milliseconds(2))
    MainActor.preconditionIsolated()
    #expect(await Task { 6 * 7 }.value == 42)
  }

  @Test(.offThePool) func `on another thread a call of the main actor ends the test with what to do`() async {
    await #expect(processExitsWith: .failure) {
      inScope { Task { @MainActor in } }
    }
  }
}

/// For async code: has `body` in a scope of virtual time, and runs what it leaves.
private func inScope(_ body: () -> Void) {
  withVirtualLoop { virtual in
    body()
    virtual.runUntilIdle()
  }
}

extension Loop {
  /// Whether the calling thread is a host's. For async code.
  fileprivate static func current(of host: Host) -> Bool { host.loop === Loop.standIn }
}
