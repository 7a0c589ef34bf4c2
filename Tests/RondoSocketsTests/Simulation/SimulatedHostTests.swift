import CLinux
import Dispatch
import Glibc
import Rondo
import RondoSockets
import RondoTestSupport
import RondoTesting
import Synchronization
import Testing

/// What a test does with simulated hosts: crashes, limits, faults, datagrams, code that runs its own loop.
@Suite struct SimulatedHostTests {
  private static let address = try! SocketAddress(parsing: "10.0.0.1:7007")

  /// Has a host answer each piece with itself.
  private func serveEcho(on host: Host, _ trace: Trace, idleLimit: Duration? = nil) {
    let loop = host.loop
    host.start {
      let listener = try Listener(at: Self.address)
      try await listener.serve(on: loop) { connection in
        connection.idleLimit = idleLimit
        do {
          for try await bytes in connection { try await connection.write(bytes) }
          trace.note("end")
        } catch { trace.note("\(error)") }
      }
    }
  }

  // MARK: - Crashes

  @Test func `a host that crashes says nothing, and the server's limit of idleness finds the half-open connection`() {
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let trace = Trace()
      serveEcho(on: server, trace, idleLimit: .seconds(30))
      client.start {
        let connection = try await Connection.connected(to: Self.address, on: client.loop)
        try await connection.write("a")
        _ = try await connection.read()
        try await client.loop.clock.sleep(for: .seconds(1_000))
      }
      simulation.run(for: .seconds(1))
      #expect(server.openDescriptorCount == 2)
      client.crash()
      simulation.run(for: .seconds(28))
      #expect(server.openDescriptorCount == 2)
      simulation.run(for: .seconds(3))
      #expect(trace.text == "the wait for the socket ended: the time given is over")
      #expect(server.openDescriptorCount == 1)
    }
  }

  @Test func `a host that was restarted resets the connections of before`() {
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let trace = Trace()
      serveEcho(on: server, trace)
      client.start {
        let connection = try await Connection.connected(to: Self.address, on: client.loop)
        try await client.loop.clock.sleep(for: .seconds(10))
        try await connection.write("into the void")
        do { _ = try await connection.read() } catch { trace.note("\(error) \(simulation.elapsed.components.seconds)") }
      }
      simulation.run(for: .seconds(1))
      server.crash()
      simulation.at(.seconds(100)) { server.restart() }
      simulation.run(for: .seconds(200))
      #expect(trace.text == "the peer has gone 100")
    }
  }

  // MARK: - Limits and faults

  @Test func `a server without descriptors goes on when a client has left`() {
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let trace = Trace()
      serveEcho(on: server, Trace())
      server.descriptorLimit = 3
      for number in 1...3 {
        client.start {
          let connection = try await Connection.connected(to: Self.address, on: client.loop)
          try await connection.write("\(number)")
          trace.note(String(decoding: try await connection.read() ?? [], as: UTF8.self))
          try await client.loop.clock.sleep(for: .seconds(10))
        }
      }
      simulation.run(for: .seconds(5))
      #expect(trace.text == "1 2")
      simulation.run(for: .seconds(25))
      #expect(trace.text == "1 2 3")
      #expect(server.openDescriptorCount == 1 && client.openDescriptorCount == 0)
    }
  }

  @Test func `a planned fault meets the call it was planned for, on its host`() {
    withSimulation { simulation in
      let (one, other) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      simulation.faults.fail(.socket, with: EMFILE, nth: 2, on: one)
      #expect([other, other, one, one, one].map(makesSocket) == [true, true, true, false, true])
      #expect(simulation.faults.count == 1)
    }
  }

  private func makesSocket(_ host: Host) -> Bool {
    host.run { (try? Socket(family: AF_INET, .stream)) != nil }
  }

  @Test func `bytes come whole and in order through short reads, short writes and a narrow link, by every seed`() throws
  {
    let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    for seed in 1...10 {
      try withSimulation(seed: Seed(UInt64(seed))) { simulation in
        let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
        simulation.faults.shorten(.send, oneIn: 2)
        simulation.faults.shorten(.receive, oneIn: 2)
        simulation.link(server, client).bandwidth = 1 << 20
        let received = Guarded<[UInt8]>([])
        serveEcho(on: server, Trace())
        client.start {
          let connection = try await Connection.connected(to: Self.address, on: client.loop)
          async let writing: Void = connection.write(bytes)
          while received.withLock({ $0.count }) < bytes.count, let piece = try await connection.read() {
            received.withLock { $0 += piece }
          }
          try await writing
        }
        try #require(simulation.run(until: { received.withLock { $0.count } == bytes.count }))
        #expect(received.withLock { $0 } == bytes)
        #expect(simulation.faults.count > 10)
      }
    }
  }

  // MARK: - Datagrams

  @Test func `datagrams take their time, are lost by chance, and are told from their sender`() throws {
    try withSimulation(seed: 3) { simulation in
      let (one, other) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let link = simulation.link(one, other)
      link.latency = .milliseconds(5)
      let far = try other.run { () throws -> Socket in
        let socket = try Socket(family: AF_INET, .datagram)
        try socket.bind(to: SocketAddress(parsing: "0.0.0.0:53"))
        return socket
      }
      let near = try one.run { try Socket(family: AF_INET, .datagram) }
      let target = try SocketAddress(parsing: "10.0.0.2:53")
      func send(_ count: Int) throws -> [UInt8] {
        for number in 0..<count { _ = try near.send([UInt8(number)], to: target) }
        simulation.run(for: .milliseconds(4))
        #expect(try far.receive() == .nothing)
        simulation.run(for: .milliseconds(1))
        var got: [UInt8] = []
        while case .datagram(let datagram) = try far.receive() {
          #expect(datagram.sender == near.localAddress)
          got += datagram.bytes
        }
        return got
      }
      #expect(try send(100).sorted() == Array(0..<100))
      link.losesOneIn = 4
      let some = try send(100)
      #expect((50..<95).contains(some.count))
      link.cut()
      #expect(try send(10) == [])
    }
  }

  // MARK: - Threads

  @Test func `a host's own code runs its loop, while the other hosts go on`() throws {
    try withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      serveEcho(on: server, Trace())
      let trace = Trace()
      try client.run {
        let socket = try SocketSource(connectingTo: Self.address, for: .data) { source, event in
          switch event {
          case .connected: try? source.send(Array("hello".utf8))
          case .received(let bytes):
            trace.note(String(decoding: bytes, as: UTF8.self))
            Loop.current.stop()
          default: trace.note("\(event)")
          }
        }
        #expect(Loop.current === client.loop)
        client.loop.add(socket)
        #expect(client.loop.run(for: .seconds(100)) == .stopped)
        #expect(client.loop.run(for: .seconds(100)) == .timedOut)
        socket.invalidate()
      }
      #expect(trace.text == "hello")
      #expect(simulation.elapsed > .seconds(100) && simulation.elapsed < .seconds(101))
    }
  }

  @Test func `a blocking call of one host lets the others go on`() throws {
    try withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      serveEcho(on: server, Trace())
      simulation.run(for: .milliseconds(1))
      try client.run {
        let socket = try Socket(family: AF_INET, .stream)
        try socket.connect(to: Self.address, timeout: .seconds(1))
        let before = simulation.elapsed
        // What comes back is not read, so in the end neither side can send.
        #expect(throws: SocketError.timedOut) {
          try socket.send([UInt8](repeating: 1, count: 1_000_000), timeout: .seconds(1))
        }
        #expect(simulation.elapsed >= before + .seconds(1))
        #expect(try socket.receive() != .nothing)
      }
    }
  }

  @Test func `a socket that another thread lets go of is closed`() {
    withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      let socket = Guarded<Socket?>(host.run { try? Socket(family: AF_INET, .stream) })
      #expect(host.openDescriptorCount == 1)
      onAnotherThread { socket.withLock { $0 = nil } }
      simulation.run(for: .zero)
      #expect(host.openDescriptorCount == 0)
    }
  }

  @Test func `a call from another thread ends the program with a message`() async {
    await #expect(processExitsWith: .failure) { useElsewhere() }
  }

  @Test func `a task that polls without end, and an address that others cannot reach, end the program`() async {
    await #expect(processExitsWith: .failure) { pollForEver() }
    await #expect(processExitsWith: .failure) { makeHost("127.0.0.1") }
    await #expect(processExitsWith: .failure) { makeHost("somewhere") }
  }

  @Test func `a host that ends itself runs to its next wait, and no further`() {
    withSimulation { simulation in
      let (one, other) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let trace = Trace()
      for (host, end) in [(one, "crash"), (other, "signal")] {
        host.start {
          let socket = try Socket(family: AF_INET, .stream)
          if end == "crash" { host.crash() } else { host.send(signal: SIGKILL) }
          trace.note("\(end) \((try? socket.receive()) == nil)")
          try await host.loop.clock.sleep(for: .seconds(1))
          trace.note("not reached")
        }
      }
      simulation.run(for: .seconds(10))
      #expect(trace.tokens == ["crash true", "signal true"])
      #expect(one.isDown && !other.isDown)
      #expect(one.openDescriptorCount == 0 && other.openDescriptorCount == 0)
      // Both go on with another process.
      one.restart()
      for host in [one, other] { host.start { trace.note(host.address) } }
      simulation.run(for: .zero)
      #expect(trace.tokens.suffix(2) == ["10.0.0.1", "10.0.0.2"])
    }
  }

  @Test func `whether a socket is ready is asked without a turn of any host`() throws {
    try withSimulation { simulation in
      let (one, other) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let (near, far) = try one.run { try Socket.pair() }
      let trace = Trace()
      other.loop.perform { trace.note("turn") }
      #expect(rondo_is_ready(near.descriptor, 0) == 0 && rondo_is_ready(near.descriptor, 1) != 0)
      #expect(rondo_has_hung_up(near.descriptor) == 0)
      #expect(trace.text == "")
      simulation.run(for: .zero)
      #expect(trace.text == "turn")
      _ = far
    }
  }

  @Test func `a real loop refuses a simulated socket`() throws {
    try withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      let (near, far) = try host.run { try Socket.pair() }
      // Outside of `run` the thread has its own loop.
      let source = try Loop.DescriptorSource(near.descriptor, for: .read) { _, _ in }
      Loop.current.add(source)
      Loop.current.run(for: .zero)
      #expect(source.invalidationReason == .refused(errno: EBADF))
      _ = far
    }
  }

  @Test func `a socket that outlives its simulation is closed for all calls`() throws {
    let socket = try withSimulation { simulation in
      try simulation.host("10.0.0.1").run { try Socket(family: AF_INET, .stream) }
    }
    #expect(throws: SocketError.self) { try socket.receive() }
    let real = try Socket(family: AF_INET, .stream)
    #expect(real.descriptor < RONDO_FIRST_SIMULATED && socket.descriptor >= RONDO_FIRST_SIMULATED)
  }

  @Test(.offThePool) func `a socket that outlives its simulation is no other's, while others begin and end`() throws {
    let socket = try withSimulation { simulation in
      try simulation.host("10.0.0.1").run { try Socket(family: AF_INET, .stream) }
    }
    let answers = Atomic(0)
    let isOver = Atomic(false)
    let (hasBegun, hasStopped) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    DispatchQueue(label: "another thread").async {
      hasBegun.signal()
      while !isOver.load(ordering: .relaxed) {
        if (try? socket.receive()) != nil { answers.add(1, ordering: .relaxed) }
      }
      hasStopped.signal()
    }
    hasBegun.wait()
    for _ in 0..<50_000 { withSimulation { _ in } }
    isOver.store(true, ordering: .relaxed)
    hasStopped.wait()
    #expect(answers.load(ordering: .relaxed) == 0)
  }
}

/// Calls `body` on a thread of its own, and waits.
func onAnotherThread(_ body: @escaping @Sendable () -> Void) {
  let isDone = DispatchSemaphore(value: 0)
  DispatchQueue(label: "another thread").async {
    body()
    isDone.signal()
  }
  isDone.wait()
}

private func useElsewhere() {
  withSimulation { simulation in
    let host = simulation.host("10.0.0.1")
    let socket = host.run { try! Socket(family: AF_INET, .stream) }
    onAnotherThread { _ = try? socket.receive() }
  }
}

private func pollForEver() {
  withSimulation { simulation in
    simulation.host("10.0.0.1").start { while !Task.isCancelled { await Task.yield() } }
    simulation.run(for: .seconds(1))
  }
}

private func makeHost(_ address: String) {
  withSimulation { simulation in _ = simulation.host(address) }
}
