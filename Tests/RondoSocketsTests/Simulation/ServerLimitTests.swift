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

    /// What an inspector shows of the server; nil once that has ended.
    var figures: ServerFigures? { ShownServers.all.first { $0.name == "\(address!)" }?.figures }

    /// The limits that were met.
    var met: String { figures?.met ?? "ended" }

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
      let world = World(simulation, ServerLimits(idle: .seconds(60), firstByte: .seconds(10)), at: "10.7.0.1")
      world.client("silent", simulation.host("10.0.0.2"))
      world.client("talks", simulation.host("10.0.0.3"), sendsAfter: [9, 50])
      simulation.run(for: .seconds(300))
      #expect(world.trace.text == "silent:end:10 talks:end:119")
      #expect(world.met == "idle 1, firstByte 1" && world.figures?.accepted == 2 && world.figures?.connections == 0)
    }
  }

  @Test func `an address has so many connections, and another one once one has ended`() {
    withSimulation { simulation in
      let world = World(simulation, ServerLimits(connectionsPerAddress: 2, idle: .seconds(10)), at: "10.7.0.2")
      let (one, other) = (simulation.host("10.0.0.2"), simulation.host("10.0.0.3"))
      for name in ["a", "b", "c"] { world.client(name, one) }
      world.client("d", other)
      simulation.run(for: .seconds(5))
      #expect(world.trace.take() == "c:end:0")
      #expect(world.server.openDescriptorCount == 4)
      #expect(world.met == "connectionsPerAddress 1" && world.figures?.accepted == 3 && world.figures?.connections == 3)
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

  @Test func `a server that is full accepts the next client when one has ended, and counts how often it was full`() {
    withSimulation { simulation in
      let world = World(simulation, ServerLimits(connections: 1, idle: .seconds(10)), at: "10.7.0.3")
      let host = simulation.host("10.0.0.2")
      for name in ["a", "b", "c"] { world.client(name, host) }
      simulation.run(for: .seconds(5))
      #expect(world.figures?.connections == 1 && world.figures?.mostConnections == 1 && world.met == "connections 1")
      simulation.run(for: .seconds(60))
      #expect(world.trace.text == "a:end:10 b:end:20 c:end:30")
      #expect(world.met == "connections 3, idle 3" && world.figures?.accepted == 3)
    }
  }

  @Test func `a limit that ends a read and a write at a time is met once`() {
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.7.0.4"), simulation.host("10.0.0.2"))
      let (serverLoop, clientLoop) = (server.loop, client.loop)
      let trace = Trace()
      let address = try! SocketAddress(parsing: "10.7.0.4:7")
      server.start {
        try await Listener(at: address).serve(on: serverLoop, limits: ServerLimits(idle: .seconds(5))) { connection in
          let tasks = [
            Task(executorPreference: serverLoop) { _ = try await connection.read() },
            Task(executorPreference: serverLoop) {
              try await connection.write([UInt8](repeating: 0, count: 10_000_000))
            },
          ]
          for task in tasks {
            guard case .failure(let error) = await task.result else { continue }
            trace.note("\(error as? ConnectionError == .wait(.timedOut))")
          }
        }
      }
      client.start {
        let connection = try await Connection.connected(to: address, on: clientLoop)
        try await clientLoop.clock.sleep(for: .seconds(60))
        connection.close()
      }
      simulation.run(for: .seconds(20))
      #expect(trace.tokens == ["true", "true"])
      #expect(ShownServers.all.first { $0.name == "\(address)" }?.figures.met == "idle 1")
    }
  }

  @Test func `a deadline of the program's is no limit of the server's`() {
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.7.0.5"), simulation.host("10.0.0.2"))
      let (serverLoop, clientLoop) = (server.loop, client.loop)
      let trace = Trace()
      let address = try! SocketAddress(parsing: "10.7.0.5:7")
      server.start {
        try await Listener(at: address).serve(on: serverLoop) { connection in
          connection.deadline = serverLoop.clock.now + .seconds(5)
          do { _ = try await connection.read() } catch { trace.note("\(simulation.elapsed.components.seconds)") }
        }
      }
      client.start {
        let connection = try await Connection.connected(to: address, on: clientLoop)
        while try await connection.read() != nil {}
      }
      simulation.run(for: .seconds(20))
      let figures = ShownServers.all.first { $0.name == "\(address)" }?.figures
      #expect(trace.text == "5" && figures?.met == "" && figures?.accepted == 1)
    }
  }

  @Test func `a deadline of the server's that ends a read of records without data is counted, too`() {
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.7.0.7"), simulation.host("10.0.0.2"))
      let (serverLoop, clientLoop) = (server.loop, client.loop)
      let trace = Trace()
      let address = try! SocketAddress(parsing: "10.7.0.7:7")
      server.start {
        try await Listener(at: address).serve(on: serverLoop) { connection in
          let connection = try connection.covered { carrier, _ in Swallower(over: carrier) }
          try await serverLoop.clock.sleep(for: .seconds(5))
          connection.setDeadline(serverLoop.clock.now, of: .headTime)
          do { _ = try await connection.read() } catch {
            trace.note("\(error as? ConnectionError == .wait(.timedOut))")
          }
        }
      }
      client.start {
        let connection = try await Connection.connected(to: address, on: clientLoop)
        try await connection.write("no data")
        while try await connection.read() != nil {}
      }
      simulation.run(for: .seconds(20))
      let figures = ShownServers.all.first { $0.name == "\(address)" }?.figures
      #expect(trace.text == "true" && figures?.met == "headTime 1")
    }
  }

  @Test func `a server that drains says so and how many are left, and one that has ended is not shown`() {
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.7.0.6"), simulation.host("10.0.0.2"))
      let (serverLoop, clientLoop) = (server.loop, client.loop)
      let address = try! SocketAddress(parsing: "10.7.0.6:7")
      let serving = server.start {
        try await Listener(at: address).serve(on: serverLoop, grace: .seconds(30)) { connection in
          while try await connection.awaitRequest(), try await connection.readLine() != nil {}
        }
      }
      for number in 0..<5 {
        client.start {
          let connection = try await Connection.connected(to: address, on: clientLoop)
          try await connection.write(number < 2 ? "half of a line" : "a line\n")
          _ = try await connection.read()
        }
      }
      func figures() -> ServerFigures? { ShownServers.all.first { $0.name == "\(address)" }?.figures }
      simulation.run(for: .seconds(5))
      #expect(figures()?.isDraining == false && figures()?.connections == 5)
      serving.cancel()
      simulation.run(for: .seconds(5))
      #expect(figures()?.isDraining == true && figures()?.connections == 2 && figures()?.accepted == 5)
      simulation.run(for: .seconds(30))
      #expect(figures() == nil)
    }
  }

  @Test func `a connection has the limits of the server that has accepted it, under a layer, too`() async throws {
    try await withLoop { loop in
      let limits = ServerLimits(headBytes: 77)
      let listener = try Listener(at: .loopback())
      let found = Trace()
      let serving = Task {
        try await listener.serve(on: loop, limits: limits) { connection in
          found.note("\(connection.server.limits == limits)")
          let layer = try connection.covered { carrier, _ in Records(over: carrier) }
          found.note("\(layer.server.limits == limits)")
        }
      }
      let client = try await Connection.connected(to: listener.address, on: loop)
      #expect(client.server.limits == ServerLimits())
      while try await client.read() != nil {}
      serving.cancel()
      try await serving.value
      #expect(found.text == "true true")
    }
  }

  /// Limits that no client can keep, by what names them in the message.
  static let impossible: [(name: String, limits: ServerLimits)] = [
    ("a time, not 0", ServerLimits(connections: 0)), ("an address, not 0", ServerLimits(connectionsPerAddress: 0)),
    ("idle: ", ServerLimits(idle: .zero)), ("firstByte: ", ServerLimits(firstByte: .seconds(-1))),
    ("headBytes: ", ServerLimits(headBytes: 0)), ("headTime: ", ServerLimits(headTime: .zero)),
    ("bodyBytes: ", ServerLimits(bodyBytes: -1)), ("bodyTime: ", ServerLimits(bodyTime: .zero)),
    ("unreadBytes: ", ServerLimits(unreadBytes: -1)), ("one request, not 0", ServerLimits(requests: 0)),
  ]

  @Test(.offThePool, arguments: impossible.indices)
  func `limits that no client can keep end the process, and the message names the one`(_ index: Int) async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [index] in
      let (thread, impossible) = (try LoopThread(name: "limits"), ServerLimitTests.impossible)
      try await Listener(at: .loopback()).serve(on: thread.loop, limits: impossible[index].limits) { _ in }
    }
    let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains(Self.impossible[index].name))
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

extension ServerFigures {
  /// The limits that were met, and how often.
  fileprivate var met: String {
    limits.filter { $0.count > 0 }.map { "\($0.name) \($0.count)" }.joined(separator: ", ")
  }
}

/// A layer that makes no data of what comes.
private final class Swallower: TransportLayer {
  private let carrier: Transport

  init(over carrier: Transport) {
    self.carrier = carrier
  }

  func receive(limit: Int, into inbox: inout [UInt8]) throws(ConnectionError) -> Transfer {
    var dropped: [UInt8] = []
    guard case .moved = try carrier.receive(limit: limit, into: &dropped) else { return .blocked }
    return .moved(0, mayGoOn: true)
  }

  func send(_ bytes: RawSpan) throws(ConnectionError) -> Transfer { try carrier.send(bytes) }
  func sendUncounted() throws(ConnectionError) -> Transfer? { nil }
  var hasUncounted: Bool { false }
  func finish() throws(ConnectionError) -> Bool { true }
  func close() { carrier.close() }
}
