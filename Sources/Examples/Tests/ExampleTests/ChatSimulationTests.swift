import Glibc
import Rondo
import RondoSockets
import RondoTesting
import Synchronization
import Testing

@testable import rondo_chat

/// The whole of `rondo-chat` on a simulated host: its guests, one that goes without a word, and its end by SIGTERM.
@Suite struct ChatSimulationTests {
  private static let address = try! SocketAddress(parsing: "10.0.0.1:7008")

  /// Serves the chat until a signal, and gives the guests ten seconds more.
  ///
  /// - Returns: The chat's exit code, and how much it has open then.
  private static func serve(on server: Host, of simulation: Simulation) throws -> (code: CInt, openDescriptors: Int) {
    let options = Options(["rondo-chat", "--listen", "\(address)", "--grace", "5"])!
    let code = try server.run { try rondo_chat.serve(options, on: server.loop) }
    simulation.run(for: .seconds(10))
    return (code, server.openDescriptorCount)
  }

  // MARK: - Three guests

  /// What each of three guests has read, the chat's exit code, and what it has open then.
  private static func play(_ seed: Seed?) throws -> (texts: [String], code: CInt, openDescriptors: Int) {
    try withSimulation(seed: seed) { simulation in
      let server = simulation.host("10.0.0.1")
      let guests = (2...4).map { simulation.host("10.0.0.\($0)") }
      simulation.faults.shorten(.send, oneIn: 3)
      simulation.faults.shorten(.receive, oneIn: 3)
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
      let (code, openDescriptors) = try serve(on: server, of: simulation)
      return (traces.map(\.text), code, openDescriptors)
    }
  }

  private static let documented = try! play(nil)

  @Test func `guests hear each other, and all that listen hear of the end`() throws {
    let (texts, code, openDescriptors) = Self.documented
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

  @Test(.seeds(100)) func `short reads and writes change nothing of what is heard`() throws {
    #expect(try Self.play(Seed.current) == Self.documented)
  }

  // MARK: - Guests that come and go

  /// A guest that says numbered lines, and goes without a word if its connection breaks.
  private final class Guest: Sendable {
    let name: String
    let said = Mutex(0)
    let heard = Trace()

    init(_ name: String) { self.name = name }

    func visit(_ simulation: Simulation, on host: Host) {
      let pauses = (0..<8).map { _ in Duration.milliseconds(simulation.choose(among: 3_000)) }
      let quits = simulation.choose(among: 3) == 1
      host.start { [self] in
        try await Task.sleep(for: pauses[0])
        let connection = try await Connection.connected(to: address, on: .main)
        async let hearing: Void = {
          for try await line in connection.lines() { heard.note(line) }
        }()
        do {
          try await connection.write("/name \(name)\n")
          for pause in pauses.dropFirst() {
            try await Task.sleep(for: pause)
            let number = said.withLock { said in
              said += 1
              return said
            }
            try await connection.write("line \(number)\n")
          }
          if quits { try await connection.write("/quit\n") }
        } catch {}
        try? await hearing
        connection.close()
      }
    }

    /// The numbers of the lines that it has heard of another guest.
    func numbers(of other: Guest) -> [Int] {
      heard.tokens.compactMap { $0.hasPrefix("\(other.name): line ") ? Int($0.split(separator: " ").last!) : nil }
    }
  }

  @Test(.seeds(100)) func `nobody hears a line twice, or before an earlier one, whatever breaks`() throws {
    try withSimulation { simulation in
      let server = simulation.host("10.0.0.1")
      let guests = ["Anna", "Bert", "Carl"].map { Guest($0) }
      let hosts = (2...4).map { simulation.host("10.0.0.\($0)") }
      for (guest, host) in zip(guests, hosts) { guest.visit(simulation, on: host) }
      // A chat that did not begin has nothing to test.
      simulation.at(.milliseconds(1)) { simulation.faults.swarm(oneIn: 200) }
      let link = simulation.link(server, hosts[0])
      simulation.at(.milliseconds(simulation.choose(among: 20_000))) { link.reset() }
      simulation.at(.milliseconds(simulation.choose(among: 20_000))) { hosts[1].crash() }
      let end = Duration.milliseconds(1_000 + simulation.choose(among: 30_000))
      simulation.at(end) { server.send(signal: simulation.choose(among: 2) == 1 ? SIGINT : SIGTERM) }
      let (code, openDescriptors) = try Self.serve(on: server, of: simulation)
      #expect(code == 0 && openDescriptors == 1)
      for guest in guests {
        for other in guests where other !== guest {
          let numbers = guest.numbers(of: other)
          #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count)
          #expect(numbers.allSatisfy { $0 <= other.said.withLock { $0 } })
        }
        #expect(guest.numbers(of: guest) == [])
      }
    }
  }
}
