/// Timers and timeouts: what arms, queues and fires them. Only the loop's thread knows of rows, so nothing here locks.
extension LoopCore {
  // MARK: - Dates

  /// Sets the date of a row. O(1) if it is queued and the date is no earlier; O(log n) otherwise.
  @inline(__always)
  private func setDate(_ slot: UInt32, _ date: Instant) {
    let old = timers[slot].date
    timers[slot].date = date
    timers[slot].stamp = nextStamp()
    if timers[slot].isQueued {
      // Entries are lower bounds: they are made exact when they reach the top.
      if date < old { bringForward(slot) }
    } else {
      enqueue(slot)
    }
  }

  @inline(never)
  private func bringForward(_ slot: UInt32) {
    assertOwnThread()
    cancelHostSleep()
    unsafe group(slot)._withUnsafeGuaranteedRef { $0.timers.bringForward(slot, in: timers) }
  }

  @inline(__always)
  private func enqueue(_ slot: UInt32) {
    assertOwnThread()
    cancelHostSleep()
    unsafe group(slot)._withUnsafeGuaranteedRef { $0.timers.insert(slot, in: timers) }
  }

  private func dropEntries(_ slot: UInt32) {
    assertOwnThread()
    unsafe group(slot)._withUnsafeGuaranteedRef { $0.timers.remove(slot, in: timers) }
  }

  // MARK: - Timers

  /// The modes of this loop whose runs fire the timer.
  func modes(of timer: Loop.Timer) -> UInt64 {
    assertOwnThread()
    return timers.token(of: timer).map { modeSet($0.slot).modes } ?? 0
  }

  func modeSet(_ slot: UInt32) -> ModeSet {
    unsafe group(slot)._withUnsafeGuaranteedRef { $0.modes }
  }

  /// Has runs of the modes in `mask`, too, fire the timer.
  func install(_ timer: Loop.Timer, in mask: UInt64) {
    assertOwnThread()
    if let token = timers.token(of: timer) {
      move(timer, token.slot, to: modes(of: timer) | mask)
    } else {
      let number = group(of: ModeSet(modes: mask, isCommon: false))
      let slot = timers.insert(timer, group: number)
      join(number, slot, isKept: true)
      schedule(timer, slot)
    }
  }

  /// Takes the timer, which has left the modes in `mask`, out of their queues. See `uninstall(_:from:)`.
  ///
  /// - Returns: The timer if nothing keeps it here and no callout of it is under way.
  func uninstall(_ timer: Loop.Timer, from mask: UInt64) -> Loop.Item? {
    assertOwnThread()
    guard let token = timers.token(of: timer) else {
      timer.clearOwnerIfUnregistered()
      return nil
    }
    let remaining = mask == .max ? 0 : modes(of: timer) & ~mask
    if remaining != 0 || timer.isCommon {
      move(timer, token.slot, to: remaining)
      return nil
    }
    leaveGroup(token.slot, isKept: true)
    return finishEviction(timers.freeSlot(token.slot))
  }

  private func move(_ timer: Loop.Timer, _ slot: UInt32, to mask: UInt64) {
    let number = group(of: ModeSet(modes: mask, isCommon: false))
    if number == timers[slot].group { return }
    leaveGroup(slot, isKept: true)
    join(number, slot, isKept: true)
    schedule(timer, slot)
  }

  /// Takes the timer's date and tolerance over, and queues it unless its only fire has begun.
  private func schedule(_ timer: Loop.Timer, _ slot: UInt32) {
    timers[slot].isArmed = !timer.hasNothingToFire
    guard timers[slot].isArmed else { return }
    let schedule = timer.schedule
    if timers[slot].differs(from: schedule) {
      if timers[slot].isQueued { dropEntries(slot) }
      timers[slot].tolerance = schedule.effectiveTolerance
      timers[slot].isPrecise = schedule.isPrecise
    }
    setDate(slot, schedule.fireDate)
  }

  /// The timer's date, interval or tolerance was set. The timer is this loop's.
  func reschedule(_ timer: Loop.Timer) {
    assertOwnThread()
    if let token = timers.token(of: timer) { schedule(timer, token.slot) }
  }

  /// The timer's date was set on the loop's thread, most often to a later one. The timer is this loop's.
  @inline(__always)
  func reschedule(_ timer: Loop.Timer, at date: Instant) {
    assertOwnThread()
    guard let token = timers.token(of: timer) else { return }
    if timers[token.slot].isArmed, timers[token.slot].isQueued, date >= timers[token.slot].date {
      setDate(token.slot, date)
    } else {
      schedule(timer, token.slot)
    }
  }

  // MARK: - Timeouts

  /// Makes a timeout that is not armed.
  func makeTimeout(group number: GroupNumber, tolerance: Int64, _ handler: consuming TimeoutHandler) -> Token {
    assertOwnThread()
    let slot = timers.insert(.timeout(consume handler), group: number)
    timers[slot].tolerance = tolerance
    join(number, slot, isKept: false)
    return timers.token(slot)
  }

  /// The slot of a timeout of this loop that has not been discarded.
  @inline(__always)
  func slot(of timeout: Loop.Timeout) -> UInt32? {
    assertOwnThread()
    return timeout.loop == timers.number && timers.holds(timeout.token) ? timeout.token.slot : nil
  }

  func arm(_ slot: UInt32, at date: Instant) {
    assertOwnThread()
    if !timers[slot].isArmed {
      timers[slot].isArmed = true
      unsafe group(slot)._withUnsafeGuaranteedRef { $0.keptCount += 1 }
    }
    setDate(slot, date)
  }

  /// Its entries stay where they are until they reach the top, or until they serve again.
  @inline(__always)
  func disarm(_ slot: UInt32) {
    assertOwnThread()
    guard timers[slot].isArmed else { return }
    timers[slot].isArmed = false
    unsafe group(slot)._withUnsafeGuaranteedRef { $0.keptCount -= 1 }
  }

  /// - Returns: What it called, for the caller to release; nil while its callout is under way.
  func discard(_ slot: UInt32) -> TimerTarget? {
    leaveGroup(slot, isKept: timers[slot].isArmed)
    return timers.remove(slot)
  }

  /// Discards every timeout: the loop ends. Calls out.
  func discardTimeouts() {
    assertOwnThread()
    timers.isClosed = true
    for token in timers.all where timers.holds(token) && timers.timer(token.slot) == nil { _ = discard(token.slot) }
  }

  // MARK: - In the turn

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
    if timers[slot].isQueued { dropEntries(slot) }
    let missed = timers[slot].missed
    timers[slot].missed = UInt32(clamping: fire.passed)
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
    if timers[slot].isQueued { dropEntries(slot) }
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
        if timers[slot].isArmed, !timers[slot].isQueued, modeSet(slot).contains(mode) { enqueue(slot) }
      }
    }
  }
}
