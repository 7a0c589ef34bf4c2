import Glibc
import Logging
import Rondo
import RondoDaemon
import RondoServiceLifecycle
import ServiceLifecycle
import Synchronization
import Testing

/// A daemon among services.
@Suite struct ServiceTests {
  private final class Notes: Sendable {
    private let notes = Mutex<[String]>([])
    func note(_ text: String) { notes.withLock { $0.append(text) } }
    var text: String { notes.withLock { $0.joined(separator: " ") } }

    func wait(for text: String) async {
      while !self.text.hasSuffix(text) { try? await Task.sleep(for: .milliseconds(1)) }
    }
  }

  private static let silent = Logger(label: "silent", factory: { _ in SwiftLogNoOpLogHandler() })

  private func group(_ service: some Service) -> ServiceGroup {
    ServiceGroup(services: [service], gracefulShutdownSignals: [], logger: Self.silent)
  }

  @Test func `graceful shutdown calls the stop handlers, and waits for work under way`() async throws {
    let notes = Notes()
    let work = Mutex<Daemon.Work?>(nil)
    let service = DaemonService(name: "graceful") { loop in
      let daemon = try Daemon(on: loop, grace: .seconds(3_600), claimsSignals: false)
      daemon.whenStopping { notes.note("stopping") }
      work.withLock { $0 = daemon.beginWork() }
      loop.perform { notes.note(loop.isCurrent ? "running" : "elsewhere") }
      return daemon
    }
    let group = group(service)
    let run = Task {
      try await group.run()
      notes.note("over")
    }
    await notes.wait(for: "running")
    await group.triggerGracefulShutdown()
    await notes.wait(for: "stopping")
    work.withLock { $0.take() }?.end()
    try await run.value
    #expect(notes.text == "running stopping over")
  }

  @Test func `a daemon that could not finish its work fails its service`() async throws {
    let work = Mutex<Daemon.Work?>(nil)
    let service = DaemonService { loop in
      let daemon = try Daemon(on: loop, grace: .milliseconds(1), claimsSignals: false)
      work.withLock { $0 = daemon.beginWork() }
      daemon.stop()
      return daemon
    }
    await #expect(throws: DaemonServiceError.timedOut(left: 1)) { try await service.run() }
    work.withLock { $0 = nil }
  }

  @Test func `a daemon that stops by itself ends its service, and what cannot be made fails it`() async throws {
    try await DaemonService { loop in
      let daemon = try Daemon(on: loop, claimsSignals: false)
      daemon.stop()
      return daemon
    }.run()
    struct Trouble: Error {}
    await #expect(throws: Trouble.self) { try await DaemonService { _ in throw Trouble() }.run() }
  }

  @Test func `cancellation ends it at once, whatever is under way`() async throws {
    let notes = Notes()
    let work = Mutex<Daemon.Work?>(nil)
    let service = DaemonService { loop in
      let daemon = try Daemon(on: loop, grace: .seconds(3_600), claimsSignals: false)
      work.withLock { $0 = daemon.beginWork() }
      daemon.whenStopping { notes.note("stopping") }
      loop.perform { notes.note("running") }
      return daemon
    }
    let run = Task { try await service.run() }
    await notes.wait(for: "running")
    run.cancel()
    await #expect(throws: CancellationError.self) { try await run.value }
    #expect(notes.text == "running")
    // Before it has even begun.
    let early = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await service.run()
    }
    await #expect(throws: CancellationError.self) { try await early.value }
    work.withLock { $0 = nil }
  }

  @Test func `a daemon without signals leaves them to others`() throws {
    func disposition() -> UInt {
      var action = sigaction()
      sigaction(SIGHUP, nil, &action)
      return unsafeBitCast(action.__sigaction_handler, to: UInt.self)
    }
    let before = disposition()
    let daemon = try Daemon(on: .current, claimsSignals: false)
    #expect(disposition() == before)
    withExtendedLifetime(daemon) {}
  }
}
