import Glibc
import Rondo
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

/// What a server lets its clients take, in simulated networks.
@Suite struct ServerLimitTests {
  /// A server with limits, which echoes, and clients that say what became of them.
  private final class World: @unchecked Sendable {
    let simulation: Simulation
    let server: Host
    let trace = Trace()

    init(_ simulation: Simulation, _ limits: ServerLimits, at address: String = "10.0.0.1") {
      self.simulation = simulation
      server = simulation.host(address)
      let text = address.contains(":") ? "[\(address)]:7" : "\(address):7"
      let listening = try! SocketAddress(parsing: text)
      server.start { [server] in
        let listener = try Listener(at: listening)
        try await listener.serve(on: server.loop, limits: limits) { connection in
          for try await bytes in connection { try await connection.write(bytes) }
        }
      }
      self.address = listening
    }

    private(set) var address: SocketAddress!

    /// Sends `bytes` after each of the delays, in seconds, then notes when the server ended the connection.
    func client(_ name: String, _ host: Host, sendsAfter delays: [Int] = []) {
      host.start { [self] in
        do throws(ConnectionError) {
          let connection = try await Connection.connected(to: address, on: host.loop)
          let reading = Task(executorPreference: host.loop) { () -> String in
            do throws(ConnectionError) { while try await connection.read() != nil {} } catch { return "\(error)" }
            return "end"
          }
          for delay in delays {
            try? await host.loop.clock.sleep(for: .seconds(delay))
            try await connection.write("x")
          }
          let end = await reading.value
          trace.note("\(name):\(end):\(simulation.elapsed.components.seconds)")
        } catch {
          trace.note("\(name):\(error)")
        }
      }
    }
  }

  @Test func `a silent client is closed after a minute, unless the server says otherwise`() {
    for (limits, end) in [(ServerLimits(), "a:end:60"), (ServerLimits(idle: .seconds(5)), "a:end:5"), (.none, "")] {
      withSimulation { simulation in
        let world = World(simulation, limits)
        world.client("a", simulation.host("10.0.0.2"))
        simulation.run(for: .seconds(300))
        #expect(world.trace.text == end)
      }
    }
  }

  @Test func `the first byte has its limit, and later ones have the idle limit`() {
    withSimulation { simulation in
      let world = World(simulation, ServerLimits(idle: .seconds(60), firstByte: .seconds(10)))
      world.client("silent", simulation.host("10.0.0.2"))
      world.client("talks", simulation.host("10.0.0.3"), sendsAfter: [9, 50])
      simulation.run(for: .seconds(300))
      #expect(world.trace.text == "silent:end:10 talks:end:119")
    }
  }

  @Test func `an address has so many connections, and another one once one has ended`() {
    withSimulation { simulation in
      let world = World(simulation, ServerLimits(connectionsPerAddress: 2, idle: .seconds(10)))
      let (one, other) = (simulation.host("10.0.0.2"), simulation.host("10.0.0.3"))
      for name in ["a", "b", "c"] { world.client(name, one) }
      world.client("d", other)
      simulation.run(for: .seconds(5))
      #expect(world.trace.take() == "c:end:0")
      #expect(world.server.openDescriptorCount == 4)
      simulation.run(for: .seconds(10))
      #expect(Set(world.trace.take().split(separator: " ")) == ["a:end:10", "b:end:10", "d:end:10"])
      world.client("e", one)
      simulation.run(for: .seconds(5))
      #expect(world.trace.text == "" && world.server.openDescriptorCount == 2)
    }
  }

  @Test func `the addresses of one IPv6 network count as one`() {
    withSimulation { simulation in
      let world = World(simulation, ServerLimits(connectionsPerAddress: 1), at: "fd00:0:0:1::1")
      world.client("a", simulation.host("fd00:0:0:2::1"))
      simulation.run(for: .seconds(1))
      world.client("b", simulation.host("fd00:0:0:2::ffff"))
      world.client("c", simulation.host("fd00:0:0:3::1"))
      simulation.run(for: .seconds(1))
      #expect(world.trace.text == "b:end:1" && world.server.openDescriptorCount == 3)
    }
  }

  @Test func `a thousand connections beyond the limit of their address keep no other client waiting`() {
    withSimulation { simulation in
      let world = World(simulation, ServerLimits(connectionsPerAddress: 1))
      let (flood, other) = (simulation.host("10.0.0.2"), simulation.host("10.0.0.3"))
      for number in 0..<1_000 { world.client("\(number)", flood) }
      world.client("other", other)
      simulation.run(for: .seconds(10))
      #expect(world.trace.tokens.count == 999 && !world.trace.text.contains("other"))
      #expect(world.server.openDescriptorCount == 3)
    }
  }

  @Test func `streams that are made, connected and accepted send small pieces at once`() throws {
    func delays(_ socket: Socket) throws(SocketError) -> Bool {
      var (value, length) = (CInt(0), socklen_t(MemoryLayout<CInt>.size))
      return unsafe getsockopt(socket.descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &value, &length) == 0 && value == 0
    }
    let listener = try Listener(at: .loopback())
    let client = try Socket(family: AF_INET, .stream)
    try client.connect(to: listener.address, timeout: .seconds(10))
    let accepted = try #require(try listener.socket.accept()).socket
    for socket in [client, accepted] { #expect(try !delays(socket)) }
    try client.set(.delay)
    #expect(try delays(client))
  }
}
