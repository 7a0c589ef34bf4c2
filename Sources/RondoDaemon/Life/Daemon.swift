import CDaemon
import Glibc
public import Rondo
import Synchronization

/// The life of a server, told to systemd where it is there. It is ready, reloads, stops, and ends without losing work.
///
/// SIGTERM and SIGINT stop it gracefully: its stop handlers stop taking work, and the run ends as soon as work under way
/// is done, or when its time is over. A second signal ends it at once. SIGHUP reloads it, if it has a reload handler, and
/// else stops it. SIGPIPE is ignored. While ``run()`` runs, the loop feeds systemd's watchdog: a loop that is stuck is a
/// daemon that is started anew. Without systemd all of it works the same, and nobody is told.
///
/// ```swift
/// let daemon = try Daemon(on: loop, drainingFor: .seconds(10))
/// daemon.whenReloading { log.note("reload") }
/// daemon.whenStopping { log.note("stop listening") }
/// let outcome = daemon.run()
/// log.note("exit code \(outcome.exitCode)")
/// ```
public final class Daemon: @unchecked Sendable {
  /// *constant* The loop that its handlers are called on.
  public let loop: Loop
  /// *constant* How long work under way may take after the stop handlers.
  public let drainLimit: Duration
  /// *its lock*
  private let machine = Guarded(DaemonMachine())
  /// *its lock* In the order in which they came.
  private let handlers = Guarded(Handlers())
  /// *constant* Who is told; nil for nobody.
  private let manager: ServiceManager?
  /// *constant* How often the manager wants to hear that the loop goes round.
  private let watchdogPeriod: Duration?
  /// *loop thread* Valid until the run is over.
  @safe @exclusivity(unchecked) private var signals: [SignalSource] = []
  /// *constant* once the daemon is made. Signalled by ``stop()``: unlike a block, it is performed by a run that another
  /// block of the same drain has begun.
  @safe @exclusivity(unchecked) private var stopSource: Loop.Source?
  /// *loop thread* The process whose signals it has; 0 for none.
  @safe @exclusivity(unchecked) private var claim: pid_t = 0
  /// *atomic* The process whose signals a daemon has; 0 for none. A forked child's are its own.
  private static let claimant = Atomic<pid_t>(0)
  /// *loop thread* Its timers.
  @safe @exclusivity(unchecked) private var timers: [Loop.Timer] = []

  private struct Handlers {
    var reload: [() throws -> Void] = []
    var stop: [() -> Void] = []
  }

  /// How a run ended.
  public enum Outcome: Hashable, Sendable {
    /// It was asked to stop, and all work was done in time.
    case drained
    /// The time was over, and this many pieces of work were not.
    case timedOut(left: Int)
    /// A second signal came.
    case interrupted(by: CInt)
    /// Somebody stopped the loop's run, and no handler was called.
    case stopped

    /// What to exit(3) with. It is 0, 1 where work was lost, and 128 + the signal that interrupted it, as shells count.
    public var exitCode: CInt {
      switch self {
      case .drained, .stopped: EXIT_SUCCESS
      case .timedOut: EXIT_FAILURE
      case .interrupted(let signal): 128 + signal
      }
    }
  }

