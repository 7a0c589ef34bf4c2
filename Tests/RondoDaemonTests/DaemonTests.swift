import Dispatch
import Glibc
import Rondo
import RondoDaemon
import RondoTestSupport
import RondoTesting
import Testing

/// Daemons, each in a process of its own because of their signals.
@Suite struct DaemonTests {
  @Test(.offThePool) func `ready, reload, stop: told in order, and the end is one`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Life.whole) }
  }

  @Test(.offThePool) func `a reload that fails is told, and the daemon goes on`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Life.failedReload) }
  }

  @Test(.offThePool) func `a reload that fails at length is over for the manager, too`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Life.longFailure) }
  }

  @Test(.offThePool) func `without systemd and without a reload handler, SIGHUP stops it`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Life.hangUp) }
  }

  @Test(.offThePool) func `work under way is waited for, from any thread, and stop handlers run last to first`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Life.drain) }
  }

  @Test(.offThePool) func `work that takes too long ends with its time, never before, and is counted`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Life.deadline) }
  }

  @Test(.offThePool) func `a second signal, half a second later, ends it at once, and its signals are given back`()
    async
  {
    await #expect(processExitsWith: .success) { inOwnProcess(Life.secondSignal) }
  }

  @Test(.offThePool) func `signals that a busy loop is told as one are one`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Life.mergedSignals) }
  }

  @Test(.offThePool) func `SIGHUP and SIGINT that were ignored stay so, until there is a reload handler for one`() async
  {
    await #expect(processExitsWith: .success) { inOwnProcess(Life.ignoredSignals) }
  }

  @Test(.offThePool) func `a reload handler that comes after the run claims nothing`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Life.lateReloadHandler) }
  }

  @Test(.offThePool) func `a daemon whose loop has ended claims no signal`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Life.endedLoop) }
  }

  /// What begins its run in a block, as `LoopThread.async` has it, holds up the blocks behind it until it returns.
  @Test(arguments: [true, false])
  func `it is stopped by what was asked before the block that runs it began`(_ isGraceful: Bool) throws {
    let thread = try LoopThread()
    let daemon = try Daemon(on: thread.loop, claimsSignals: false, environment: [:])
    let (isBusy, isAsked) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let outcome = Later<Daemon.Outcome>()
    thread.execute {
      isBusy.signal()
      isAsked.wait()
    }
    isBusy.wait()
    thread.execute { outcome.value = daemon.run() }
    if isGraceful { daemon.stop() } else { daemon.endAtOnce() }
    isAsked.signal()
    try thread.sync {}
    #expect(outcome.value == (isGraceful ? .drained : .stopped))
    thread.stop()
  }

  @Test(.offThePool) func `a stop of the loop ends it, and a daemon that has ended does not run again`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Life.stoppedLoop) }
  }

  @Test(.offThePool) func `the watchdog is fed by the loop, and a loop that hangs does not feed it`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Life.watchdog) }
  }

  @Test(.offThePool) func `a daemon that is let go without a run gives its signals back`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Life.dropped) }
  }

  @Test(.offThePool) func `a second daemon is refused as long as the first has the signals`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Life.second) }
  }

  @Test(.offThePool) func `stop is asked for from any thread, before the run as well`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Life.stopFromElsewhere) }
  }
}

