import Synchronization

extension Loop {
  /// A handle of what a loop calls when a time is over. Until then it can be put off. A connection's idle limit is one, or a
  /// request's.
  ///
  /// It fires once and is dormant then, until it is armed again; it can be armed, put off and disarmed any number of
  /// times, in its own callout as well. The handle is a number: copying it costs nothing, and one whose timeout has been
  /// discarded never means another. Timeouts belong to the loop's thread, which pays neither object nor lock for them:
  ///
  /// ```swift
  /// connection.idle = loop.makeTimeout(after: .seconds(30)) { [connection] in connection.expire() }
  /// loop.run(for: .seconds(20))
  /// loop.arm(connection.idle, after: .seconds(30))  // It has sent something.
  /// loop.run(for: .seconds(60))
  /// loop.discard(connection.idle)  // It has gone.
  /// ```
  ///
  /// A handler that captures one object and nothing else, as this one, is stored without an allocation. What repeats, is
  /// set from other threads or belongs to several modes is a ``Timer``.
  public struct Timeout: Hashable, Sendable {
    /// Which timeout of its loop.
    let token: Token
    /// Which loop.
    let loop: UInt32

    @inline(__always)
    init(token: Token, loop: UInt32) {
      self.token = token
      self.loop = loop
    }

    /// The handle that these two numbers say, for languages that keep it as numbers.
    package init(token: UInt64, loop: UInt32) {
      self.init(token: Token(token), loop: loop)
    }

    /// What `init(token:loop:)` takes.
    package var numbers: (token: UInt64, loop: UInt32) { (token.packed, loop) }
  }

  /// Makes a timeout, armed to fire `delay` from now, or dormant without one. The loop's thread.
  ///
  /// The loop keeps it and its handler until it is discarded or the loop ends, fired or not; a loop that has ended keeps
  /// nothing, and the handle is stale at once. It takes 64 bytes, and while it is armed 16 more, with tolerance 32.
  ///
  /// - Parameters:
  ///   - mode: The mode whose runs fire it, or `.common` for all the common modes, those to come included.
  ///   - tolerance: How much later it may fire so that wakeups are shared. Not negative.
  public func makeTimeout(
    after delay: Duration? = nil, tolerance: Duration = .zero, in mode: Mode = .default,
    handler: consuming @escaping () -> Void
  ) -> Timeout {
    checkTimeoutThread()
    let tolerance = Schedule.validTolerance(tolerance, of: "A timeout")
    guard let queue = timeoutQueue(of: mode) else {
      return Timeout(token: Token(slot: .max, generation: 0), loop: core.timeouts.number)
    }
    let token = core.timeouts.insert(queue: queue, tolerance: tolerance, .closure(consume handler))
    if let delay { core.arm(token.slot, at: Schedule.date(after: delay, from: now)) }
    return Timeout(token: token, loop: core.timeouts.number)
  }

  /// Makes a timeout that calls a function of C, in a mode that the loop has room for. The loop's thread.
  ///
  /// - Parameters:
  ///   - date: `.distantFuture` for a dormant one.
  ///   - tolerance: Nanoseconds, not negative.
  /// - Returns: Nil once the loop has ended.
  package func makeTimeout(
    at date: Instant, tolerance: Int64, in mode: Mode,
    calling function: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void,
    _ context: UnsafeMutableRawPointer?
  ) -> Timeout? {
    checkTimeoutThread()
    guard let queue = timeoutQueue(of: mode) else { return nil }
    let handler = unsafe TimeoutHandler.function(function, context)
    let token = core.timeouts.insert(queue: queue, tolerance: min(tolerance, Schedule.longest), handler)
    if date != .distantFuture { core.arm(token.slot, at: Schedule.date(at: date)) }
    return Timeout(token: token, loop: core.timeouts.number)
  }

