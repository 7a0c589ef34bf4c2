import Glibc
import Rondo
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

/// What a path between simulated hosts does to packets, and signals to calls.
@Suite struct SimulatedPathTests {
  private let address = try! SocketAddress(parsing: "10.0.0.1:53")

  /// What arrives of so many datagrams that are sent one by one, in the order in which it arrives.
  private func arrivals(
    of count: Int, bytes: Int = 1, seed: Seed?, _ change: (Link) -> Void
  ) throws -> [UInt8] {
    try withSimulation(seed: seed) { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      change(simulation.link(server, client))
      let far = try server.run { () throws -> Socket in
        let socket = try Socket(family: AF_INET, .datagram)
        try socket.bind(to: address)
        return socket
      }
      let near = try client.run { try Socket(family: AF_INET, .datagram) }
      for number in 0..<count {
        simulation.at(.milliseconds(10 * number)) {
          _ = try? near.send([UInt8](repeating: UInt8(number), count: bytes), to: address)
        }
      }
      simulation.run(for: .seconds(10))
      var received: [UInt8] = []
      while case .datagram(let datagram) = try far.receive() { received.append(datagram.bytes[0]) }
      return received
    }
  }

  @Test func `without a seed each datagram arrives once, in its order`() throws {
    let found = try arrivals(of: 20, seed: nil) { ($0.duplicatesOneIn, $0.delaysOneIn, $0.losesOneIn) = (2, 2, 2) }
    #expect(found == Array(0..<20))
  }

  @Test(.seeds(20)) func `datagrams arrive twice, by the seed`() throws {
    let found = try arrivals(of: 100, seed: .current) { $0.duplicatesOneIn = 4 }
    #expect(Set(found).count == 100)
    #expect((105...150).contains(found.count))
    #expect(found == found.sorted())
  }

  @Test(.seeds(20)) func `datagrams overtake each other, by the seed`() throws {
    let found = try arrivals(of: 100, seed: .current) {
      $0.latency = .milliseconds(20)
      $0.delaysOneIn = 4
    }
    #expect(found.count == 100 && found != found.sorted())
  }

  @Test func `a datagram is lost with each of its fragments`() throws {
    func lost(_ mtu: Int?) throws -> Int {
      try (1...5).reduce(0) { sum, seed in
        try sum + 100
          - arrivals(of: 100, bytes: 1_400, seed: Seed(UInt64(seed))) {
            $0.losesOneIn = 20
            $0.mtu = mtu
          }.count
      }
    }
    let (whole, parted) = (try lost(nil), try lost(160))
    #expect((5...60).contains(whole))
    // Of eleven fragments one is lost in two cases of five.
    #expect((150...280).contains(parted))
  }

  @Test func `bytes of a stream arrive in packets of its path`() {
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let link = simulation.link(server, client)
      (link.mtu, link.bandwidth) = (1_500, 1_000_000)
      let sizes = Guarded<[Int]>([])
      let address = address
      server.start {
        let listener = try Listener(at: address)
        try await listener.serve(on: server.loop) { connection in
          while let bytes = try await connection.read() { sizes.withLock { $0.append(bytes.count) } }
        }
      }
      client.start {
        let connection = try await Connection.connected(to: address, on: client.loop)
        try await connection.write([UInt8](repeating: 1, count: 4_000))
        try await connection.finishWriting()
      }
      simulation.run(for: .seconds(1))
      #expect(sizes.withLock { $0 } == [1_460, 1_460, 1_080])
    }
  }

  @Test(.seeds(20)) func `calls that a signal interrupts are made again`() {
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      for call in [Faults.Call.accept, .send, .receive, .connect] {
        simulation.faults.fail(call, with: EINTR, oneIn: 2)
      }
      let trace = Trace()
      let address = address
      server.start {
        let listener = try Listener(at: address)
        try await listener.serve(on: server.loop) { connection in
          while let bytes = try await connection.read() { try await connection.write(bytes) }
        }
      }
      client.start {
        for number in 1...5 {
          let connection = try await Connection.connected(to: address, on: client.loop)
          try await connection.write([UInt8(number)])
          trace.note("\(try await connection.read() ?? [])")
          connection.close()
        }
      }
      simulation.run(for: .seconds(1))
      #expect(trace.text == "[1] [2] [3] [4] [5]")
      #expect(simulation.faults.count > 0)
    }
  }
}
