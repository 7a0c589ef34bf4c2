import Glibc
import Rondo
import RondoDaemon
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

/// The examples of SimulatedHosts.md.
@Suite struct SimulationTests {
  @Test func `a server closes a client that is silent for thirty seconds`() throws {
    try withSimulation { simulation in
      let server = simulation.host("10.0.0.1")
      let client = simulation.host("10.0.0.2")
      let address = try SocketAddress(parsing: "10.0.0.1:7007")
      let trace = Trace()
      server.start {
        let listener = try Listener(at: address)
        try await listener.serve(on: server.loop) { connection in
          connection.idleLimit = .seconds(30)
          for try await bytes in connection { try await connection.write(bytes) }
        }
      }
      client.start {
        let connection = try await Connection.connected(to: address, on: client.loop)
        try await connection.write("hello")
        trace.note(String(decoding: try await connection.read() ?? [], as: UTF8.self))
        let end = try await connection.read()
        trace.note("\(end == nil) \(simulation.elapsed.components.seconds)")
      }
      simulation.run(for: .seconds(3_600))
      #expect(trace.text == "hello true 30")
      #expect(server.openDescriptorCount == 1)
    }
  }

  @Test func `a child and a signal of a host are the test's`() throws {
    try withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      let trace = Trace()
      host.onSpawn = { child in simulation.at(.seconds(5)) { child.exit(3) } }
      let worker = try host.run {
        try ChildSource(spawning: .init("worker")) { _, exit in trace.note("\(exit)") }
      }
      host.loop.add(worker)
      let stop = try host.run { try SignalSource(SIGTERM) { _, _ in trace.note("SIGTERM") } }
      host.loop.add(stop)
      host.send(signal: SIGTERM)
      simulation.run(for: .seconds(10))
      #expect(trace.text == "SIGTERM exited with 3")
    }
  }

  @MainActor @Test func `a host has the main actor and the main loop`() {
    withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      let trace = Trace()
      host.start { @MainActor in
        try await Task.sleep(for: .seconds(3_600))
        trace.note("\(Loop.main === host.loop) \(simulation.elapsed)")
      }
      simulation.run(for: .seconds(3_600))
      #expect(trace.text == "true 3600.0 seconds")
    }
  }

  @Test func `a host's code starts a thread`() throws {
    try withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      let trace = Trace()
      try host.run {
        let thread = try LoopThread(name: "worker")
        let sum = try thread.sync { 20 + 22 }
        thread.stop()
        trace.note("\(sum) \(thread.hasEnded)")
      }
      #expect(trace.text == "42 true")
    }
  }

  @Test func `the second socket finds no descriptor`() {
    withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      simulation.faults.fail(.socket, with: EMFILE, nth: 2)
      let made = (1...3).map { _ in host.run { (try? Socket(family: AF_INET, .stream)) != nil } }
      #expect(made == [true, false, true])
    }
  }
}
