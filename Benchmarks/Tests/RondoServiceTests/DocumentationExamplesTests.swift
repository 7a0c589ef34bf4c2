import Logging
import Rondo
import RondoDaemon
import RondoLog
import RondoMetrics
import RondoServiceLifecycle
import ServiceLifecycle
import Synchronization
import Testing
import UnixSignals

// The examples of RondoLog.md, RondoMetrics.md and RondoServiceLifecycle.md. `DocumentationTextTests` sees to it that they
// stand there as they stand here.

@Suite struct DocumentationExamplesTests {
  @Test func `RondoLog: swift-log writes into a sink`() async {
    await #expect(processExitsWith: .success) { try Examples.log() }
  }

  @Test func `RondoMetrics: a loop reports`() { Examples.metrics() }

  @Test func `RondoServiceLifecycle: a group runs a daemon`() async throws {
    let log = Log()
    try await Examples.service(log)
    #expect(log.text == "stop listening")
  }
}

private final class Log: Sendable {
  private let notes = Mutex<[String]>([])
  func note(_ text: String) { notes.withLock { $0.append(text) } }
  var text: String { notes.withLock { $0.joined(separator: " ") } }
}

private enum Examples {
  static func log() throws {
    let sink = try LogSink()
    LoggingSystem.bootstrap { LoopLogHandler(label: $0, to: sink) }
    Loop.logMessages(to: Logger(label: "rondo"))

    Logger(label: "example").info("hello")
    precondition(sink.flush(timeout: .seconds(60)))
  }

  static func metrics() {
    let loop = Loop.current
    let metrics = LoopMetrics(of: ["main": loop], every: .seconds(10), on: loop)

    metrics.report()
  }

  static func service(_ log: Log) async throws {
    let logger = Logger(label: "silent", factory: { _ in SwiftLogNoOpLogHandler() })
    @Sendable func print(_ text: String) { log.note(text) }

    let service = DaemonService(name: "echo") { loop in
      let daemon = try Daemon(on: loop, grace: .seconds(10), claimsSignals: false)
      daemon.whenStopping { print("stop listening") }
      return daemon
    }
    let group = ServiceGroup(services: [service], gracefulShutdownSignals: [.sigterm], logger: logger)
    // It remembers that: no signal is sent.
    await group.triggerGracefulShutdown()
    try await group.run()
  }
}
