import Rondo
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

/// Connecting to a host by its name: RFC 8305, in simulated networks.
@Suite struct NamedConnectionTests {
  /// A client, and hosts that have one name.
  private struct World {
    let simulation: Simulation
    let client: Host
    let servers: [Host]
    let trace = Trace()

    /// - Parameter addresses: Those of the name, in the resolver's order.
    init(_ simulation: Simulation, _ addresses: [String]) {
      self.simulation = simulation
      client = simulation.host("10.0.0.9")
      servers = addresses.map { simulation.host($0) }
      simulation.names["example.org"] = addresses
    }

    /// Has a host accept connections on port 443 and keep them.
    func serve(_ number: Int) {
      let server = servers[number]
      let host = server.address.contains(":") ? "[\(server.address)]" : server.address
      server.start {
        let listener = try Listener(at: SocketAddress(parsing: host + ":443"))
        try await listener.serve(on: server.loop) { connection in while try await connection.read() != nil {} }
      }
    }

    /// Connects, and notes which host it was, or the error, and how many milliseconds it took.
    func connect(to name: String = "example.org", timeout: Duration? = nil) {
      client.start { [self] in
        let start = simulation.elapsed
        var text: String
        do throws(ConnectionError) {
          let connection = try await Connection.connected(to: name, port: 443, on: client.loop, timeout: timeout)
          text = "\(connection.peer!)"
        } catch {
          text = "\(error)"
        }
        trace.note("\(text) \((simulation.elapsed - start) / .milliseconds(1))")
      }
    }
  }

  private func inWorld(_ addresses: [String], _ body: (World) -> Void) {
    withSimulation { body(World($0, addresses)) }
  }

  @Test func `the first address that answers is taken`() {
    inWorld(["10.0.0.1", "10.0.0.2"]) { world in
      world.serve(0)
      world.serve(1)
      world.connect()
      world.simulation.run(for: .seconds(1))
      #expect(world.trace.text == "10.0.0.1:443 0.2")
      #expect(world.client.openDescriptorCount == 0 && world.servers[1].openDescriptorCount == 1)
    }
  }

  @Test func `an address that refuses is followed by the next at once`() {
    inWorld(["10.0.0.1", "10.0.0.2"]) { world in
      world.serve(1)
      world.connect()
      world.simulation.run(for: .seconds(1))
      #expect(world.trace.text == "10.0.0.2:443 0.4")
    }
  }

  @Test func `beside an address that does not answer, the next is tried after a quarter of a second`() {
    inWorld(["10.0.0.1", "10.0.0.2", "10.0.0.3"]) { world in
      for number in 0..<3 { world.serve(number) }
      for number in 0..<2 { world.simulation.link(world.client, world.servers[number]).cut() }
      world.connect()
      world.simulation.run(for: .milliseconds(400))
      #expect(world.client.openDescriptorCount == 2)
      world.simulation.run(for: .seconds(1))
      #expect(world.trace.text == "10.0.0.3:443 500.2")
      #expect(world.client.openDescriptorCount == 0)
    }
  }

  @Test func `a slow first address wins if it is first to answer, and the other attempt is closed`() {
    inWorld(["10.0.0.1", "10.0.0.2"]) { world in
      world.serve(0)
      world.serve(1)
      world.simulation.link(world.client, world.servers[0]).latency = .milliseconds(150)
      world.simulation.link(world.client, world.servers[1]).latency = .milliseconds(100)
      world.connect()
      world.simulation.run(for: .seconds(2))
      #expect(world.trace.text == "10.0.0.1:443 300.0")
      for server in world.servers { #expect(server.openDescriptorCount == 1) }
    }
  }

  @Test func `the families take turns`() {
    inWorld(["fd00::1", "fd00::2", "10.0.0.1"]) { world in
      world.serve(2)
      for number in 0..<2 { world.simulation.link(world.client, world.servers[number]).cut() }
      world.connect()
      world.simulation.run(for: .seconds(1))
      #expect(world.trace.text == "10.0.0.1:443 250.2")
    }
  }

  @Test func `when no address answers, the last attempt's error is thrown`() {
    inWorld(["10.0.0.1", "10.0.0.2"]) { world in
      world.simulation.link(world.client, world.servers[0]).cut()
      world.connect()
      world.simulation.run(for: .seconds(200))
      #expect(world.trace.text == "\(ConnectionError.wait(.timedOut)) 127000.1")
      #expect(world.client.openDescriptorCount == 0)
    }
  }

  @Test func `a timeout ends the attempts under way, and no other begins`() {
    inWorld(["10.0.0.1", "10.0.0.2", "10.0.0.3"]) { world in
      for server in world.servers { world.simulation.link(world.client, server).cut() }
      world.connect(timeout: .milliseconds(300))
      world.simulation.run(for: .seconds(10))
      #expect(world.trace.text == "\(ConnectionError.wait(.timedOut)) 300.0")
      #expect(world.client.openDescriptorCount == 0)
    }
  }

  @Test func `a cancelled task gets no connection, and leaves no socket`() {
    inWorld(["10.0.0.1", "10.0.0.2"]) { world in
      for server in world.servers { world.simulation.link(world.client, server).cut() }
      let task = world.client.start {
        do throws(ConnectionError) {
          _ = try await Connection.connected(to: "example.org", port: 443, on: world.client.loop)
        } catch {
          world.trace.note("\(error == .wait(.cancelled))")
        }
      }
      world.simulation.at(.milliseconds(300)) { task.cancel() }
      world.simulation.run(for: .seconds(1))
      #expect(world.trace.text == "true")
      #expect(world.client.openDescriptorCount == 0)
    }
  }

  @Test func `a name without an address is an error of the lookup`() {
    inWorld([]) { world in
      world.connect(to: "nowhere.example")
      world.connect(to: "")
      world.simulation.run(for: .seconds(1))
      let errors: [LookupError] = [.notFound("nowhere.example"), .badName("")]
      #expect(world.trace.text == errors.map { "\($0) 0.0" }.joined(separator: " "))
    }
  }

  @Test func `without descriptors the attempts fail, and leave none open`() {
    inWorld(["10.0.0.1", "10.0.0.2"]) { world in
      world.serve(0)
      world.client.descriptorLimit = 0
      world.connect()
      world.simulation.run(for: .seconds(1))
      #expect(world.trace.text.hasPrefix("\(SocketError.exhausted)"))
      #expect(world.client.openDescriptorCount == 0)
    }
  }

  @Test func `on a loop that has ended there is no connection`() async throws {
    let thread = try LoopThread(name: "ended")
    let loop = thread.loop
    await thread.end()
    await #expect(throws: ConnectionError.wait(.loopEnded)) {
      try await Connection.connected(to: "localhost", port: 7, on: loop)
    }
    await #expect(throws: ConnectionError.wait(.loopEnded)) {
      try await Connection.connected(to: "127.0.0.1", port: 7, on: loop, timeout: .seconds(60))
    }
  }

  @Test func `an address as text needs no lookup`() {
    inWorld(["10.0.0.1"]) { world in
      world.serve(0)
      world.connect(to: "10.0.0.1")
      world.simulation.run(for: .seconds(1))
      #expect(world.trace.text == "10.0.0.1:443 0.2")
    }
  }

  @Test func `a name of the real machine is connected to`() async throws {
    let thread = try LoopThread(name: "named")
    let loop = thread.loop
    let listener = try Listener(at: .loopback())
    let port = try #require(listener.address.port)
    let connection = try await Connection.connected(to: "localhost", port: port, on: loop, timeout: .seconds(10))
    #expect(connection.peer == listener.address)
    connection.close()
    await thread.end()
  }
}