  /// A daemon on a loop. From now on the signals are its, whenever the loop runs. Any thread.
  ///
  /// - Parameters:
  ///   - loop: The main thread's, as a rule.
  ///   - limit: How long work under way may take after the stop handlers. systemd kills after TimeoutStopSec, 90 s.
  ///   - claimsSignals: Whether SIGTERM, SIGINT and SIGHUP are its: false where somebody else has them, and calls ``stop()``.
  ///   - environment: What to look for systemd in; nil for the process's own.
  /// - Throws: What is malformed in the environment, or a signal that cannot be had; `.secondDaemon` while another one of
  ///   the process has the signals.
  public init(
    on loop: Loop = .main, drainingFor limit: Duration = .seconds(30), claimsSignals: Bool = true,
    environment: [String: String]? = nil
  ) throws(DaemonError) {
    self.loop = loop
    drainLimit = limit
    let environment = environment ?? ServiceEnvironment.own
    watchdogPeriod = try ServiceEnvironment.watchdogPeriod(in: environment, for: getpid())
    manager = try ServiceManager(environment: environment)
    if claimsSignals {
      if Self.claimant.exchange(getpid(), ordering: .relaxed) == getpid() { throw .secondDaemon }
      claim = getpid()
    }
    do throws(SignalError) {
      try SignalSource.ignore(SIGPIPE)
      for signal in claimsSignals ? [SIGTERM, SIGINT] : [] {
        signals.append(try SignalSource(signal, order: .min) { [weak self] _, delivery in self?.heard(delivery) })
      }
      if claimsSignals {
        signals.append(try SignalSource(SIGHUP) { [weak self] _, delivery in self?.hungUp(delivery) })
      }
    } catch {
      giveSignalsBack()
      throw .signal(error)
    }
    for source in signals { loop.add(source, to: .common) }
    let stopSource = Loop.Source { [weak self] in self?.beginStop() }
    loop.add(stopSource, to: .common)
    self.stopSource = stopSource
    manager?.join(loop)
  }

  deinit {
    giveSignalsBack()
    stopSource?.invalidate()
    for timer in timers { timer.invalidate() }
    manager?.invalidate()
  }

  /// From now on another daemon may have them.
  private func giveSignalsBack() {
    for source in signals { source.invalidate() }
    if claim == getpid() { Self.claimant.store(0, ordering: .relaxed) }
    claim = 0
  }

  // MARK: - Handlers

  /// Has `handler` called on the loop's thread at each SIGHUP, after those before it. Any thread.
  ///
  /// What it throws is told as status, and the daemon goes on with what it had.
  public func whenReloading(_ handler: sending @escaping () throws -> Void) {
    nonisolated(unsafe) let handler = handler
    handlers.withLock { unsafe $0.reload.append(handler) }
  }

  /// Has `handler` called once on the loop's thread when the daemon is to stop. The last one that came is called first.
  /// Any thread.
  ///
  /// It stops taking work: what is under way goes on, as long as somebody holds a ``Work`` for it.
  public func whenStopping(_ handler: sending @escaping () -> Void) {
    nonisolated(unsafe) let handler = handler
    handlers.withLock { unsafe $0.stop.append(handler) }
  }

  // MARK: - Work

  /// Something under way that a graceful stop waits for: a request, a connection, a child. Over when it is let go.
  public final class Work: Sendable {
    private let daemon: Daemon
    private let isOver = Atomic<Bool>(false)

    fileprivate init(_ daemon: Daemon) {
      self.daemon = daemon
      daemon.machine.withLock { $0.workBegan() }
    }

    deinit { end() }

    /// Says that it is over. Again, it changes nothing. Any thread.
    public func end() {
      guard !isOver.exchange(true, ordering: .acquiringAndReleasing) else { return }
      daemon.perform(daemon.machine.withLock { $0.workEnded() })
    }
  }

  /// Begins something that a graceful stop waits for. Any thread, at any time.
  public func beginWork() -> Work { Work(self) }

  /// How many pieces of work are under way. Any thread.
  public var workCount: Int { machine.withLock { $0.works } }

  /// Whether it has been asked to stop. Any thread.
  public var isStopping: Bool { machine.withLock { $0.isStopping } }

  // MARK: - Running