  /// Arms the timeout to fire `delay` from now, or moves it there. The loop's thread.
  ///
  /// Reads the clock. Putting off costs a store, O(1); arming and bringing forward O(log n).
  ///
  /// - Returns: False, and nothing is done, if the timeout has been discarded or is another loop's.
  @discardableResult
  public func arm(_ timeout: Timeout, after delay: Duration) -> Bool {
    checkTimeoutThread()
    guard let slot = core.slot(of: timeout) else {
      if Hint.isOn { core.hintAtStale(timeout) }
      return false
    }
    core.arm(slot, at: Schedule.date(after: delay, from: now))
    return true
  }

  /// Arms the timeout to fire at `date`, or moves it there. The clock stands still while the machine is suspended. The
  /// loop's thread.
  ///
  /// Like ``arm(_:after:)``, for who has a date already: it need not read the clock.
  @discardableResult
  public func arm(_ timeout: Timeout, at date: SuspendingClock.Instant) -> Bool {
    arm(timeout, at: Instant(date))
  }

  /// The same for a date in the core's terms.
  package func arm(_ timeout: Timeout, at date: Instant) -> Bool {
    checkTimeoutThread()
    guard let slot = core.slot(of: timeout) else {
      if Hint.isOn { core.hintAtStale(timeout) }
      return false
    }
    core.arm(slot, at: Schedule.date(at: date))
    return true
  }

  /// Keeps the timeout from firing until it is armed again. The loop's thread; O(1).
  ///
  /// - Returns: False if the timeout has been discarded or is another loop's.
  @discardableResult
  public func disarm(_ timeout: Timeout) -> Bool {
    checkTimeoutThread()
    guard let slot = core.slot(of: timeout) else { return false }
    core.disarm(slot)
    return true
  }

  /// Ends the timeout and lets go of its handler, in its own callout after that. The loop's thread; O(1).
  ///
  /// - Returns: False if the timeout has been discarded before or is another loop's.
  @discardableResult
  public func discard(_ timeout: Timeout) -> Bool {
    checkTimeoutThread()
    guard let slot = core.slot(of: timeout) else { return false }
    // What dies with the handler finds the timeout gone.
    _ = core.discard(slot)
    return true
  }

  /// When the timeout fires; nil if it is dormant, discarded or another loop's. The loop's thread.
  public func fireDate(of timeout: Timeout) -> SuspendingClock.Instant? {
    checkTimeoutThread()
    guard let slot = core.slot(of: timeout), core.timeouts[slot].isArmed else { return nil }
    return core.timeouts[slot].date.suspending
  }

  /// Whether the timeout can be armed: it is this loop's and has not been discarded. The loop's thread.
  public func holds(_ timeout: Timeout) -> Bool {
    checkTimeoutThread()
    return core.slot(of: timeout) != nil
  }

  @inline(__always)
  private func checkTimeoutThread() {
    if !isCurrent { failOnWrongThread() }
  }

  @inline(never)
  private func failOnWrongThread() -> Never {
    checkProcess()
    fatalError("A timeout belongs on the thread of its loop. Use loop.perform { … }, or a Timer.")
  }

  /// The queue of a mode, which exists from now on; nil once the loop has ended.
  @inline(__always)
  private func timeoutQueue(of mode: Mode) -> UInt8? {
    if core.timeouts.isClosed { return nil }
    if mode == .default { return 0 }
    if mode == .common, core.timeouts.hasCommon { return TimeoutRecord.commonModes }
    return makeTimeoutQueue(of: mode)
  }

  @inline(never)
  private func makeTimeoutQueue(of mode: Mode) -> UInt8 {
    mailbox.withLock { state in
      if mode != .common { return UInt8(state.modes.makeIndex(of: mode)) }
      // Whatever becomes common from now on exists as well, as if a common item were there.
      mailbox.commonItemCount.add(1, ordering: .relaxed)
      state.modes.makeAwaitedModes()
      core.timeouts.hasCommon = true
      return TimeoutRecord.commonModes
    }
  }
}
