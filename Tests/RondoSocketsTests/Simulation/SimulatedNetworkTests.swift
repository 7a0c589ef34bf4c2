import Glibc
import Rondo
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

/// Sockets of simulated hosts: what they do is what the kernel's do, in virtual time.
@Suite struct SimulatedNetworkTests {
  private let serverAddress = try! SocketAddress(parsing: "10.0.0.1:7007")

  /// Has a host serve, and answer each piece with itself.
  private func serveEcho(on host: Host, _ trace: Trace? = nil) throws {
    let address = serverAddress
    let loop = host.loop
    host.start {
      let listener = try Listener(at: address)
      try await listener.serve(on: loop) { connection in
        do {
          for try await bytes in connection { try await connection.write(bytes) }
          trace?.note("end")
        } catch {
          trace?.note("\(error)")
        }
      }
    }
  }

  @Test func `a round trip takes as long as its link, and a connection's handshake one more`() throws {
    try withSimulation { simulation in
      let server = simulation.host("10.0.0.1")
      let client = simulation.host("10.0.0.2")
      simulation.link(server, client).latency = .milliseconds(20)
      try serveEcho(on: server)
      let trace = Trace()
      let (address, loop) = (serverAddress, client.loop)
      client.start {
        let connection = try await Connection.connected(to: address, on: loop)
        trace.note("connected \(simulation.milliseconds)")
        try await connection.write(Array("hello".utf8))
        let answer = try await connection.read() ?? []
        trace.note("\(String(decoding: answer, as: UTF8.self)) \(simulation.milliseconds)")
        trace.note("\(connection.socket!.localAddress!) \(connection.peer!)")
      }
      simulation.run(for: .seconds(1))
      #expect(trace.tokens == ["connected 40", "hello 80", "10.0.0.2:32768 10.0.0.1:7007"])
      #expect(simulation.elapsed == .seconds(1))
    }
  }

  // MARK: - Connecting

  /// How an attempt to connect ends, and after how many milliseconds.
  private func attempt(_ simulation: Simulation, from client: Host, to address: String, for duration: Duration) throws
    -> String
  {
    let trace = Trace()
    let address = try SocketAddress(parsing: address)
    client.start {
      do {
        let connection = try await Connection.connected(to: address, on: client.loop)
        trace.note("connected \(simulation.milliseconds)")
        connection.close()
      } catch {
        trace.note("\(error) \(simulation.milliseconds)")
      }
    }
    simulation.run(for: duration)
    return trace.text
  }

  @Test func `a port without a listener refuses after a round trip`() throws {
    try withSimulation { simulation in
      let (one, other) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      simulation.link(one, other).latency = .milliseconds(30)
      let text = try attempt(simulation, from: one, to: "10.0.0.2:80", for: .seconds(1))
      #expect(text == "nobody listens at 10.0.0.2:80 60")
    }
  }

  @Test func `an address of no host is out of reach after three seconds`() throws {
    try withSimulation { simulation in
      let text = try attempt(simulation, from: simulation.host("fd00::1"), to: "[fd00::2]:80", for: .seconds(10))
      #expect(text == "the host cannot be reached 3000")
    }
  }

