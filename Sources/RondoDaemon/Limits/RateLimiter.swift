public import Rondo
public import RondoSockets

/// Has a source rest when it is called too often, and brings it back. See sd_event_source_set_ratelimit(3).
///
/// A client that reconnects without end, a file that is written again and again, a device gone mad: each keeps a loop busy
/// for nothing, and this loop alone pays for it. While a source rests the kernel is not even asked, what comes waits where
/// it is, and nothing is lost.
///
/// ```swift
/// let limiter = RateLimiter(.init(100, per: .seconds(1))) { _, event in log.note("\(event)") }
/// let listener = SocketSource(
///   try .listening(at: .loopback()), for: .accept, handler: limiter.limiting { _, event in log.note("\(event)") })
/// loop.add(listener)
/// ```
///
/// One for each source, made before it; that is checked. A source that has no limit pays nothing for those that have.
public final class RateLimiter: @unchecked Sendable {
  /// *constant*
  public let limit: RateLimit
  /// *its lock*
  private let state: Guarded<State>
  /// *constant* Called on the thread of the source's loop.
  private let told: (RateLimiter, Event) -> Void

  /// What is said of a source.
  public enum Event: Hashable, Sendable {
    /// It has spent its burst, and is not called for this time. Nil is until it is resumed by hand.
    case rests(for: Duration?)
    /// It is called again from now on.
    case resumed
  }

  private struct State {
    var machine: RateMachine
    /// Whose limit it is.
    weak var owner: AnyObject?
    /// While it rests, or is about to.
    var rest: Rest?
  }

  /// A rest, from the callout that spends the burst on. *its limiter's lock*
  private struct Rest {
    let subject: Subject
    let loop: Loop
    /// When it is over; nil for until somebody says so.
    let timer: Loop.Timer?
    /// What has been taken from the subject, to be given back.
    var taken: UInt8 = 0
    /// Whether somebody has been told of it.
    var isTold = false
  }

  /// A limiter for one source.
  ///
  /// - Parameter told: Called on the thread of the source's loop, after the callout that was the last, and when it is
  ///   back.
  public init(_ limit: RateLimit, told: sending @escaping (RateLimiter, Event) -> Void = { _, _ in }) {
    self.limit = limit
    self.told = told
    state = Guarded(State(machine: RateMachine(limit)))
  }

  /// Whether the source rests. Any thread.
  public var isResting: Bool { state.withLock { $0.machine.isResting } }

  /// Brings the source back, with a whole burst before it. Any thread. Without a rest it changes nothing.
  ///
  /// From another thread it is back when a mode of the source's runs.
  public func resume() {
    guard let rest = state.withLock({ $0.rest }) else { return }
    if rest.loop.isCurrent { return endRest(telling: true) }
    let isOnItsWay = rest.loop.perform(in: rest.subject.modes(in: rest.loop)) { self.endRest(telling: true) }
    // Its loop has ended. It may have another one by now.
    if !isOnItsWay { endRest(telling: false) }
  }

  // MARK: - Handlers

  /// A handler for a descriptor source, which is disabled while it rests.
  ///
  /// What is enabled by hand meanwhile is told when the rest is over, and what is disabled comes back with it, too.
  public func limiting<Readiness>(
    _ handler: sending @escaping (Loop.DescriptorSource, Readiness) -> Void
  ) -> sending (Loop.DescriptorSource, Readiness) -> Void {
    let lease = Lease(self)
    return { source, readiness in
      lease.limiter.call(.descriptor(source), mayLeaveOut: true) { handler(source, readiness) }
    }
  }

  /// A handler for a socket source. Connections, data and readability count, and are disabled while it rests.
  public func limiting(
    _ handler: sending @escaping (SocketSource, SocketSource.Event) -> Void
  ) -> sending (SocketSource, SocketSource.Event) -> Void {
    let lease = Lease(self)
    return { source, event in
      switch event {
      case .accepted, .received, .readable:
        lease.limiter.call(.socket(source), mayLeaveOut: false) { handler(source, event) }
      default: handler(source, event)
      }
    }
  }

