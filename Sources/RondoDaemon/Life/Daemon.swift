import CRondoDaemon
import Glibc
public import Rondo
import RondoSockets
import Synchronization

/// The life of a server: readiness, reload, graceful stop, and systemd's part in it.
///
/// SIGTERM and SIGINT stop the daemon gracefully: it calls its stop handlers, and the run ends when all work has ended
/// or the grace has passed. A second signal ends the run immediately, but not in the first half second of the
/// stop: npm(1), for example, passes a signal on that the daemon has received already. SIGHUP calls the reload handlers;
/// without any, it stops the daemon. SIGPIPE is ignored.
///
/// nohup(1) starts a program that ignores SIGHUP, and a shell's `&` one that ignores SIGINT. The daemon leaves it at
/// that, except that a reload handler claims SIGHUP.
///
/// While ``run()`` runs, the loop feeds systemd's watchdog, so that systemd restarts a daemon whose loop is stuck.
/// Without systemd, everything else works the same.
///
/// ```swift
/// let daemon = try Daemon(on: loop, grace: .seconds(10))
/// daemon.whenReloading { log.note("reload") }
/// daemon.whenStopping { log.note("stop listening") }
/// let outcome = daemon.run()
/// log.note("exit code \(outcome.exitCode)")
/// ```
///
/// In async code, use ``withDaemon(on:grace:claimsSignals:environment:_:)``.
public final class Daemon: @unchecked Sendable {
  /// The loop that calls the daemon's handlers.
  public let loop: Loop
  /// How long work under way may take after the stop handlers.
  public let grace: Duration
  /// *its lock*
  let machine = Guarded(DaemonMachine())
  /// *its lock* In the order in which they came.
  let handlers = Guarded(Handlers())
  /// *constant* The service manager that is told; nil without one.
  let manager: ServiceManager?
  /// How often systemd wants to hear that the loop turns (WATCHDOG_USEC); nil for never.
  public let watchdogPeriod: Duration?
  /// *constant* The process whose place this one is to take; nil without one.
  let predecessor: Predecessor?
  /// *its lock*
  let sockets: Guarded<NamedSockets>
  /// *loop thread* The process that is to take this one's place, as long as it is not ready.
  @safe @exclusivity(unchecked) var succession: Succession?
  /// *its lock*
  private let claims = Guarded(Claims())
  /// *constant* once the daemon is made. Signalled by ``stop()``: unlike a block, it is performed by a run that another
  /// block of the same drain has begun.
  @safe @exclusivity(unchecked) private var stopSource: Loop.Source?
  /// *loop thread* The process whose signals it has; 0 for none.
  @safe @exclusivity(unchecked) private var claim: pid_t = 0
  /// *atomic* The process whose signals a daemon has; 0 for none. A forked child's are its own.
  private static let claimant = Atomic<pid_t>(0)
  /// *constant* Whether an async function waits for the end, and `run()` is not used.
  private let isAwaited: Bool
  /// *its lock* The task that waits for the end.
  let waiter = Guarded<Waiter<Void>?>(nil)
  /// *loop thread* Its timers.
  @safe @exclusivity(unchecked) private var timers: [Loop.Timer] = []

  private struct Claims {
    /// Valid until the run is over.
    var sources: [SignalSource] = []
    /// Whether SIGHUP stays ignored until there is a reload handler.
    var leavesHangUp = false
    /// The signals were given back.
    var areOver = false
  }

  struct Handlers {
    var reload: [ReloadHandler] = []
    var stop: [() -> Void] = []
    /// A task of a reload handler has not ended.
    var isReloading = false
    /// SIGHUP came meanwhile.
    var mustReload = false
  }

  /// Makes a daemon on a loop, claims its signals and ignores SIGPIPE. Any thread.
  ///
  /// - Parameters:
  ///   - loop: Usually the main thread's loop.
  ///   - grace: How long work under way may take after the stop handlers. systemd kills the process after
  ///     TimeoutStopSec, 90 s by default.
  ///   - claimsSignals: Whether SIGTERM, SIGINT and SIGHUP belong to the daemon. Use false if other code handles them
  ///     and calls ``stop()``.
  ///   - environment: The variables to read for systemd; nil for the process's own.
  /// - Throws: An error in the environment, or a signal that cannot have a source. `.secondDaemon` while another
  ///   daemon of the process has the signals. Each simulated host is a process.
  public convenience init(
    on loop: Loop = .main, grace: Duration = .seconds(30), claimsSignals: Bool = true,
    environment: [String: String]? = nil
  ) throws(DaemonError) {
    try self.init(on: loop, grace, claimsSignals, environment, isAwaited: false)
  }

