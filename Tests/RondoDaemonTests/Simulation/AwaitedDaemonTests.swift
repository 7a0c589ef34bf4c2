import Glibc
import Rondo
import RondoDaemon
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

/// Daemons of async code: `withDaemon`, in virtual time.
@Suite struct AwaitedDaemonTests {
  private struct Failure: Error {}

  /// Runs a daemon on a host with a limit of ten seconds, for as long as it takes; what was noted, with the outcome.
  private func run(
    _ prepare: (Simulation, Host, Trace) -> Void = { _, _, _ in },
    _ body: @escaping @Sendable (Daemon, Trace) async throws -> Void
  ) -> [String] {
    withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      let (loop, trace) = (host.loop, Trace())
      prepare(simulation, host, trace)
      host.start {
        do {
          let outcome = try await withDaemon(
            on: loop, grace: .seconds(10), claimsSignals: false, environment: [:]
          ) { daemon in
            try await body(daemon, trace)
          }
          trace.note("\(outcome) at \(simulation.elapsed.components.seconds)")
        } catch { trace.note("\(type(of: error)) at \(simulation.elapsed.components.seconds)") }
      }
      simulation.run(for: .seconds(1_000))
      return trace.tokens
    }
  }

  @Test func `a body that returns stops its daemon, whose handlers run last to first`() {
    let words = run { daemon, trace in
      daemon.whenStopping { trace.note("first") }
      daemon.whenStopping { trace.note("second") }
      try await daemon.loop.clock.sleep(for: .seconds(2))
    }
    #expect(words == ["second", "first", "drained at 2"])
  }

  @Test func `a stop cancels the body, and what says so is no error`() {
    let words = run { daemon, trace in
      daemon.loop.add(Loop.Timer(after: .seconds(3)) { _ in daemon.stop() })
      do { try await daemon.loop.clock.sleep(for: .seconds(600)) } catch {
        trace.note("cancelled")
        throw error
      }
    }
    #expect(words == ["cancelled", "drained at 3"])
  }

  @Test func `what a body throws is thrown after the stop, whenever it throws`() {
    let early = run { daemon, trace in
      daemon.whenStopping { trace.note("stop") }
      throw Failure()
    }
    #expect(early == ["stop", "Failure at 0"])
    let late = run { daemon, _ in
      daemon.loop.add(Loop.Timer(after: .seconds(3)) { _ in daemon.stop() })
      try? await daemon.loop.clock.sleep(for: .seconds(600))
      throw Failure()
    }
    #expect(late == ["Failure at 3"])
  }

  @Test func `a body that does not end is left after the limit, and counted`() {
    let words = run { daemon, _ in
      daemon.loop.add(Loop.Timer(after: .seconds(3)) { _ in daemon.stop() })
      let work = daemon.beginWork()
      await Task { try? await daemon.loop.clock.sleep(for: .seconds(600)) }.value
      work.end()
    }
    #expect(words == ["timedOut(left: 2) at 13"])
  }

  @Test func `the cancellation of the calling task is a stop`() {
    let words: [String] = withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      let (loop, trace) = (host.loop, Trace())
      let main = host.start {
        let outcome = try await withDaemon(on: loop, claimsSignals: false, environment: [:]) { daemon in
          daemon.whenStopping { trace.note("stop") }
          try await loop.clock.sleep(for: .seconds(600))
        }
        trace.note("\(outcome)")
      }
      simulation.run(for: .seconds(1))
      main.cancel()
      simulation.run(for: .seconds(1))
      return trace.tokens
    }
    #expect(words == ["stop", "drained"])
  }

  @Test func `an async stop handler is work, and the others do not wait for it`() {
    let words = run { daemon, trace in
      daemon.whenStopping { trace.note("first") }
      daemon.whenStopping {
        try? await daemon.loop.clock.sleep(for: .seconds(4))
        trace.note("second")
      }
    }
    #expect(words == ["first", "second", "drained at 4"])
  }

  @Test func `each connection is work, and the requests that have come are served`() {
    let clients = { @Sendable (simulation: Simulation, host: Host, trace: Trace) in
      let client = simulation.host("10.0.0.2")
      let clientLoop = client.loop
      for name in ["idle", "busy"] {
        client.start {
          try await clientLoop.clock.sleep(for: .seconds(1))
          let address = try SocketAddress(parsing: "10.0.0.1:7007")
          let connection = try await Connection.connected(to: address, on: clientLoop)
          if name == "busy" { try await connection.write("half") }
          try await clientLoop.clock.sleep(for: .seconds(5))
          if name == "busy" { try? await connection.write(" and half\n") }
          let line = try await connection.readLine()
          trace.note("\(name): \(line ?? "end")")
        }
      }
    }
    let words = run(clients) { daemon, trace in
      let listener = try Listener(at: try SocketAddress(parsing: "10.0.0.1:7007"))
      daemon.loop.add(
        Loop.Timer(after: .seconds(3)) { _ in
          trace.note("\(daemon.workCount)")
          daemon.stop()
        })
      daemon.ready()
      try await daemon.serve(listener) { connection in
        while try await connection.awaitRequest(), let line = try await connection.readLine() {
          try await connection.write("\(line)!\n")
        }
      }
    }
    #expect(words == ["3", "idle: end", "drained at 6", "busy: half and half!"])
  }

  @Test func `a server that begins after the stop ends`() {
    let words = run { daemon, trace in
      daemon.stop()
      try? await daemon.loop.clock.sleep(for: .seconds(1))
      let listener = try Listener(at: try SocketAddress(parsing: "10.0.0.1:7007"))
      try await daemon.serve(listener) { _ in }
      trace.note("\(listener.isStopped)")
    }
    #expect(words == ["true", "drained at 0"])
  }

  @Test func `a daemon whose loop ends has been stopped`() async throws {
    let thread = try LoopThread(name: "daemon")
    let loop = thread.loop
    let started = Guarded(false)
    let daemon = Task {
      try await withDaemon(on: loop, claimsSignals: false, environment: [:]) { _ in
        started.withLock { $0 = true }
        try? await loop.clock.sleep(for: .seconds(600))
      }
    }
    while !started.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
    await thread.end()
    #expect(try await daemon.value == .stopped)
  }

  @Test func `connections that are served over a group are work, and leave its loops`() async throws {
    let (thread, group) = (try LoopThread(name: "daemon"), try LoopGroup(threads: 2))
    let address = Guarded<SocketAddress?>(nil)
    let daemon = Task {
      try await withDaemon(on: thread.loop, claimsSignals: false, environment: [:]) { daemon in
        let listener = try Listener(at: .loopback())
        address.withLock { $0 = listener.address }
        try await daemon.serve(listener, over: group, limits: .none) { connection in
          let count = UInt8(daemon.workCount)
          while try await connection.awaitRequest(), try await connection.read() != nil {
            try await connection.write([count])
          }
          daemon.stop()
        }
      }
    }
    while address.withLock({ $0 }) == nil { try await Task.sleep(for: .milliseconds(1)) }
    let client = try await Connection.connected(to: address.withLock { $0 }!, on: group.loops[0])
    try await client.write([1])
    #expect(try await client.read() == [2])
    #expect(group.loads == [1, 0])
    try await client.finishWriting()
    #expect(try await daemon.value == .drained)
    #expect(group.loads == [0, 0])
    await group.end()
    await thread.end()
  }

  @Test(.offThePool) func `a second signal ends the wait for a body that does not end`() async {
    await #expect(processExitsWith: .success) {
      let thread = try LoopThread(name: "daemon")
      let outcome = try await withDaemon(on: thread.loop, environment: [:]) { daemon in
        daemon.whenStopping {
          daemon.loop.add(Loop.Timer(after: .milliseconds(500)) { _ in kill(getpid(), SIGTERM) })
        }
        kill(getpid(), SIGTERM)
        await Task { try? await daemon.loop.clock.sleep(for: .seconds(3_600)) }.value
      }
      precondition(outcome == .interrupted(by: SIGTERM) && outcome.exitCode == 143, "\(outcome)")
    }
  }

  @Test(.offThePool) func `async reload handlers run one after another, once more for what came meanwhile`() async {
    await #expect(processExitsWith: .success) {
      let inbox = try Inbox()
      let thread = try LoopThread(name: "daemon")
      let trace = Trace()
      let outcome = try await withDaemon(on: thread.loop, environment: ["NOTIFY_SOCKET": inbox.name]) { daemon in
        daemon.whenReloading {
          if trace.tokens.isEmpty { kill(getpid(), SIGHUP) }
          // The signal is delivered meanwhile.
          while daemon.loop.isCurrent, trace.tokens.count < 10 {
            trace.note("one")
            try await daemon.loop.clock.sleep(for: .milliseconds(5))
          }
          throw Failure()
        }
        daemon.whenReloading {
          trace.note("two")
          if trace.tokens.filter({ $0 == "two" }).count == 2 { daemon.stop() }
        }
        daemon.ready()
        kill(getpid(), SIGHUP)
        try await daemon.loop.clock.sleep(for: .seconds(600))
      }
      precondition(outcome == .drained)
      precondition(trace.tokens == Array(repeating: "one", count: 10) + ["two", "two"], "\(trace.text)")
      let messages = inbox.messages().map { String($0.prefix { $0 != "\n" }) }
      let reload = ["RELOADING=1", "READY=1", "STATUS=Reload failed: Failure()"]
      let end = ["STOPPING=1", "EXTEND_TIMEOUT_USEC=35000000"]
      precondition(messages == ["READY=1"] + reload + reload + end, "\(messages)")
    }
  }
}
