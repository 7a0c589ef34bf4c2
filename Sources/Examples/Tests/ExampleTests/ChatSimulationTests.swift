import Glibc
import Rondo
import RondoSockets
import RondoTesting
import Testing

@testable import rondo_chat

/// The whole of `rondo-chat` on a simulated host: its guests, one that goes without a word, and its end by SIGTERM.
@Suite struct ChatSimulationTests {
  /// What each of three guests has read, the chat's exit code, and what it has open then.
  private func play(_ seed: Seed?) throws -> (texts: [String], code: CInt, openDescriptors: Int) {
    try withSimulation(seed: seed) { simulation in
      let server = simulation.host("10.0.0.1")
      let guests = (2...4).map { simulation.host("10.0.0.\($0)") }
      simulation.faults.shorten(.send, oneIn: 3)
      simulation.faults.shorten(.receive, oneIn: 3)
      let address = try SocketAddress(parsing: "10.0.0.1:7008")
      let traces = guests.map { _ in Trace() }
      for (number, guest) in guests.enumerated() {
        let trace = traces[number]
        guest.start {
          // One after the other, so that the numbers of guests are known.
          try await guest.loop.clock.sleep(for: .seconds(number + 1))
          let connection = try await Connection.connected(to: address, on: guest.loop)
          async let saying: Void = {
            try await connection.write("/name \(["Anna", "Bert", "Carl"][number])\n")
            try await guest.loop.clock.sleep(for: .seconds(10))
            try await connection.write("I am number \(number)\n")
          }()
          for try await line in connection.lines() { trace.note(line) }
          trace.note("the end")
          try await saying
        }
      }
      simulation.at(.seconds(30)) { guests[2].crash() }
      simulation.at(.seconds(60)) { server.send(signal: SIGTERM) }
      let options = Options(["rondo-chat", "--listen", "10.0.0.1:7008", "--grace", "5"])!
      let code = try server.run { try serve(options, on: server.loop) }
      simulation.run(for: .seconds(10))
      return (traces.map(\.text), code, server.openDescriptorCount)
    }
  }

  @Test func `guests hear each other, and all that listen hear of the end`() throws {
    let (texts, code, openDescriptors) = try play(nil)
    // The source of SIGUSR1 is in the loop until the process ends.
    #expect(code == 0 && openDescriptors == 1)
    #expect(
      texts[0] == """
        * Welcome, guest-1. /name NAME, /who, /quit * guest-1 is Anna now * guest-2 has come * guest-2 is Bert now \
        * guest-3 has come * guest-3 is Carl now Bert: I am number 1 Carl: I am number 2 * The server ends the end
        """)
    #expect(texts[1].hasSuffix("Anna: I am number 0 Carl: I am number 2 * The server ends the end"))
    #expect(texts[2].hasSuffix("Anna: I am number 0 Bert: I am number 1"))
  }

  @Test func `short reads and writes by a hundred seeds change nothing of what is heard`() throws {
    let documented = try play(nil)
    for number in 1...100 as ClosedRange<UInt64> {
      let seeded = try play(Seed(number))
      try #require(seeded == documented, "seed \(number)")
    }
  }
}