private enum Life {
  static func whole() {
    let inbox = try! Inbox()
    let stage = Stage(.current)
    let daemon = try! Daemon(on: .current, environment: ["NOTIFY_SOCKET": inbox.name])
    precondition(daemon.isManaged && disposition(of: SIGPIPE) == 1)
    let seen = Later<[String]>()
    daemon.whenReloading {
      stage.note("reload")
      seen.value = inbox.messages()
      daemon.setStatus("reloaded")
      daemon.loop.perform { raise(SIGTERM) }
    }
    daemon.whenStopping { stage.note("stop") }
    daemon.loop.perform { raise(SIGHUP) }
    precondition(daemon.run() == .drained && daemon.outcome?.exitCode == 0)
    let messages = seen.value + inbox.messages()
    precondition(stage.text == "reload stop", stage.text)
    precondition(messages[0] == "READY=1" && messages[1].hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
    precondition(messages[2...] == ["STATUS=reloaded", "READY=1", "STOPPING=1"], "\(messages)")
  }

  private struct Failure: Error, CustomStringConvertible {
    let description = "no such\nfile"
  }

  static func failedReload() {
    let inbox = try! Inbox()
    let daemon = try! Daemon(on: .current, environment: ["NOTIFY_SOCKET": inbox.name])
    daemon.whenReloading { throw Failure() }
    daemon.whenReloading { daemon.stop() }
    daemon.loop.perform { raise(SIGHUP) }
    precondition(daemon.run() == .drained)
    let messages = inbox.messages()
    precondition(messages[2...] == ["READY=1", "STATUS=Reload failed: no such file", "STOPPING=1"], "\(messages)")
  }

  private struct LongFailure: Error, CustomStringConvertible {
    let description = String(repeating: "ü", count: 5_000)
  }

  static func longFailure() {
    let inbox = try! Inbox()
    let daemon = try! Daemon(on: .current, environment: ["NOTIFY_SOCKET": inbox.name])
    daemon.whenReloading { throw LongFailure() }
    daemon.whenReloading { daemon.stop() }
    daemon.loop.perform { raise(SIGHUP) }
    precondition(daemon.run() == .drained)
    let messages = inbox.messages()
    precondition(messages.count == 5 && messages.allSatisfy { $0.utf8.count < 4_096 }, "\(messages)")
    precondition(messages[2] == "READY=1" && messages[3].hasPrefix("STATUS=Reload failed: ü"), "\(messages)")
  }

  static func hangUp() {
    let daemon = try! Daemon(on: .current, environment: [:])
    precondition(!daemon.isManaged)
    daemon.loop.perform { raise(SIGHUP) }
    precondition(daemon.run() == .drained)
  }

  static func second() {
    let first = try! Daemon(on: .current, environment: [:])
    do {
      _ = try Daemon(on: .current, environment: [:])
      fatalError("There are two.")
    } catch {
      precondition(error == .secondDaemon)
      precondition("\(error)".contains("use that one"))
    }
    // One that is stopped by others takes nothing away.
    _ = try! Daemon(on: .current, claimsSignals: false, environment: [:])
    first.loop.perform { raise(SIGTERM) }
    precondition(first.run() == .drained)
    do {
      let second = try! Daemon(on: .current, environment: [:])
      second.loop.perform { raise(SIGTERM) }
      precondition(second.run() == .drained)
    }
    _ = try! Daemon(on: .current, environment: [:])
    // One that was let go has given them back.
    _ = try! Daemon(on: .current, environment: [:])
  }

  static func drain() {
    let stage = Stage(.current)
    let daemon = try! Daemon(on: .current, environment: [:])
    let first = daemon.beginWork()
    let second = Later<Daemon.Work>(daemon.beginWork())
    daemon.whenStopping {
      stage.note("first")
      first.end()
      first.end()
    }
    daemon.whenStopping { stage.note("last") }
    let thread = TestThread {
      while !daemon.isStopping || daemon.workCount > 1 { usleep(100) }
      second.value = nil
    }
    daemon.loop.perform { raise(SIGINT) }
    precondition(daemon.run() == .drained)
    thread.join()
    precondition(stage.text == "last first" && daemon.workCount == 0)
  }

  static func deadline() {
    let daemon = try! Daemon(on: .current, grace: .milliseconds(40), environment: [:])
    let works = (0..<3).map { _ in daemon.beginWork() }
    let begin = Later<SuspendingClock.Instant>()
    daemon.whenStopping { begin.value = .now }
    daemon.loop.perform { raise(SIGTERM) }
    precondition(daemon.run() == .timedOut(left: 3) && daemon.outcome?.exitCode == 1)
    precondition(SuspendingClock.now - begin.value >= .milliseconds(40))
    withExtendedLifetime(works) {}
  }

  static func secondSignal() {
    let daemon = try! Daemon(on: .current, grace: .seconds(10_000), environment: [:])
    let work = daemon.beginWork()
    daemon.whenStopping {
      // The same wish.
      raise(SIGINT)
      raise(SIGTERM)
      daemon.loop.add(Loop.Timer(after: .milliseconds(500)) { _ in raise(SIGINT) })
    }
    daemon.loop.perform { raise(SIGTERM) }
    let begin = SuspendingClock.now
    precondition(daemon.run() == .interrupted(by: SIGINT) && daemon.outcome?.exitCode == 130)
    precondition(SuspendingClock.now - begin >= .milliseconds(500))
    precondition([SIGTERM, SIGINT, SIGHUP].allSatisfy { disposition(of: $0) == 0 })
    work.end()
  }

  static func mergedSignals() {
    let stage = Stage(.current)
    let daemon = try! Daemon(on: .current, grace: .seconds(10_000), environment: [:])
    let work = daemon.beginWork()
    daemon.whenStopping {
      stage.note("stop")
      daemon.loop.add(Loop.Timer(after: .milliseconds(1)) { _ in work.end() })
    }
    daemon.loop.perform { for _ in 0..<3 { raise(SIGTERM) } }
    precondition(daemon.run() == .drained && stage.text == "stop")
  }

  static func ignoredSignals() {
    for signal in [SIGHUP, SIGINT] { try! SignalSource.ignore(signal) }
    let stage = Stage(.current)
    let daemon = try! Daemon(on: .current, environment: [:])
    precondition(disposition(of: SIGHUP) == 1 && disposition(of: SIGINT) == 1 && disposition(of: SIGTERM) > 1)
    daemon.whenStopping { stage.note("stop") }
    daemon.loop.perform {
      raise(SIGHUP)
      raise(SIGINT)
      stage.note("ignored")
      // From a thread of its own: the daemon is not the loop's alone.
      TestThread { daemon.whenReloading { stage.note("reload") } }.join()
      precondition(disposition(of: SIGHUP) > 1 && disposition(of: SIGINT) == 1)
      raise(SIGHUP)
      daemon.loop.add(Loop.Timer(after: .milliseconds(1)) { _ in raise(SIGTERM) })
    }
    precondition(daemon.run() == .drained)
    precondition(stage.text == "ignored reload stop", stage.text)
    precondition(disposition(of: SIGHUP) == 1 && disposition(of: SIGINT) == 1 && disposition(of: SIGTERM) == 0)
  }

  static func lateReloadHandler() {
    try! SignalSource.ignore(SIGHUP)
    let daemon = try! Daemon(on: .current, environment: [:])
    daemon.stop()
    precondition(daemon.run() == .drained)
    daemon.whenReloading { fatalError("It has ended.") }
    precondition(disposition(of: SIGHUP) == 1)
    raise(SIGHUP)
  }

  static func endedLoop() {
    let loop = Later<Loop>()
    let kept = Later<Daemon>()
    TestThread {
      loop.value = .current
      kept.value = try! Daemon(on: .current, environment: [:])
      precondition(disposition(of: SIGTERM) > 1)
    }.join()
    precondition([SIGTERM, SIGINT, SIGHUP].allSatisfy { disposition(of: $0) == 0 })
    kept.value = nil
    kept.value = try! Daemon(on: loop.value, environment: [:])
    precondition([SIGTERM, SIGINT, SIGHUP].allSatisfy { disposition(of: $0) == 0 })
  }

  static func stoppedLoop() {
    let daemon = try! Daemon(on: .current, environment: [:])
    daemon.whenStopping { fatalError("Nobody asked.") }
    daemon.loop.perform { daemon.loop.stop() }
    precondition(daemon.run() == .stopped && daemon.run() == .stopped && daemon.outcome?.exitCode == 0)
  }

  static func watchdog() {
    let inbox = try! Inbox()
    let environment = ["NOTIFY_SOCKET": inbox.name, "WATCHDOG_USEC": "20000", "WATCHDOG_PID": "\(getpid())"]
    let daemon = try! Daemon(on: .current, environment: environment)
    let pings = Later(0)
    let afterHanging = Later<[String]>()
    let timer = Loop.Timer(every: .milliseconds(1)) { timer in
      pings.value += inbox.messages().count { $0 == "WATCHDOG=1" }
      guard pings.value >= 3 else { return }
      timer.timer.invalidate()
      // It hangs, much longer than its period.
      usleep(100_000)
      afterHanging.value = inbox.messages()
      daemon.stop()
    }
    daemon.loop.add(timer)
    precondition(daemon.run() == .drained)
    precondition(pings.value >= 3 && afterHanging.value == [])
  }

  static func dropped() {
    do {
      let daemon = try! Daemon(on: .current, environment: [:])
      precondition(disposition(of: SIGTERM) > 1)
      daemon.whenStopping {}
      withExtendedLifetime(daemon) {}
    }
    precondition([SIGTERM, SIGINT, SIGHUP].allSatisfy { disposition(of: $0) == 0 })
  }

  static func stopFromElsewhere() {
    let daemon = try! Daemon(on: .current, environment: [:])
    TestThread { daemon.stop() }.join()
    precondition(daemon.run() == .drained)
  }
}