  /// A handler for any other source of a daemon's. What it tells of is counted or kept while it rests.
  public func limiting<Source: DaemonSource, Told>(
    _ handler: sending @escaping (Source, Told) -> Void
  ) -> sending (Source, Told) -> Void {
    let lease = Lease(self)
    return { source, told in
      guard let item = source.items[0] as? Loop.DescriptorSource else { return handler(source, told) }
      lease.limiter.call(.descriptor(item), mayLeaveOut: false) { handler(source, told) }
    }
  }

  // MARK: - Counting

  /// Makes a callout, if it may be made, and puts the subject to rest if it was the last. Calls out.
  ///
  /// - Parameter mayLeaveOut: Whether what it tells is told again by itself, or by the subject's being given back.
  fileprivate func call(_ subject: Subject, mayLeaveOut: Bool, _ handler: () -> Void) {
    let loop = Loop.current
    let now = loop.clock.now
    let nanoseconds = Self.epoch.duration(to: now).saturatingNanoseconds
    let (owner, verdict) = state.withLock { state -> (AnyObject, RateMachine.Verdict) in
      let owner = state.owner ?? subject.object
      state.owner = owner
      return (owner, state.machine.count(now: nanoseconds))
    }
    contract(owner === subject.object, "A RateLimiter is for one source. Make another for each of the others.")
    switch verdict {
    case .more: handler()
    case .last(let rest):
      // Before the handler, which may run the loop, and for ever.
      beginRest(of: subject, in: loop, until: rest.map { now.advanced(by: .nanoseconds($0)) })
      handler()
      lay(subject, isAgain: false)
      tellRest(rest)
    case .tooMany:
      if !mayLeaveOut { handler() }
      lay(subject, isAgain: true)
    }
  }

  private static let epoch = SuspendingClock.now

  private func beginRest(of subject: Subject, in loop: Loop, until end: SuspendingClock.Instant?) {
    let timer = end.map { Loop.Timer(at: $0) { [self] _ in endRest(telling: true) } }
    timer?.name = "rest of a rate limiter"
    state.withLock { state in
      if state.machine.isResting { state.rest = Rest(subject: subject, loop: loop, timer: timer) }
    }
    guard let timer else { return }
    for mode in subject.modes(in: loop) { loop.add(timer, to: mode) }
  }

  /// Takes from a subject that rests what it is called for.
  private func lay(_ subject: Subject, isAgain: Bool) {
    guard isResting else { return }
    let taken = subject.lay(isAgain: isAgain)
    let isOver = state.withLock { state in
      state.rest?.taken |= taken
      return state.rest == nil
    }
    // It has ended elsewhere meanwhile.
    if isOver { subject.raise(taken) }
  }

  /// Calls out.
  private func tellRest(_ nanoseconds: Int64?) {
    let isTold = state.withLock { state in
      state.rest?.isTold = true
      return state.rest?.subject.isValid == true
    }
    if isTold { told(self, .rests(for: nanoseconds.map { .nanoseconds($0) })) }
  }

  /// Calls out.
  private func endRest(telling: Bool) {
    let ended = state.withLock { state -> Rest? in
      guard state.machine.resume() else { return nil }
      defer { state.rest = nil }
      return state.rest
    }
    guard let ended else { return }
    ended.timer?.invalidate()
    guard ended.subject.isValid else { return }
    ended.subject.raise(ended.taken)
    if telling, ended.isTold { told(self, .resumed) }
  }

  /// Held by the handler of what is limited, and so let go when that is invalidated: its rest is over then, and nobody is
  /// told. Any thread.
  fileprivate final class Lease: Sendable {
    let limiter: RateLimiter

    init(_ limiter: RateLimiter) {
      self.limiter = limiter
    }

    deinit { limiter.endRest(telling: false) }
  }
}

extension Loop.Source {
  /// A source that rests when it has been performed too often. What is signalled meanwhile is performed when it is
  /// back.
  ///
  /// A signal still costs its loop a turn.
  public convenience init(
    order: Int = 0, limitedBy limiter: RateLimiter, perform: sending @escaping () -> Void
  ) {
    let own = Guarded(WeakSource())
    let lease = RateLimiter.Lease(limiter)
    self.init(order: order) {
      guard let source = own.withLock({ $0.source }) else { return }
      lease.limiter.call(.source(source), mayLeaveOut: true, perform)
    }
    own.withLock { $0.source = self }
  }

  private struct WeakSource {
    weak var source: Loop.Source?
  }
}
