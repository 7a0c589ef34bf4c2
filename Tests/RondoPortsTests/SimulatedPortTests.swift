import Rondo
import RondoPorts
import RondoTesting
import Testing

/// Message ports of one simulated host: their sockets are simulated, the names' locks are files.
@Suite struct SimulatedPortTests {
  @Test(arguments: 0...20)
  func `requests through short reads and writes get their answers, in runs of one loop`(_ seed: UInt64) throws {
    try withSimulation(seed: seed == 0 ? nil : Seed(seed)) { simulation in
      let host = simulation.host("10.0.0.1")
      simulation.faults.shorten(.send, oneIn: 3)
      simulation.faults.shorten(.receive, oneIn: 3)
      try host.run {
        let name = try uniqueName()
        let port = try LocalMessagePort(answering: name) { $0.bytes.reversed() }
        host.loop.add(port, to: "asking")
        let remote = try RemoteMessagePort(name)
        for count in [1, 1_000, 100_000] {
          let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
          let answer = try remote.request(
            bytes, sendTimeout: .seconds(60), replyTimeout: .seconds(60), running: "asking")
          #expect(answer == bytes.reversed())
        }
        remote.invalidate()
        port.invalidate()
      }
      simulation.run(for: .seconds(1))
      #expect(host.openDescriptorCount == 0)
      #expect(simulation.elapsed < .seconds(10))
    }
  }

  @Test func `a request that is not answered ends at its virtual time`() throws {
    try withSimulation { simulation in
      let host = simulation.host("10.0.0.1")
      try host.run {
        let name = try uniqueName()
        let port = try LocalMessagePort(name) { _ in }
        // In no mode that is run.
        host.loop.add(port, to: "never")
        host.loop.add(Loop.Source {}, to: "asking")
        let remote = try RemoteMessagePort(name)
        #expect(throws: MessagePortError.replyTimedOut) {
          try remote.request([1], sendTimeout: .seconds(60), replyTimeout: .seconds(60), running: "asking")
        }
        #expect(simulation.elapsed == .seconds(60))
        remote.invalidate()
        port.invalidate()
      }
    }
  }
}
