import Synchronization

extension Loop {
  /// The handle of a time limit. When the limit has passed, the loop calls the handler.
  ///
  /// Use one for a connection's idle limit or a request's deadline. A timeout fires once and is then dormant until you
  /// arm it again. You can arm, postpone and disarm it any number of times, also in its own handler. The handle is a
  /// number: copying it costs nothing, and the handle of a discarded timeout never refers to another. Use timeouts on
  /// the loop's thread only; they need neither object nor lock:
  ///
  /// ```swift
  /// connection.idle = loop.makeTimeout(after: .seconds(30)) { [connection] in connection.expire() }
  /// loop.run(for: .seconds(20))
  /// loop.arm(connection.idle, after: .seconds(30))  // It has sent something.
  /// loop.run(for: .seconds(60))
  /// loop.discard(connection.idle)  // It has gone.
  /// ```
  ///
  /// A handler that captures one object and nothing else, as this one, is stored without an allocation. For a repeating
  /// time, other threads or several modes, use a ``Timer``.
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

  /// Makes a timeout that fires `delay` from now; dormant without a delay. The loop's thread.
  ///
  /// The loop keeps the timeout and its handler until you discard it or the loop ends, whether it has fired or not. A
  /// loop that has ended returns a handle that is already stale. A timeout takes 64 bytes, and while it is armed 16
  /// more, with a tolerance 32.
  ///
  /// - Parameters:
  ///   - mode: The mode whose runs fire it, or `.common` for all common modes, future ones included.
  ///   - tolerance: How much later it may fire so that the loop can share wakeups. Not negative.
  public func makeTimeout(
    after delay: Duration? = nil, tolerance: Duration = .zero, in mode: Mode = .default,
    handler: consuming @escaping () -> Void
  ) -> Timeout {
    checkTimeoutThread()
    let tolerance = Schedule.validTolerance(tolerance, of: "A timeout")
    guard let group = timeoutGroup(of: mode) else {
      return Timeout(token: Token(slot: .max, generation: 0), loop: core.timers.number)
    }
    let date = delay.map { Schedule.date(after: $0, from: now) }
    let token = core.makeTimeout(group: group, at: date, tolerance: tolerance, .closure(consume handler))
    return Timeout(token: token, loop: core.timers.number)
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
    guard let group = timeoutGroup(of: mode) else { return nil }
    let handler = unsafe TimeoutHandler.function(function, context)
    let token = core.makeTimeout(
      group: group, at: date == .distantFuture ? nil : Schedule.date(at: date),
      tolerance: min(tolerance, Schedule.longest), handler)
    return Timeout(token: token, loop: core.timers.number)
  }

  /// Arms the timeout to fire `delay` from now, or moves it there. The loop's thread.
  ///
  /// It reads the clock. Postponing is O(1); arming and bringing forward are O(log n).
  ///
  /// - Returns: False, and nothing changes, if the timeout has been discarded or belongs to another loop.
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

  /// Arms the timeout to fire at `date`, or moves it there. The loop's thread.
  ///
  /// It is like ``arm(_:after:)``, but does not read the clock. The clock stops while the machine is suspended.
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

  /// Keeps the timeout from firing until you arm it again. The loop's thread; O(1).
  ///
  /// - Returns: False if the timeout has been discarded or belongs to another loop.
  @discardableResult
  public func disarm(_ timeout: Timeout) -> Bool {
    guard mayEndTimeouts, let slot = core.slot(of: timeout) else { return false }
    core.disarm(slot)
    return true
  }

  /// Ends the timeout and frees its handler. The loop's thread; O(log n).
  ///
  /// Inside its own handler, the loop frees the handler when it returns.
  ///
  /// - Returns: False if the timeout was discarded before or belongs to another loop.
  @discardableResult
  public func discard(_ timeout: Timeout) -> Bool {
    guard mayEndTimeouts, let slot = core.slot(of: timeout) else { return false }
    // What dies with the handler finds the timeout gone.
    _ = core.discard(slot)
    return true
  }

  /// The date at which the timeout fires; nil if it is not armed here. The loop's thread.
  ///
  /// Nil for a timeout that is dormant, discarded or of another loop.
  public func fireDate(of timeout: Timeout) -> SuspendingClock.Instant? {
    checkTimeoutThread()
    guard let slot = core.slot(of: timeout), core.timers[slot].isArmed else { return nil }
    return core.timers[slot].date.suspending
  }

  /// Whether you can arm the timeout: this loop made it, and it is not discarded. The loop's thread.
  package func holds(_ timeout: Timeout) -> Bool {
    checkTimeoutThread()
    return core.slot(of: timeout) != nil
  }

  /// False in a forked child: a timeout of the parent's stays as it is.
  @inline(__always)
  private var mayEndTimeouts: Bool {
    if isCurrent { return true }
    if thread.isOfThisProcess { failOnWrongThread() }
    return false
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

  /// The group of a mode, which exists from now on; nil once the loop has ended.
  @inline(__always)
  private func timeoutGroup(of mode: Mode) -> GroupNumber? {
    if core.timers.isClosed { return nil }
    return mode == .default ? 0 : makeTimeoutGroup(of: mode)
  }

  @inline(never)
  private func makeTimeoutGroup(of mode: Mode) -> GroupNumber {
    let common = ModeSet(modes: 0, isCommon: true)
    if mode == .common, let group = core.timers.group(of: common) { return group }
    core.makeRoom(for: mode)
    let modes = mailbox.withLock { state in
      if mode != .common { return ModeSet(modes: 1 << UInt64(state.modes.makeIndex(of: mode)), isCommon: false) }
      // Modes that become common from now on exist as well, as if a common item were there.
      mailbox.commonItemCount.add(1, ordering: .relaxed)
      state.modes.makeAwaitedModes()
      return common
    }
    return core.group(of: modes)
  }
}
