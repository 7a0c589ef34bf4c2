import Glibc
import Rondo
import RondoDaemon
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

/// The rest of a daemon on simulated hosts: signals, clocks that jump, children, files.
@Suite struct SimulatedDaemonTests {
  private static let address = try! SocketAddress(parsing: "10.0.0.1:7007")

  // MARK: - Signals

  @Test func `a server that does not say when it waits between requests uses its grace at SIGTERM`() {
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let trace = Trace()
      let loop = server.loop
      server.start {
        let listener = try Listener(at: Self.address)
        let signal = try await withCancellation(by: [SIGINT, SIGTERM], on: loop) {
          try await listener.serve(on: loop, grace: .seconds(10)) { connection in
            for try await bytes in connection { try await connection.write(bytes) }
          }
        }
        trace.note("\(simulation.elapsed.components.seconds) ended by \(signal ?? 0)")
      }
      for seconds in [3, 100] {
        client.start {
          do {
            let connection = try await Connection.connected(to: Self.address, on: client.loop)
            for _ in 0..<seconds {
              try await connection.write("a")
              _ = try await connection.read()
              try await client.loop.clock.sleep(for: .seconds(1))
            }
            trace.note("\(simulation.elapsed.components.seconds) a client has finished")
          } catch { trace.note("\(simulation.elapsed.components.seconds) \(error)") }
        }
      }
      simulation.at(.seconds(1)) { server.send(signal: SIGTERM) }
      simulation.run(for: .seconds(200))
      #expect(
        trace.tokens == [
          "3 a client has finished", "11 ended by 15", "12 the peer has gone",
        ])
      #expect(server.openDescriptorCount == 0)
    }
  }

  /// What is wrong after README's server was told to end at a moment that the seed picks.
  private func drain(_ seed: Seed) -> [String] {
    withSimulation(seed: seed) { simulation in
      let (server, clients) = (simulation.host("10.0.0.1"), (2...4).map { simulation.host("10.0.0.\($0)") })
      let trace = Trace()
      let loop = server.loop
      simulation.faults.swarm(oneIn: 30)
      server.start {
        while true {
          guard let listener = try? Listener(at: Self.address) else {
            try await loop.clock.sleep(for: .seconds(1))
            continue
          }
          let signal = try await withCancellation(by: [SIGTERM], on: loop) {
            try await listener.serve(on: loop, grace: .seconds(5)) { connection in
              connection.idleLimit = .seconds(3)
              for try await bytes in connection { try await connection.write(bytes) }
            }
          }
          return trace.note("\(simulation.elapsed.components.seconds) \(signal ?? 0)")
        }
      }
      for client in clients {
        client.start {
          while !Task.isCancelled {
            if let connection = try? await Connection.connected(to: Self.address, on: client.loop) {
              try? await connection.write([UInt8](repeating: 1, count: 1 + simulation.choose(among: 100_000)))
              _ = try? await connection.read()
            }
            try await client.loop.clock.sleep(for: .milliseconds(simulation.choose(among: 5_000)))
          }
        }
      }
      let moment = Duration.milliseconds(2_000 + simulation.choose(among: 8_000))
      simulation.run(for: moment)
      server.send(signal: SIGTERM)
      simulation.run(for: .seconds(6))
      var complaints: [String] = []
      let end = trace.tokens.first?.split(separator: " ") ?? []
      // While it had no descriptor to listen with, the signal has ended its process.
      let isEnded = server.loop !== loop
      if end.last != "15", !isEnded { complaints.append("it has not ended by the signal: \(trace.text)") }
      if server.openDescriptorCount > 0 { complaints.append("\(server.openDescriptorCount) descriptors are open") }
      return complaints
    }
  }

  @Test func `a server that cannot listen when the signal comes is ended by it`() {
    // The one of the first hundred thousand seeds that brings it.
    #expect(drain(Seed(66_436)) == [])
  }

  @Test func `no seed keeps a server from ending within its grace, with nothing left open`() throws {
    for number in 1...stressCount(5_000) { try #require(drain(Seed(UInt64(number))) == [], "seed \(number)") }
  }

  @Test func `a signal without a source ends the process, and the kernel closes its sockets`() {
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let trace = Trace()
      server.start {
        let listener = try Listener(at: Self.address)
        for try await connection in try listener.connections(on: server.loop) {
          for try await _ in connection {}
          trace.note("not reached")
        }
      }
      func ask() {
        client.start {
          do {
            let connection = try await Connection.connected(to: Self.address, on: client.loop)
            trace.note("\(try await connection.read() == nil)")
          } catch { trace.note("\(error)") }
        }
      }
      ask()
      simulation.run(for: .seconds(1))
      let before = server.loop
      server.send(signal: SIGHUP)
      simulation.run(for: .seconds(1))
      #expect(server.openDescriptorCount == 0 && server.loop !== before)
      // The host is there, and its process is not.
      ask()
      simulation.run(for: .seconds(1))
      #expect(trace.tokens == ["true", "nobody listens at 10.0.0.1:7007"])
    }
  }

  @Test(arguments: [(499, false), (501, true)])
  func `a second signal ends the process from half a second after the first on`(_ milliseconds: Int, _ ends: Bool) {
    withSimulation { simulation in
      let server = simulation.host("10.0.0.1")
      let loop = server.loop
      let trace = Trace()
      server.start {
        let signal = try await withCancellation(by: [SIGINT, SIGTERM], on: loop) {
          try? await loop.clock.sleep(for: .seconds(600))
          try? await Task(executorPreference: loop) { try await loop.clock.sleep(for: .seconds(5)) }.value
        }
        trace.note("\(simulation.elapsed.components.seconds) ended by \(signal ?? 0)")
      }
      simulation.at(.seconds(1)) { server.send(signal: SIGINT) }
      simulation.at(.seconds(1) + .microseconds(700)) { server.send(signal: SIGINT) }
      simulation.at(.seconds(1) + .milliseconds(milliseconds)) { server.send(signal: SIGTERM) }
      simulation.run(for: .seconds(10))
      let isEnded = server.loop !== loop
      #expect(isEnded == ends)
      #expect(trace.text == (ends ? "" : "6 ended by 2"))
    }
  }

  @Test(.offThePool) func `a daemon is interrupted from half a second after the stop began on`() async {
    // In a process of its own: it ignores SIGPIPE, and a process has one with signals.
    await #expect(processExitsWith: .success) { try SimulatedDaemonTests.interrupt() }
  }

  private static func interrupt() throws {
    for (milliseconds, outcome) in [(499, Daemon.Outcome.drained), (501, .interrupted(by: SIGTERM))] {
      for isAsked in [true, false] {
        try withSimulation { simulation in
          let host = simulation.host("10.0.0.1")
          let daemon = try host.run { try Daemon(on: host.loop, environment: [:]) }
          let work = daemon.beginWork()
          simulation.at(.seconds(1)) { if isAsked { daemon.stop() } else { host.send(signal: SIGINT) } }
          simulation.at(.seconds(1) + .microseconds(700)) { host.send(signal: SIGINT) }
          simulation.at(.seconds(1) + .milliseconds(milliseconds)) { host.send(signal: SIGTERM) }
          simulation.at(.seconds(6)) { work.end() }
          let end = host.run { daemon.run() }
          precondition(end == outcome, "\(milliseconds) \(isAsked): \(end)")
        }
      }
    }
  }

  @Test func `deliveries are counted until the source is told, and each source is told`() throws {
    try withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      let trace = Trace()
      let sources = try host.run {
        try (1...2).map { number in
          try SignalSource(SIGUSR1) { _, delivery in trace.note("\(number): \(delivery.count)") }
        }
      }
      for source in sources { host.loop.add(source) }
      host.send(signal: SIGUSR1)
      host.send(signal: SIGUSR1)
      simulation.run(for: .zero)
      sources[0].invalidate()
      host.send(signal: SIGUSR1)
      simulation.run(for: .zero)
      #expect(trace.tokens.sorted() == ["1: 2", "2: 1", "2: 2"])
      sources[1].invalidate()
    }
  }

  // MARK: - Clocks

  @Test func `a calendar's timer follows a clock that jumps, forward and back`() throws {
    try withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      let trace = Trace()
      let timer = try host.run {
        try ClockTimer(by: CalendarRule("30 3 * * *", in: .utc)) { _, tick in
          trace.note("\((tick.actual.components.seconds - 1_767_225_600) / 60) \(tick.missed)")
        }
      }
      host.loop.add(timer)
      simulation.run(for: .seconds(86_400))
      #expect(trace.take() == "210 0")
      // Two days on: the days between count as missed.
      host.realTime += .seconds(2 * 86_400)
      simulation.run(for: .seconds(1))
      #expect(trace.take() == "4320 1")
      host.realTime -= .seconds(3_600)
      simulation.run(for: .seconds(6 * 3_600))
      #expect(trace.take() == "4530 0")
      timer.invalidate()
    }
  }

  // MARK: - Children

  @Test func `a child ends when the test says so, and by signals of its parent`() throws {
    try withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      let trace = Trace()
      host.onSpawn = { child in
        trace.note("\(child.executable) \(child.arguments.joined(separator: ","))")
        switch child.arguments.first {
        case "stubborn": child.onSignal = { trace.note("ignores \($0)") }
        case "quick": simulation.at(simulation.elapsed + .seconds(5)) { child.exit(3) }
        default: break
        }
      }
      func start(_ arguments: [String]) throws -> ChildSource {
        let source = try host.run {
          try ChildSource(spawning: .init("worker", arguments)) { _, exit in
            trace.note("\(simulation.elapsed.components.seconds) \(exit)")
          }
        }
        host.loop.add(source)
        return source
      }
      _ = try start(["quick"])
      simulation.run(for: .seconds(10))
      #expect(trace.take() == "worker quick 5 exited with 3")
      try start(["stubborn", "x"]).terminate(grace: .seconds(7))
      simulation.run(for: .seconds(10))
      #expect(trace.take() == "worker stubborn,x ignores 15 17 killed by signal 9")
      host.onSpawn = nil
      #expect(throws: ChildError.notFound("worker")) { try start([]) }
      #expect(host.openDescriptorCount == 0)
    }
  }

  // MARK: - Files

  @Test func `a file that changes is told in the turn after`() throws {
    let path = "/tmp/rondo-simulated-file-\(getpid())"
    let file = unsafe creat(path, 0o600)
    defer {
      close(file)
      unsafe unlink(path)
    }
    try withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      let trace = Trace()
      let source = try host.run {
        try PathSource(path) { _, change in trace.note("\(simulation.elapsed.components.seconds) \(change)") }
      }
      host.loop.add(source)
      simulation.at(.seconds(60)) { unsafe write(file, "a", 1) }
      simulation.run(for: .seconds(59))
      #expect(trace.text == "")
      simulation.run(for: .seconds(2))
      #expect(trace.tokens.first?.hasPrefix("60 ") == true, "\(trace.text)")
      source.invalidate()
    }
  }
}
