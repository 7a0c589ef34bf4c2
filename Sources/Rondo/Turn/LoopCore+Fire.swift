/// 9. Due timers and timeouts.
extension LoopCore {
  /// 9. Fires every timer and timeout of the mode whose date had passed when the wait ended. Calls out.
  @inline(__always)
  func fireDueTimers(_ frame: RunFrame) {
    assertOwnThread()
    guard frame.turn.firesTimers, timers.hasQueued(in: frame.mode) else { return }
    let limit = now
    if timers[frame.mode.own].mayHaveDue(limit) || frame.mode.hasOthers { fireTimersPresent(frame, limit) }
  }

  @inline(never)
  private func fireTimersPresent(_ frame: RunFrame, _ limit: Instant) {
    timers.collectDue(limit, in: frame.mode, into: &frame.due)
    if frame.due.isEmpty { return }
    counters.pulse.enter(.timers)
    frame.nextDue = 0
    if frame.due.count > 1 { permuteDue(frame) }
    while frame.nextDue < frame.due.count {
      let token = frame.due[frame.nextDue].token
      announceDue(frame)
      frame.nextDue &+= 1
      fire(token, frame, limit)
    }
    frame.due.empty()
  }

  /// So many rows, with their timers, are in a cache when their turn comes. Chosen.
  private static let fewInCache = 1_024

  /// Prefetches the memory of those that fire soon: a million timers do not fit into a cache.
  @inline(__always)
  private func announceDue(_ frame: RunFrame) {
    guard frame.due.count > Self.fewInCache, frame.nextDue &+ 16 < frame.due.count else { return }
    timers.rows.prefetch(frame.due[frame.nextDue + 16].token.slot)
    timers.rows.prefetchTimer(frame.due[frame.nextDue + 8].token.slot)
  }

  /// Fires one row of the batch, if it is still due. Calls out.
  ///
  /// - Parameter limit: The time by which the batch was collected.
  @inline(__always)
  func fire(_ token: Token, _ frame: RunFrame, _ limit: Instant) {
    assertOwnThread()
    guard timers.holds(token), timers[token.slot].isArmed else { return }
    if case .timer(let timer) = timers[token.slot].target {
      unsafe timer._withUnsafeGuaranteedRef { fire($0, token, frame, limit) }
    } else {
      fireTimeout(token, limit)
    }
  }

  /// Before the callout, a repeating timer is armed for its next date. In its callout it does not fire: a nested run
  /// takes it out of its queue, and the end of the callout puts it back. Calls out.
  @inline(__always)
  private func fire(_ timer: Loop.Timer, _ token: Token, _ frame: RunFrame, _ limit: Instant) {
    let slot = token.slot
    guard timer.belongs(to: frame.mode.bit), timer.isValid, !isCalling(timer) else { return }
    let date = timer.date
    guard let fire = timer.beginFire(of: date, by: limit) ?? timer.beginFire(of: date, by: wait.now) else {
      // An earlier callout of this turn has put it off, or another thread has.
      if !timers[slot].isQueued { schedule(timer, slot) }
      return
    }
    timers.dequeue(slot)
    let rows = timers.rows
    let missed = rows[slot].missed
    rows[slot].missed = UInt32(clamping: fire.passed)
    if let next = fire.next { setDate(slot, next) } else { timers[slot].isArmed = false }
    counters.timerCallouts.count()
    if missed > 0 { counters.missedTicks.count(UInt64(missed)) }
    frame.calling = ObjectIdentifier(timer)
    if hasDelegate {
      callOutRecorded(timer, fire.date, limit, missed)
    } else {
      callOutTimer(
        timer,
        Loop.Timer.Tick(timer: timer, scheduledAt: fire.date, firedAt: max(fire.date, limit), missed: Int(missed)))
    }
    frame.calling = nil
    if let next = fire.next {
      forgetClock()
      if next > now, timers.holds(token), timers[slot].isQueued { return }
    }
    finishFire(of: timer, fire.next)
  }

  /// A one-shot without another date ends. A repeating timer passes over what has passed in its callout. What a nested run
  /// has taken out of its queue comes back.
  @inline(never)
  private func finishFire(of timer: Loop.Timer, _ next: Instant?) {
    if timer.hasNothingToFire { return timer.invalidate() }
    guard timer.isIn(loop), let token = timers.token(of: timer) else { return }
    if let next, next <= now, let fire = timer.beginFire(of: next, by: now) {
      timers[token.slot].missed &+= UInt32(clamping: fire.passed + 1)
    } else if timers[token.slot].isQueued {
      return
    }
    schedule(timer, token.slot)
  }

  /// Calls out.
  private func fireTimeout(_ token: Token, _ limit: Instant) {
    let slot = token.slot
    let date = timers[slot].date
    guard date <= limit || date <= wait.now else {
      // An earlier callout of this turn has put it off.
      if !timers[slot].isQueued { enqueue(slot) }
      return
    }
    // In its own callout, which a nested run's turn is in the middle of, it waits for the callout's end.
    guard case .timeout(let handler)? = timers[slot].target.take() else { return }
    // An earlier callout may have armed it again.
    timers.dequeue(slot)
    disarm(slot)
    counters.timerCallouts.count()
    if hasDelegate { callOutRecorded(slot, date, handler) } else { callOutTimeout(handler) }
    // Discarded in its callout, its handler dies here; the slot may be another timeout's.
    guard timers.holds(token) else { return }
    timers[slot].target = .timeout(handler)
    if timers[slot].isArmed, !timers[slot].isQueued { enqueue(slot) }
  }

  /// A nested run must find what enclosing runs have collected and not fired yet. It stays collected as well: what the
  /// nested run does not fire, the enclosing one does.
  func returnDueTimers(to mode: ModeState) {
    assertOwnThread()
    for frame in frames {
      for slot in frame.due.dropFirst(frame.nextDue).filter({ timers.holds($0.token) }).map(\.token.slot) {
        // Two runs may have collected it.
        if timers[slot].isArmed, !timers[slot].isQueued, timers[timers[slot].group].modes.contains(mode) {
          enqueue(slot)
        }
      }
    }
  }

  /// The date of the mode's next timer, of those in a batch or in a callout as well.
  func nextFireDate(in mode: ModeState) -> Instant {
    var next = timers.nextDates(in: mode).fire
    for token in frames.flatMap(\.due).map(\.token) where timers.holds(token) {
      guard timers[timers[token.slot].group].modes.contains(mode) else { continue }
      if let timer = timers.timer(token.slot) {
        next = min(next, timer.date)
      } else if timers[token.slot].isArmed {
        next = min(next, timers[token.slot].date)
      }
    }
    return next
  }
}
