public import Rondo
public import RondoSockets

/// Disables a source that is called too often, and enables it again later.
///
/// Use it against a client that reconnects without end, a file that is written again and again, or a faulty device.
/// Each would keep the loop busy. While a source rests, the kernel does not watch it; events wait in the kernel, and
/// none is lost. See sd_event_source_set_ratelimit(3).
///
/// ```swift
/// let limiter = RateLimiter(.init(100, per: .seconds(1))) { _, event in log.note("\(event)") }
/// let listener = SocketSource(
///   try .listening(at: .loopback()), for: .accept, handler: limiter.limiting { _, event in log.note("\(event)") })
/// loop.add(listener)
/// ```
///
/// Make one limiter for each source, before the source; a second use traps. Sources without a limiter cost nothing
/// more.
public final class RateLimiter: @unchecked Sendable {
  /// The limit of the source.
  public let limit: RateLimit
  /// *its lock*
  private let state: Guarded<State>
  /// *constant* Called on the thread of the source's loop.
  private let told: (RateLimiter, Event) -> Void

  /// A change of the limited source.
  public enum Event: Hashable, Sendable {
    /// The source has spent its burst, and rests for this time. Nil until you call `resume()`.
    case rests(for: Duration?)
    /// The source is called again from now on.
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
    /// When it is over; nil for until `resume()`.
    let timer: Loop.Timer?
    /// What has been taken from the subject, to be given back.
    var taken: UInt8 = 0
    /// Whether the user has been told of it.
    var isTold = false
  }

  /// Makes a limiter for one source.
  ///
  /// - Parameter told: Called on the thread of the source's loop, after the last callout of a burst, and when the
  ///   source is called again.
  public init(_ limit: RateLimit, told: sending @escaping (RateLimiter, Event) -> Void = { _, _ in }) {
    self.limit = limit
    self.told = told
    state = Guarded(State(machine: RateMachine(limit)))
  }

  /// Whether the source rests. Any thread.
  package var isResting: Bool { state.withLock { $0.machine.isResting } }

  /// Ends the source's rest and allows a whole burst. Any thread. Without a rest it does nothing.
  ///
  /// From another thread it takes effect when the loop runs a mode of the source.
  public func resume() {
    guard let rest = state.withLock({ $0.rest }) else { return }
    if rest.loop.isCurrent { return endRest(telling: true) }
    let isOnItsWay = rest.loop.perform(in: rest.subject.modes(in: rest.loop)) { self.endRest(telling: true) }
    // Its loop has ended. It may have another one by now.
    if !isOnItsWay { endRest(telling: false) }
  }

  // MARK: - Handlers

  /// Makes a handler for a descriptor source. The limiter disables the source while it rests.
  ///
  /// If you enable a way of readiness during the rest, its calls come after the rest. If you disable one during the
  /// rest, the end of the rest enables it again.
  public func limiting<Readiness>(
    _ handler: sending @escaping (Loop.DescriptorSource, Readiness) -> Void
  ) -> sending (Loop.DescriptorSource, Readiness) -> Void {
    let lease = Lease(self)
    return { source, readiness in
      lease.limiter.call(.descriptor(source), mayLeaveOut: true) { handler(source, readiness) }
    }
  }

  /// Makes a handler for a socket source. Connections, data and readability count.
  ///
  /// The limiter disables these callbacks while the source rests.
  public func limiting(
    _ handler: sending @escaping (SocketSource, SocketSource.Event) -> Void
  ) -> sending (SocketSource, SocketSource.Event) -> Void {
    let lease = Lease(self)
    return { source, event in
      switch event {
      case .accepted, .received, .datagram, .readable:
        lease.limiter.call(.socket(source), mayLeaveOut: false) { handler(source, event) }
      default: handler(source, event)
      }
    }
  }

  /// Makes a handler for any other source of RondoDaemon. Its events are counted or kept while it rests.
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
    require(owner === subject.object, "A RateLimiter is for one source. Make another for each of the others.")
    switch verdict {
    case .more: handler()
    case .last(let rest):
      // Before the handler, which may run the loop and never return.
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
    // The rest has ended since.
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

  /// Held by the handler of what is limited, and so released when that is invalidated: its rest is over then, and the
  /// user is not told. Any thread.
  fileprivate final class Lease: Sendable {
    let limiter: RateLimiter

    init(_ limiter: RateLimiter) {
      self.limiter = limiter
    }

    deinit { limiter.endRest(telling: false) }
  }
}

extension Loop.Source {
  /// Makes a source that rests when it has been performed too often.
  ///
  /// A signal during the rest causes a perform after the rest. Each signal costs its loop a turn.
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
