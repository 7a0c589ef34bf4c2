import Rondo

/// The life of a daemon, as a machine without threads: what each event means, and what is to be done about it.
struct DaemonMachine {
  private(set) var phase = Phase.starting
  /// How many pieces of work are under way.
  private(set) var works = 0
  /// When it was asked to stop.
  private var stopDate = Instant.distantFuture

  enum Phase: Hashable {
    /// Not ready yet.
    case starting
    case running
    /// It has been asked to stop, and its stop handlers have not been called yet.
    case stopping
    /// They have; it waits for work under way.
    case draining
    case ended(Daemon.Outcome)
  }

  enum Action: Hashable {
    case nothing
    /// Tell the manager, call the stop handlers, then say `stopHandlersReturned()`.
    case beginStop
    /// Wait for work under way, for a limited time.
    case awaitWork
    /// The run is over.
    case end
  }

  var outcome: Daemon.Outcome? {
    if case .ended(let outcome) = phase { outcome } else { nil }
  }

  /// Whether it is ready, and has not been asked to stop.
  var isReady: Bool { phase == .running }

  /// Whether it has been asked to stop.
  var isStopping: Bool { phase != .starting && phase != .running }

  /// The run begins.
  ///
  /// - Returns: Whether readiness is to be told.
  mutating func becameReady() -> Bool {
    guard phase == .starting else { return false }
    phase = .running
    return true
  }

  /// The program asks to stop.
  mutating func askedToStop(at date: Instant) -> Action {
    guard !isStopping else { return .nothing }
    phase = .stopping
    stopDate = date
    return .beginStop
  }

  /// A signal asks to stop. One that comes some time later means at once; before, it is taken for the same wish.
  mutating func signalled(_ signal: CInt, at date: Instant) -> Action {
    if !isStopping { return askedToStop(at: date) }
    return date < stopDate.advanced(by: SignalSource.echo) ? .nothing : end(.interrupted(by: signal))
  }

  mutating func stopHandlersReturned() -> Action {
    guard phase == .stopping else { return .nothing }
    if works == 0 { return end(.drained) }
    phase = .draining
    return .awaitWork
  }

  mutating func workBegan() { works += 1 }

  mutating func workEnded() -> Action {
    works -= 1
    return works == 0 && phase == .draining ? end(.drained) : .nothing
  }

  /// The time for work under way is over.
  mutating func timeIsUp() -> Action {
    phase == .draining ? end(.timedOut(left: works)) : .nothing
  }

  /// Other code has stopped the run.
  mutating func runWasStopped() {
    _ = end(.stopped)
  }

  private mutating func end(_ outcome: Daemon.Outcome) -> Action {
    if case .ended = phase { return .nothing }
    phase = .ended(outcome)
    return .end
  }
}