  /// Runs the loop until the daemon has stopped. It tells that it is ready before, and gives its signals back
  /// afterwards. The loop's thread.
  ///
  /// Its thread blocks SIGTERM, SIGINT and SIGHUP no longer. A stop of the loop's run by anybody else ends it as well. A
  /// daemon that has ended does not run again.
  @available(*, noasync, message: "Running a loop blocks its thread. Call it from a synchronous function.")
  @discardableResult
  public func run() -> Outcome {
    contract(loop.isCurrent, "A daemon runs on the thread of its loop. Make it with Daemon(on: .current).")
    if let outcome { return outcome }
    if machine.withLock({ $0.becameReady() }) { tell([.ready]) }
    // A process that a worker of Dispatch's has started, or a thread, has them all blocked.
    for source in signals { rondo_signal_unblock(source.signal) }
    feedWatchdog()
    while outcome == nil {
      if loop.run() != .timedOut, outcome == nil { machine.withLock { $0.runWasStopped() } }
    }
    giveSignalsBack()
    stopSource?.invalidate()
    for timer in timers { timer.invalidate() }
    manager?.invalidate()
    // They may have captured what has the daemon. They die outside the lock.
    _ = handlers.withLock { handlers in
      defer { handlers = Handlers() }
      return handlers
    }
    return outcome!
  }

  /// How the run ended; nil before it has.
  public var outcome: Outcome? { machine.withLock { $0.outcome } }

  /// Stops it gracefully, as SIGTERM does; asked again, it changes nothing. Any thread.
  public func stop() {
    stopSource?.signal()
  }

  /// The loop's thread. Calls out.
  private func beginStop() {
    perform(machine.withLock { $0.askedToStop() })
  }

  /// Ends the run at once, or the one that is yet to begin; no handler is called. Any thread.
  package func endAtOnce() {
    machine.withLock { $0.runWasStopped() }
    loop.requestStop()
  }

  /// Tells systemd in a few words what the daemon does at present: `systemctl status` shows it. Any thread.
  public func setStatus(_ text: String) {
    tell([.status(text)])
  }

  /// Whether somebody is told of readiness and the rest: NOTIFY_SOCKET was set.
  public var isManaged: Bool { manager != nil }

  // MARK: - What happens

  private func tell(_ states: [ServiceState]) {
    manager?.tell(states)
  }

  /// SIGTERM or SIGINT. What the kernel or a busy loop has merged is told as often as it came.
  private func heard(_ delivery: SignalSource.Delivery) {
    for _ in 0..<min(delivery.count, 2) { perform(machine.withLock { $0.signalled(delivery.signal) }) }
  }

  /// SIGHUP.
  private func hungUp(_ delivery: SignalSource.Delivery) {
    let reload = handlers.withLock { $0.reload }
    if reload.isEmpty { return heard(delivery) }
    if !isStopping { self.reload(reload) }
  }

  /// Calls out.
  private func reload(_ handlers: [() throws -> Void]) {
    tell([.reloading])
    var failures: [String] = []
    for handler in handlers {
      do { try handler() } catch { failures.append("\(error)") }
    }
    let status = failures.isEmpty ? [] : [ServiceState.status("Reload failed: " + failures.joined(separator: "; "))]
    if !isStopping { tell(status + [.ready]) }
  }

  /// Calls out.
  private func perform(_ action: DaemonMachine.Action) {
    switch action {
    case .nothing: break
    case .beginStop:
      tell([.stopping])
      let stop = handlers.withLock { handlers in
        defer { handlers.stop = [] }
        return handlers.stop
      }
      for handler in stop.reversed() { handler() }
      perform(machine.withLock { $0.stopHandlersReturned() })
    case .awaitWork:
      start(Loop.Timer(after: drainLimit) { [weak self] _ in self?.timeIsUp() })
    case .end:
      loop.requestStop()
    }
  }

  private func timeIsUp() {
    perform(machine.withLock { $0.timeIsUp() })
  }

  private func feedWatchdog() {
    guard let period = watchdogPeriod, manager != nil else { return }
    // Between one half and three quarters of the time that may pass.
    start(Loop.Timer(every: period / 2, tolerance: period / 4) { [weak self] _ in self?.tell([.watchdog]) })
  }

  private func start(_ timer: Loop.Timer) {
    timers.append(timer)
    loop.add(timer, to: .common)
  }
}