  @Test func `an attempt through a cut link goes on for two minutes, and through one that is healed connects`() throws {
    try withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      try serveEcho(on: server)
      simulation.partition([client])
      let never = try attempt(simulation, from: client, to: "10.0.0.1:7007", for: .seconds(200))
      #expect(never.hasSuffix(" 127000") || never.hasSuffix(" 127001"), "\(never)")
      simulation.at(.seconds(210)) { simulation.heal() }
      let late = try attempt(simulation, from: client, to: "10.0.0.1:7007", for: .seconds(100))
      // The attempts are 1, 2, 4 and 8 seconds apart.
      #expect(late.hasPrefix("connected 2150"), "\(late)")
    }
  }

  // MARK: - Bytes

  /// A connection of two hosts, each end on its host's loop.
  private func connected(_ simulation: Simulation) throws -> (near: Connection, far: Connection, hosts: [Host]) {
    let hosts = [simulation.host("10.0.0.1"), simulation.host("10.0.0.2")]
    let ends = Guarded<[Connection]>([])
    let address = serverAddress
    hosts[0].start {
      let listener = try Listener(at: address)
      for try await connection in try listener.connections(on: hosts[0].loop) {
        return ends.withLock { $0.append(connection) }
      }
    }
    hosts[1].start {
      let connection = try await Connection.connected(to: address, on: hosts[1].loop)
      ends.withLock { $0.append(connection) }
    }
    try #require(simulation.run(until: { ends.withLock { $0.count == 2 } }))
    let made = ends.withLock { $0 }
    let near = try #require(made.first { $0.loop === hosts[0].loop })
    let far = try #require(made.first { $0.loop === hosts[1].loop })
    return (near, far, hosts)
  }

  @Test func `bytes take as long as the bandwidth says, and wait where the peer does not read`() throws {
    try withSimulation { simulation in
      let (near, far, hosts) = try connected(simulation)
      simulation.link(hosts[0], hosts[1]).bandwidth = 1_000_000
      let trace = Trace()
      let start = simulation.milliseconds
      hosts[0].start {
        try await near.write([UInt8](repeating: 7, count: 1_000_000))
        trace.note("written \(simulation.milliseconds - start)")
      }
      simulation.run(for: .seconds(5))
      #expect(trace.text == "")
      hosts[1].start {
        var count = 0
        while count < 1_000_000, let bytes = try await far.read() { count += bytes.count }
        trace.note("read \(count) \(simulation.milliseconds - start)")
      }
      simulation.run(for: .seconds(5))
      let words = trace.text.split(separator: " ")
      try #require(words.count == 5)
      // All but the first 65,536 bytes at 1 MB/s, after five seconds.
      #expect((5_800...5_940).contains(Int(words[1])!), "\(words)")
      #expect(words[3] == "1000000")
      #expect((5_900...5_950).contains(Int(words[4])!), "\(words)")
    }
  }

  @Test func `what is sent through a cut link arrives once it is healed, or ends the connection after 15 minutes`()
    throws
  {
    try withSimulation { simulation in
      let (near, far, hosts) = try connected(simulation)
      let link = simulation.link(hosts[0], hosts[1])
      let trace = Trace()
      hosts[1].start {
        do {
          for try await bytes in far {
            trace.note("\(String(decoding: bytes, as: UTF8.self)) \(simulation.elapsed.components.seconds)")
          }
        } catch { trace.note("far: \(error)") }
      }
      hosts[0].start {
        link.cut()
        try await near.write("one")
        try await hosts[0].loop.clock.sleep(for: .seconds(60))
        try await near.write("two")
        try await hosts[0].loop.clock.sleep(for: .seconds(60))
        link.heal()
        try await hosts[0].loop.clock.sleep(for: .seconds(60))
        link.cut()
        try await near.write("lost")
        do { _ = try await near.read() } catch { trace.note("near: \(error) \(simulation.elapsed.components.seconds)") }
      }
      simulation.run(for: .seconds(7_200))
      #expect(trace.tokens == ["onetwo 120", "near: \(ConnectionError.wait(.timedOut)) 1104"])
    }
  }

  @Test func `a link that is reset breaks its connections at both ends, and no other`() throws {
    try withSimulation { simulation in
      let (near, far, hosts) = try connected(simulation)
      let (one, other) = try hosts[0].run { try Socket.pair() }
      let trace = Trace()
      for (name, connection, host) in [("near", near, hosts[0]), ("far", far, hosts[1])] {
        host.start {
          do { _ = try await connection.read() } catch { trace.note("\(name): \(error)") }
        }
      }
      simulation.run(for: .seconds(1))
      simulation.link(hosts[0], hosts[1]).reset()
      simulation.run(for: .seconds(1))
      #expect(trace.tokens.sorted() == ["far: the peer has gone", "near: the peer has gone"])
      #expect(try one.send([1]) == 1 && other.receive() == .bytes([1]))
    }
  }

  @Test func `a connection that fails before it is accepted is the client's loss alone`() throws {
    try withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      try serveEcho(on: server)
      // The first call finds nothing, before any client has come.
      simulation.faults.fail(.accept, with: ECONNABORTED, nth: 2)
      let (trace, address) = (Trace(), serverAddress)
      for name in ["first", "second"] {
        client.start {
          do {
            let connection = try await Connection.connected(to: address, on: client.loop)
            try await connection.write(name)
            trace.note(String(decoding: try await connection.read() ?? [], as: UTF8.self))
          } catch { trace.note("\(name): \(error)") }
        }
        simulation.run(for: .seconds(1))
      }
      #expect(trace.tokens == ["first: the peer has gone", "second"])
    }
  }
}

extension Simulation {
  /// The virtual milliseconds since the scope began.
  var milliseconds: Int64 {
    elapsed.components.seconds * 1_000 + elapsed.components.attoseconds / 1_000_000_000_000_000
  }
}
