import Glibc
import Rondo
import RondoDaemon
import RondoHTTP
import RondoSockets
import RondoTesting
import Testing

/// The article's server as it stands, with clients, faults and signals by many seeds.
@Suite struct HTTPProgramTests {
  /// What a client has asked for, and got.
  private final class Talk: Sendable {
    /// The paths and the lengths of the bodies.
    let asked: [(path: String, count: Int)]
    let received = Trace()

    init(_ simulation: Simulation, _ number: Int) {
      asked = (0..<6).map { ("/\(number)/\($0)", simulation.choose(among: 3) * simulation.choose(among: 5_000)) }
    }

    /// Asks for some things at once, and for others later, in chunks or with a length.
    func converse(_ simulation: Simulation, on host: Host, with address: SocketAddress) {
      let pauses = asked.map { _ in simulation.choose(among: 2) * simulation.choose(among: 4_000) }
      let isChunked = simulation.choose(among: 2) == 1
      host.start { [self] in
        let connection = try await Connection.connected(to: address, on: .main)
        async let reading: Void = {
          while let bytes = try? await connection.read() { received.note(String(decoding: bytes, as: UTF8.self)) }
        }()
        for ((path, count), pause) in zip(asked, pauses) {
          do {
            try await connection.write("POST \(path) HTTP/1.1\r\nHost: a\r\n" + Self.body(of: count, isChunked))
            try await Task.sleep(for: .milliseconds(pause))
          } catch {
            // The server would answer to the part of a request that was sent.
            connection.close()
            break
          }
        }
        try? await connection.finishWriting()
        await reading
        connection.close()
      }
    }

    private static func body(of count: Int, _ isChunked: Bool) -> String {
      let body = String(repeating: "x", count: count)
      if !isChunked || count == 0 { return "Content-Length: \(count)\r\n\r\n\(body)" }
      return "Transfer-Encoding: chunked\r\n\r\n\(String(count, radix: 16))\r\n\(body)\r\n0\r\n\r\n"
    }

    /// All answers, without what depends on the time and on the end.
    private var expected: String {
      asked.map { path, count in
        let body = "\(path): \(count) bytes\n"
        return
          "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\ncontent-length: \(body.utf8.count)\r\n\r\n\(body)"
      }.joined()
    }

    /// The same of what has come.
    private var answers: String {
      var text = received.tokens.joined()
      // Half the end of a line is another character than the whole.
      if text.last == "\r" { text.removeLast() }
      var lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)
      lines.removeAll { $0.hasPrefix("date: ") || $0 == "connection: close" }
      // A connection may break within such a line.
      if let last = lines.last, "date: ".hasPrefix(last) || "connection: close".hasPrefix(last) { lines.removeLast() }
      return lines.joined(separator: "\r\n")
    }

    /// Whether the answers are right, up to where they ended.
    var isRight: Bool { expected.hasPrefix(answers) }
    var isWhole: Bool { expected == answers }
  }

  /// Has three clients converse with the server for a minute, and then ends it, if it has not ended yet.
  ///
  /// - Returns: How it ended, and what it has open then.
  private static func serve(_ talks: [Talk], in simulation: Simulation, breaking: (Host) -> Void) -> (String, Int) {
    let server = simulation.host("10.0.0.1")
    let address = try! SocketAddress(parsing: "10.0.0.1:8080")
    let trace = Trace()
    server.start { trace.note("\(try await serveLengths(at: address, on: .main))") }
    for (number, talk) in talks.enumerated() {
      talk.converse(simulation, on: simulation.host("10.0.0.\(number + 2)"), with: address)
    }
    breaking(server)
    simulation.run(for: .seconds(60))
    if trace.text.isEmpty { server.send(signal: SIGTERM) }
    simulation.run(for: .seconds(60))
    return (trace.text, server.openDescriptorCount)
  }

  @Test(.seeds(50)) func `each client gets all of its answers, whatever the order and the size of packets`() {
    withSimulation { simulation in
      let talks = (0..<3).map { Talk(simulation, $0) }
      let (end, openDescriptors) = Self.serve(talks, in: simulation) { server in
        for host in simulation.hosts.dropFirst() {
          let link = simulation.link(server, host)
          link.latency = .microseconds(100 + simulation.choose(among: 200_000))
          link.mtu = simulation.choose(among: 2) == 1 ? 576 : 1_500
        }
      }
      #expect(talks.allSatisfy { $0.isWhole })
      #expect(end == "drained" && openDescriptors == 0)
    }
  }

  @Test(.seeds(50)) func `faults and signals cut answers off, and change nothing of those before`() {
    withSimulation { simulation in
      let talks = (0..<3).map { Talk(simulation, $0) }
      let (end, openDescriptors) = Self.serve(talks, in: simulation) { server in
        // A server without a listener has nothing to test.
        simulation.at(.milliseconds(1)) { simulation.faults.swarm(oneIn: 200) }
        let link = simulation.link(server, simulation.hosts[1])
        simulation.at(.milliseconds(simulation.choose(among: 20_000))) { link.reset() }
        let date = Duration.milliseconds(500 + simulation.choose(among: 30_000))
        simulation.at(date) { server.send(signal: simulation.choose(among: 2) == 1 ? SIGINT : SIGTERM) }
      }
      #expect(talks.allSatisfy { $0.isRight })
      #expect(end == "drained" && openDescriptors == 0)
    }
  }
}
