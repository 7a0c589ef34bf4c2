import CLinux
import Glibc
import Rondo
import RondoSockets
import RondoTesting
import Testing

/// What a listener and those who connect do where calls fail for good, or a queue is full.
@Suite struct SimulatedListenerTests {
  private static let address = try! SocketAddress(parsing: "10.0.0.1:7007")
  private static let path = try! SocketAddress(parsing: "/tmp/of-nobody")

  // MARK: - Accepting

  @Test(arguments: [EPERM, ETIMEDOUT, ENOSR])
  func `a server that may accept nobody pauses, hears its cancellation, and goes on when it may`(_ errno: CInt) {
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let (serverLoop, clientLoop) = (server.loop, client.loop)
      let trace = Trace()
      let serving = server.start {
        try await Listener(at: Self.address).serve(on: serverLoop) { connection in
          trace.note("served")
          _ = try await connection.read()
        }
        trace.note("ended")
      }
      simulation.faults.fail(.accept, with: errno, from: 1)
      client.start {
        _ = try await Connection.connected(to: Self.address, on: clientLoop)
        try await clientLoop.clock.sleep(for: .seconds(100))
      }
      server.run { _ = serverLoop.add(Loop.Timer(after: .seconds(1)) { _ in trace.note("timer") }) }
      simulation.run(for: .seconds(10))
      // Sixteen at once, then after 10, 20, … 640 ms, then each second.
      let tries = simulation.faults.count(of: .accept)
      #expect(tries == 17 + 7 + 8)
      simulation.faults.clear()
      simulation.run(for: .seconds(1))
      simulation.faults.fail(.accept, with: errno, from: 1)
      client.start { _ = try await Connection.connected(to: Self.address, on: clientLoop) }
      simulation.run(for: .seconds(1))
      serving.cancel()
      simulation.run(for: .zero)
      #expect(trace.tokens == ["timer", "served", "ended"])
    }
  }

  @Test func `a source that may accept nobody pauses, tells why, and goes on when it may`() {
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let (serverLoop, clientLoop) = (server.loop, client.loop)
      let trace = Trace()
      simulation.faults.fail(.accept, with: EPERM, from: 1)
      server.run {
        let source = SocketSource(try! .listening(at: Self.address), for: .accept) { _, event in trace.note(event.word)
        }
        serverLoop.add(source)
      }
      client.start {
        _ = try await Connection.connected(to: Self.address, on: clientLoop)
        try await clientLoop.clock.sleep(for: .seconds(100))
      }
      simulation.run(for: .milliseconds(50))
      let tries = simulation.faults.count(of: .accept)
      #expect(tries == 19)
      simulation.faults.clear()
      simulation.run(for: .seconds(1))
      let pauses = [0.01, 0.02, 0.04].map { "paused(not permitted, \($0) seconds)" }
      #expect(trace.tokens == pauses + ["accepted"])
    }
  }

  @Test func `a socket that does not listen makes no listener`() throws {
    let socket = try Socket(family: AF_INET, .stream)
    try socket.bind(to: .loopback())
    #expect(throws: SocketError.system(.listen, errno: EINVAL)) { try Listener(socket) }
    try socket.listen()
    let listener = try Listener(socket)
    #expect(listener.address == socket.localAddress)
  }

  @Test func `a datagram socket accepts nobody, and says so`() throws {
    let socket = try Socket.datagram(at: .loopback())
    #expect(throws: SocketError.system(.accept, errno: EOPNOTSUPP)) { try socket.accept() }
    #expect(throws: SocketError.system(.listen, errno: EOPNOTSUPP)) { try Listener(socket) }
  }

  @Test func `nil of accept means that none waits: connections that failed are left out`() throws {
    try withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      simulation.faults.fail(.accept, with: EPERM, nth: 1)
      simulation.faults.fail(.accept, with: EHOSTUNREACH, nth: 1)
      try host.run {
        let listener = try Socket.listening(at: Self.address)
        let client = try Socket(family: AF_INET, .stream)
        try client.connect(to: Self.address, timeout: .seconds(1))
        let first = try listener.accept()
        #expect(first != nil)
        let second = try listener.accept()
        #expect(second == nil)
        simulation.faults.fail(.accept, with: EPERM, from: 1)
        do {
          _ = try listener.accept()
          Issue.record("The listener is not permitted to accept.")
        } catch {
          #expect(error as? SocketError == .notPermitted)
        }
        withExtendedLifetime(client) {}
      }
    }
  }

  // MARK: - The stop

  /// What clients get that wait in a listener's queue when it stops, and cannot accept at first.
  private func stopListener(
    for duration: Duration = .seconds(5_000), _ fail: @escaping @Sendable (Simulation, Host) -> Void
  ) -> [String] {
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let (serverLoop, clientLoop) = (server.loop, client.loop)
      let trace = Trace()
      for _ in 0..<10 {
        client.start {
          do {
            let connection = try await Connection.connected(to: Self.address, on: clientLoop)
            try await connection.write([7])
            trace.note(try await connection.read() == [7] ? "served" : "end")
          } catch { trace.note("\(error)") }
        }
      }
      server.start {
        let listener = try Listener(at: Self.address)
        try await serverLoop.clock.sleep(for: .milliseconds(10))
        fail(simulation, server)
        listener.stop()
        try await listener.serve(on: serverLoop, grace: .seconds(100)) { connection in
          while try await connection.awaitRequest(), let bytes = try await connection.read() {
            try await connection.write(bytes)
          }
        }
        trace.note("stopped")
      }
      simulation.run(for: duration)
      return trace.tokens
    }
  }

  @Test func `a listener that stops serves the requests in its queue`() {
    let words = stopListener { _, _ in }
    #expect(words.count == 11 && words.filter { $0 == "served" }.count == 10, "\(words)")
  }

  @Test(arguments: [ECONNABORTED, EPERM, EHOSTUNREACH])
  func `a listener that stops accepts those behind a connection that failed`(_ errno: CInt) {
    let words = stopListener { simulation, _ in simulation.faults.fail(.accept, with: errno, nth: 3) }
    #expect(words.filter { $0 == "served" }.count == (errno == ECONNABORTED ? 9 : 10))
    #expect(words.filter { $0 == "stopped" }.count == 1)
  }

  @Test func `a listener that stops waits for descriptors for those in its queue`() {
    let words = stopListener { simulation, server in
      server.descriptorLimit = server.openDescriptorCount
      simulation.at(.seconds(2)) { server.descriptorLimit = nil }
    }
    #expect(words.filter { $0 == "served" }.count == 10, "\(words)")
    #expect(words.filter { $0 == "stopped" }.count == 1)
  }

  @Test func `a listener that stops waits for descriptors no longer than the grace`() {
    let words = stopListener(for: .seconds(120)) { _, server in server.descriptorLimit = server.openDescriptorCount }
    #expect(words.filter { $0 == "stopped" }.count == 1, "\(words)")
    #expect(words.filter { $0 == "served" }.isEmpty)
  }

  @Test func `a listener that stops and may accept nobody ends its server`() {
    let words = stopListener { simulation, _ in simulation.faults.fail(.accept, with: EPERM, from: 1) }
    #expect(words.filter { $0 == "stopped" }.count == 1)
    #expect(words.filter { $0 == "the peer has gone" }.count == 10, "\(words)")
  }

  @Test func `a stop reaches a server that waits, one that is full, and a sequence`() {
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let (serverLoop, clientLoop) = (server.loop, client.loop)
      let trace = Trace()
      let listeners = (1...3).map { number in
        server.run { try! Listener(at: try! SocketAddress(parsing: "10.0.0.1:\(number)")) }
      }
      for (listener, limit) in [(listeners[0], 10_000), (listeners[1], 1)] {
        server.start {
          try await listener.serve(on: serverLoop, limits: ServerLimits(connections: limit)) { connection in
            while try await connection.awaitRequest(), let bytes = try await connection.read() {
              try await connection.write(bytes)
            }
          }
          trace.note("limit of \(limit)")
        }
      }
      server.start {
        for try await _ in try listeners[2].connections(on: serverLoop) {}
        trace.note("sequence")
      }
      for listener in listeners[..<2] {
        client.start {
          let connection = try await Connection.connected(to: listener.address, on: clientLoop)
          try await connection.write([7])
          _ = try await connection.read()
          trace.note(try await connection.read() == nil ? "end" : "more")
        }
      }
      simulation.run(for: .seconds(1))
      #expect(trace.text == "")
      for listener in listeners {
        server.run { listener.stop() }
        simulation.run(for: .seconds(1))
      }
      #expect(listeners.map(\.isStopped) == [true, true, true])
      #expect(trace.tokens.sorted() == ["end", "end", "limit of 1", "limit of 10000", "sequence"])
    }
  }

  // MARK: - Connecting

  /// Has 20 clients connect to a Unix-domain listener with room for one, which is served from a date on; what they get.
  private func connect(timeout: Duration?, servingAfter date: Duration) -> [String] {
    withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      let loop = host.loop
      let trace = Trace()
      host.start {
        let listener = try Listener(at: Self.path, backlog: 1)
        try await loop.clock.sleep(for: date)
        try await listener.serve(on: loop) { _ = try await $0.read() }
      }
      for _ in 0..<20 {
        host.start {
          do {
            _ = try await Connection.connected(to: Self.path, on: loop, timeout: timeout)
            trace.note("connected")
          } catch { trace.note("\(error)") }
        }
      }
      simulation.run(for: .seconds(60))
      return trace.tokens
    }
  }

  @Test func `a full queue of a Unix-domain listener is waited for`() {
    let words = connect(timeout: nil, servingAfter: .seconds(5))
    #expect(words == Array(repeating: "connected", count: 20))
  }

  @Test func `who waits for a place in the queue is told when the time is over`() {
    let words = connect(timeout: .seconds(2), servingAfter: .seconds(5))
    #expect(
      words == ["connected"] + Array(repeating: "the wait for the socket ended: the time given is over", count: 19))
  }

  @Test func `a time limit of the kernel's is the same error as one of the caller's`() {
    let words: [String] = withSimulation { simulation in
      let (host, trace) = (simulation.host("10.0.0.1"), Trace())
      let loop = host.loop
      simulation.faults.fail(.connect, with: ETIMEDOUT, nth: 1)
      host.start {
        do {
          _ = try await Connection.connected(to: Self.address, on: loop)
        } catch ConnectionError.wait(.timedOut) { trace.note("timed out") }
      }
      simulation.run(for: .seconds(1))
      return trace.tokens
    }
    #expect(words == ["timed out"])
  }

  // MARK: - Datagrams

  @Test func `a datagram without bytes that finds no room is not sent`() throws {
    let (near, far) = try Socket.pair(.datagram)
    var error: SocketError?
    while error == nil {
      do throws(SocketError) { _ = try near.send([]) } catch let failure { error = failure }
    }
    #expect(error == .busy)
    withExtendedLifetime(far) {}
  }

  @Test func `a datagram waits for its receiver's room without spinning, and is told when the time is over`() {
    withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      let loop = host.loop
      let trace = Trace()
      host.start {
        let receiver = try Socket.datagram(at: Self.path)
        let sender = try Socket(family: AF_UNIX, .datagram)
        do {
          while true {
            try await sender.send(
              datagram: [UInt8](repeating: 1, count: 1_000), to: Self.path, on: loop, timeout: .seconds(1))
          }
        } catch { trace.note("\(error)") }
        withExtendedLifetime(receiver) {}
      }
      simulation.run(for: .seconds(10))
      #expect(trace.text == "the wait for the socket ended: the time given is over")
      #expect(loop.statistics.turns < 1_000)
    }
  }
}
