import Rondo
import RondoSockets
import RondoTLS
import RondoTesting
import Synchronization
import Testing

/// TLS between simulated hosts.
@Suite struct TLSSimulationTests {
  @Test(arguments: 1...20)
  func `a secured server echoes through short reads, short writes and a slow link`(_ seed: UInt64) throws {
    let data = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    try withSimulation(seed: Seed(seed)) { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      simulation.faults.shorten(.send, oneIn: 3)
      simulation.faults.shorten(.receive, oneIn: 3)
      simulation.link(server, client).latency = .milliseconds(40)
      let address = try SocketAddress(parsing: "10.0.0.1:443")
      let (serverContext, clientContext) = (try Certificates.server(), try Certificates.client())
      let received = Mutex<[UInt8]>([])
      let isOver = Mutex(false)
      server.start {
        let listener = try Listener(at: address)
        try await listener.serve(on: server.loop) { connection in
          let connection = try await connection.secured(by: serverContext)
          for try await bytes in connection { try await connection.write(bytes) }
        }
      }
      client.start {
        let plain = try await Connection.connected(to: address, on: client.loop)
        let connection = try await plain.secured(as: "rondo.test", by: clientContext)
        async let writing: Void = {
          try await connection.write(data)
          try await connection.finishWriting()
        }()
        while let bytes = try await connection.read() { received.withLock { $0 += bytes } }
        try await writing
        isOver.withLock { $0 = true }
      }
      #expect(simulation.run(until: { isOver.withLock { $0 } }))
      #expect(received.withLock { $0 } == data)
      #expect(simulation.faults.count > 0)
      simulation.run(for: .seconds(1))
      #expect(server.openDescriptorCount == 1 && client.openDescriptorCount == 0)
    }
  }
}
