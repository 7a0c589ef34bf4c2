import Glibc
import Rondo
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

@testable import RondoDaemon

/// What a daemon asks of systemd, beside its life.
@Suite struct ManagerTests {
  private func told(
    _ environment: [String: String] = [:], _ body: @escaping @Sendable (Daemon, Inbox) throws -> Void
  ) throws -> [String] {
    let inbox = try Inbox()
    return try onLoopThread { stage in
      let environment = environment.merging(["NOTIFY_SOCKET": inbox.name]) { $1 }
      try body(try Daemon(on: stage.loop, claimsSignals: false, environment: environment), inbox)
      return inbox.messages()
    }
  }

  @Test func `a descriptor that systemd is to keep comes with its name, and stays the caller's`() throws {
    let words = try told { daemon, inbox in
      // The caller closes its own.
      func pair() throws -> Socket {
        let (near, far) = try Socket.pair()
        try withExtendedLifetime(far) { try daemon.store(far.descriptor, as: "pair") }
        return near
      }
      let near = try pair()
      #expect(try near.receive() == .nothing)
      let message = inbox.messages()
      #expect(message == ["FDSTORE=1\nFDNAME=pair"])
      #expect(try near.receive() == .end)
      daemon.removeStored("pair")
    }
    #expect(words == ["FDSTOREREMOVE=1\nFDNAME=pair"])
  }

  @Test func `a descriptor that is not open is named, and without systemd nothing is kept`() throws {
    _ = try told { daemon, _ in
      #expect(throws: DaemonError.notOpen(-1)) { try daemon.store(-1, as: "web") }
    }
    let thread = try LoopThread()
    try Daemon(on: thread.loop, claimsSignals: false, environment: [:]).store(-1, as: "web")
    thread.stop()
  }

  @Test(.offThePool, arguments: ["", "a:b", "a\nREADY=1", "é", String(repeating: "a", count: 256)])
  func `a name that systemd does not take ends the process`(_ name: String) async {
    await #expect(processExitsWith: .failure) { [name] in
      try Daemon(on: .main, claimsSignals: false, environment: [:]).store(0, as: name)
    }
  }

  @Test func `a start may ask for more time`() throws {
    let words = try told { daemon, _ in daemon.extendTimeout(by: .seconds(90)) }
    #expect(words == ["EXTEND_TIMEOUT_USEC=90000000"])
  }

  @Test func `a watchdog that is triggered names the cause first`() throws {
    let words = try told(["WATCHDOG_USEC": "5000000"]) { daemon, _ in
      #expect(daemon.watchdogPeriod == .seconds(5))
      daemon.triggerWatchdog("in timer \"tick\" at main.swift:12 for 3 s")
    }
    #expect(words == ["STATUS=Stuck: in timer \"tick\" at main.swift:12 for 3 s", "WATCHDOG=trigger"])
  }

  @Test func `a daemon is ready from when it says so until it is asked to stop`() async throws {
    let thread = try LoopThread(name: "daemon")
    let seen = Guarded<[Bool]>([])
    let note: @Sendable (Daemon) -> Void = { daemon in seen.withLock { $0.append(daemon.isReady) } }
    try await withDaemon(on: thread.loop, claimsSignals: false, environment: [:]) { daemon in
      note(daemon)
      daemon.ready()
      note(daemon)
      daemon.whenStopping { note(daemon) }
    }
    await thread.end()
    #expect(seen.withLock { $0 } == [false, true, false])
  }
}
