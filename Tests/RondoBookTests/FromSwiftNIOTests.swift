import Glibc
import Rondo
import RondoDaemon
import RondoSockets
import RondoTesting
import Testing

// The server of the article FromSwiftNIO, and its test.

/// Answers each line with its length, until the daemon stops.
func serveLengths(at address: SocketAddress, on loop: Loop) async throws -> Daemon.Outcome {
  try await withDaemon(on: loop) { daemon in
    let listener = try Listener(at: address)
    daemon.ready()
    try await daemon.serve(listener, limits: ServerLimits(idle: .seconds(30))) { connection in
      while try await connection.awaitRequest(), let line = try await connection.readLine(limit: 1_000) {
        try await connection.write("\(line.utf8.count) bytes\n")
      }
    }
  }
}

/// The article's `main.swift`, which is compiled and not called: a test has no main loop that runs.
private func program() async throws {
  exit(try await serveLengths(at: .loopback(port: 7007), on: .main).exitCode)
}

@Suite struct FromSwiftNIOTests {
  @Test func `a server of lines answers, closes a silent client, and stops by a signal`() throws {
    try withSimulation { simulation in
      let server = simulation.host("10.0.0.1")
      let client = simulation.host("10.0.0.2")
      let address = try SocketAddress(parsing: "10.0.0.1:7007")
      let trace = Trace()
      server.start { trace.note("\(try await serveLengths(at: address, on: server.loop))") }
      client.start {
        let connection = try await Connection.connected(to: address, on: client.loop)
        try await connection.write("hello\n")
        trace.note(try await connection.readLine() ?? "no line")
        if try await connection.readLine() == nil { trace.note("closed at \(simulation.elapsed.components.seconds) s") }
      }
      simulation.at(.seconds(60)) { server.send(signal: SIGTERM) }
      simulation.run(for: .seconds(120))
      #expect(trace.text == "5 bytes closed at 30 s drained")
    }
  }
}