  init(
    on loop: Loop, _ grace: Duration, _ claimsSignals: Bool, _ environment: [String: String]?, isAwaited: Bool
  ) throws(DaemonError) {
    self.loop = loop
    self.isAwaited = isAwaited
    self.grace = grace
    let environment = environment ?? ServiceEnvironment.own
    watchdogPeriod = try ServiceEnvironment.watchdogPeriod(in: environment, for: getpid())
    manager = try ServiceManager(environment: environment)
    predecessor = try Predecessor(environment: environment)
    sockets = Guarded(NamedSockets(passed: try ActivatedDescriptor.all(environment: environment)))
    if predecessor != nil { manager?.hold() }
    // Each simulated machine is a process.
    if claimsSignals, !SignalSubscription.areSimulated {
      if Self.claimant.exchange(getpid(), ordering: .relaxed) == getpid() { throw .secondDaemon }
      claim = getpid()
    }
    do throws(SignalError) {
      try SignalSource.ignore(SIGPIPE)
      for signal in claimsSignals ? [SIGTERM, SIGINT, SIGHUP] : [] {
        if SignalSubscription.isLeftAlone(signal) {
          if signal == SIGHUP { claims.withLock { $0.leavesHangUp = true } }
        } else {
          try claimSignal(signal)
        }
      }
    } catch {
      giveSignalsBack()
      throw .signal(error)
    }
    let stopSource = Loop.Source { [weak self] in self?.beginStop() }
    stopSource.name = "daemon: stop()"
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

  /// Any thread.
  private func claimSignal(_ signal: CInt) throws(SignalError) {
    let isHangUp = signal == SIGHUP
    let source = try SignalSource(signal, order: isHangUp ? 0 : .min) { [weak self] _, delivery in
      if isHangUp { self?.hungUp(delivery) } else { self?.heard(delivery) }
    }
    claim(source, named: isHangUp ? "SIGHUP" : signal == SIGINT ? "SIGINT" : "SIGTERM")
  }

  /// Has a source of a signal until the run is over. Any thread.
  func claim(_ source: SignalSource, named name: String) {
    // A tool that lists the loop's items is to say what they are, and not where this file makes them.
    for item in source.items { item.name = "daemon: \(name)" }
    let isWanted = claims.withLock { claims in
      if !claims.areOver { claims.sources.append(source) }
      return !claims.areOver
    }
    // A loop that has ended tells of no signal.
    if !isWanted || !loop.add(source, to: .common) { source.invalidate() }
  }

  /// From now on another daemon may have them.
  private func giveSignalsBack() {
    let sources = claims.withLock { claims in
      defer { claims = Claims(areOver: true) }
      return claims.sources
    }
    for source in sources { source.invalidate() }
    if claim == getpid() { Self.claimant.store(0, ordering: .relaxed) }
    claim = 0
  }

  // MARK: - Handlers

  /// Adds a handler for SIGHUP, called on the loop's thread. Any thread.
  ///
  /// The first one claims SIGHUP if it was ignored, unless no descriptor is left: then one line goes to stderr.
  ///
  /// Handlers are called in the order in which they were added. If one throws, the error becomes the status, and the
  /// daemon continues.
  public func whenReloading(_ handler: sending @escaping () throws -> Void) {
    add(.callout(handler))
  }

  /// Adds a handler for SIGHUP that runs as a task on the loop. Any thread.
  ///
  /// The next handler is called when it has ended, and systemd hears of the end of the reload after the last one. A
  /// SIGHUP that comes meanwhile reloads once more afterwards.
  public func whenReloading(_ handler: @escaping @Sendable () async throws -> Void) {
    add(.task(handler))
  }

  private func add(_ handler: sending ReloadHandler) {
    nonisolated(unsafe) let handler = handler
    handlers.withLock { unsafe $0.reload.append(handler) }
    let mustClaim = claims.withLock { claims in
      defer { claims.leavesHangUp = false }
      return claims.leavesHangUp
    }
    if !mustClaim { return }
    do {
      try claimSignal(SIGHUP)
    } catch {
      warn("SIGHUP does not reload the daemon, and stays ignored: \(error).")
    }
  }

  /// Adds a handler for the stop, called once on the loop's thread. Any thread.
  ///
  /// The last handler added is called first. A handler should stop accepting work. Work under way continues until its
  /// ``Work`` is ended or released.
  public func whenStopping(_ handler: sending @escaping () -> Void) {
    nonisolated(unsafe) let handler = handler
    handlers.withLock { unsafe $0.stop.append(handler) }
  }

  /// Adds a handler for the stop that runs as a task, and is work. Any thread.
  ///
  /// The task runs on the loop. The handlers that were added before it do not wait for its end.
  public func whenStopping(_ handler: @escaping @Sendable () async -> Void) {
    let callout: @Sendable () -> Void = { [weak self] in
      guard let self else { return }
      let work = beginWork()
      Task(executorPreference: loop) {
        await handler()
        work.end()
      }
    }
    whenStopping(callout)
  }

  // MARK: - Work

  /// A piece of work that a graceful stop waits for, as a request or connection.
  ///
  /// It ends when you call `end()` or release the last reference.
  public final class Work: Sendable {
    private let daemon: Daemon
    private let isOver = Atomic<Bool>(false)

    fileprivate init(_ daemon: Daemon) {
      self.daemon = daemon
      daemon.machine.withLock { $0.workBegan() }
    }

    deinit { end() }

    /// Ends the work. A second call does nothing. Any thread.
    public func end() {
      guard !isOver.exchange(true, ordering: .acquiringAndReleasing) else { return }
      daemon.perform(daemon.machine.withLock { $0.workEnded() })
    }
  }

  /// Begins a piece of work that a graceful stop waits for. Any thread.
  public func beginWork() -> Work { Work(self) }

  /// The number of pieces of work under way. Any thread.
  public var workCount: Int { machine.withLock { $0.works } }

  /// Whether the daemon is ready and was not asked to stop. Any thread.
  public var isReady: Bool { machine.withLock { $0.isReady } }

  /// Whether the daemon was asked to stop. Any thread.
  public var isStopping: Bool { machine.withLock { $0.isStopping } }

  // MARK: - Running

  /// Runs the loop until the daemon has stopped. The loop's thread.
  ///
  /// It notifies systemd that the daemon is ready. It unblocks SIGTERM, SIGINT and SIGHUP on the calling thread, and
  /// leaves them unblocked. After the run it releases its signals. If other code stops the loop's run, this returns
  /// too. A daemon that has ended does not run again: it returns its outcome.
  @available(*, noasync, message: "Running a loop blocks its thread. Call it from a synchronous function.")
  @discardableResult
  public func run() -> Outcome {
    require(loop.isCurrent, "A daemon runs on the thread of its loop. Make it with Daemon(on: .current).")
    require(!isAwaited, "withDaemon awaits the end of its daemon. Return from its function, or call stop().")
    if let outcome { return outcome }
    ready()
    begin()
    while outcome == nil {
      if loop.run() != .timedOut, outcome == nil { machine.withLock { $0.runWasStopped() } }
    }
    return finish()
  }

  /// Notifies systemd that the daemon is ready. A second call does nothing. Any thread.
  ///
  /// ``run()`` calls it. In ``withDaemon(on:grace:claimsSignals:environment:_:)``, call it when the listeners are
  /// open: a unit of Type=notify fails to start without it.
  public func ready() {
    guard machine.withLock({ $0.becameReady() }) else { return }
    if let predecessor {
      sockets.withLock { $0.closeUnclaimed() }
      predecessor.tellReady(on: loop) { [manager] in manager?.release() }
    }
    tell(.ready)
  }

  /// The loop's thread.
  func begin() {
    // A process that a worker of Dispatch's has started, or a thread, has them all blocked.
    for source in claims.withLock(\.sources) { rondo_signal_unblock(source.signal) }
    feedWatchdog()
  }

  /// The loop's thread.
  func finish() -> Outcome {
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

  /// How the run ended; nil before its end. Any thread.
  public var outcome: Outcome? { machine.withLock { $0.outcome } }

  /// Stops the daemon gracefully, as SIGTERM does. A second call does nothing. Any thread.
  public func stop() {
    stopSource?.signal()
  }

  /// The loop's thread. Calls out.
  private func beginStop() {
    let date = loop.now
    perform(machine.withLock { $0.askedToStop(at: date) })
  }

  /// Ends the run at once, or the one that is yet to begin; no handler is called. Any thread.
  package func endAtOnce() {
    machine.withLock { $0.runWasStopped() }
    endRun()
  }

  /// Any thread.
  private func endRun() {
    if isAwaited { resumeWaiter() } else { loop.requestStop() }
  }

  func resumeWaiter() {
    waiter.withLock { $0.take() }?.resume(())
  }

  // MARK: - What happens

  /// SIGTERM or SIGINT. What the kernel or a busy loop has merged counts as one.
  func heard(_ delivery: SignalSource.Delivery) {
    let date = delivery.date(on: loop)
    perform(machine.withLock { $0.signalled(delivery.signal, at: date) })
  }

  /// Calls out.
  private func perform(_ action: DaemonMachine.Action) {
    switch action {
    case .nothing: break
    case .beginStop:
      succession?.giveUp()
      tell(.stopping)
      let stop = handlers.withLock { handlers in
        defer { handlers.stop = [] }
        return handlers.stop
      }
      for handler in stop.reversed() { handler() }
      perform(machine.withLock { $0.stopHandlersReturned() })
    case .awaitWork:
      tell(.extended(grace + .seconds(5)))
      start("daemon: grace", Loop.Timer(after: grace) { [weak self] _ in self?.timeIsUp() })
    case .end: endRun()
    }
  }

  private func timeIsUp() {
    perform(machine.withLock { $0.timeIsUp() })
  }

  private func feedWatchdog() {
    guard let period = watchdogPeriod, manager != nil else { return }
    // Between one half and three quarters of the time that may pass.
    let timer = Loop.Timer(every: period / 2, tolerance: period / 4) { [weak self] _ in self?.tell(.watchdog) }
    start("daemon: watchdog", timer)
  }

  private func start(_ name: String, _ timer: Loop.Timer) {
    timer.name = name
    timers.append(timer)
    loop.add(timer, to: .common)
  }
}
