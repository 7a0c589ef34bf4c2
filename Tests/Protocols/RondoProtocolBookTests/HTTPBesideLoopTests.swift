import Glibc
import Hummingbird
import Logging
import NIOCore
import Rondo
import RondoDaemon
import RondoServiceLifecycle
import RondoSockets
import ServiceLifecycle
import Testing
import UnixSignals

// Hummingbird's own server beside a loop, of the article HTTP, compiled and run.

private let logger = Logger(label: "silent", factory: { _ in SwiftLogNoOpLogHandler() })
private let (lines, printing) = AsyncStream.makeStream(of: String.self)

/// Stands in for the library's function: a test reads what an example prints.
private func print(_ line: String) { printing.yield(line) }

/// Serves the routes on SwiftNIO's threads, and ends that server in the daemon's drain.
func serveBeside(_ notes: Notes, port: Int, on loop: Loop) async throws -> Daemon.Outcome {
  try await withDaemon(on: loop, grace: .seconds(10)) { daemon in
    let application = Application(
      router: makeRouter(of: notes),
      configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
      onServerRunning: { channel in
        daemon.ready()
        print("Listening at port \(channel.localAddress?.port ?? 0).")
      },
      logger: logger)
    let group = ServiceGroup(services: [application], logger: logger)
    daemon.whenStopping { await group.triggerGracefulShutdown() }
    // A task of its own, since a stop cancels the one of this closure. Requests under way are answered first.
    let serving = Task { try await group.run() }
    try await serving.value
  }
}

@Suite struct HTTPBesideLoopTests {
  @Test func `Hummingbird's own server has the main actor's notes, and drains with the daemon`() async {
    await #expect(processExitsWith: .success) {
      let outcome = try await withLoopThread(name: "daemon") { thread in
        let notes = Notes()
        let serving = Task { try await serveBeside(notes, port: 0, on: thread.loop) }
        let port = try await listeningPort()
        let connection = try await Connection.connected(to: .loopback(port: port), on: thread.loop)
        try await connection.write("POST /notes HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello")
        let (line, note) = (try await connection.readLine(), try await notes.text(1))
        precondition(line == "HTTP/1.1 200 OK" && note == "hello")
        kill(getpid(), SIGTERM)
        while try await connection.read() != nil {}
        return try await serving.value
      }
      precondition(outcome == .drained)
    }
  }

  @Test func `a group ends Hummingbird's server and a daemon by one shutdown`() async {
    await #expect(processExitsWith: .success) {
      let notes = Notes()
      let application = Application(
        router: makeRouter(of: notes),
        configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
        onServerRunning: { _ in kill(getpid(), SIGTERM) }, logger: logger)
      let jobs = DaemonService(name: "jobs") { loop in
        try Daemon(on: loop, grace: .seconds(10), claimsSignals: false)
      }
      let group = ServiceGroup(services: [application, jobs], gracefulShutdownSignals: [.sigterm], logger: logger)
      try await group.run()
    }
  }
}

/// The port that the example has printed.
private func listeningPort() async throws -> UInt16 {
  for await line in lines {
    if let match = line.wholeMatch(of: /Listening at port (\d+)\./), let port = UInt16(match.1) { return port }
  }
  throw CancellationError()
}
