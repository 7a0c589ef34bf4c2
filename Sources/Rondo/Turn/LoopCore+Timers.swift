import Synchronization

/// Timers and timeouts: what arms and queues them. Only the loop's thread knows of rows, so nothing here locks.
extension LoopCore {
  // MARK: - Dates

  /// Sets the date of a row. O(1) if it is queued and the date is no earlier; O(log n) otherwise.
  @inline(__always)
  func setDate(_ slot: UInt32, _ date: Instant) {
    let (rows, old) = (timers.rows, timers[slot].date)
    rows[slot].date = date
    rows[slot].stamp = nextStamp()
    if !rows[slot].isQueued { return enqueue(slot) }
    // Entries are lower bounds: they are made exact when they reach the top.
    if date < old {
      cancelHostSleep()
      timers.bringForward(slot)
    }
  }

  @inline(__always)
  func enqueue(_ slot: UInt32) {
    assertOwnThread()
    cancelHostSleep()
    timers.enqueue(slot)
  }

  // MARK: - Timers

  /// The modes of this loop whose runs fire the timer.
  func modes(of timer: Loop.Timer) -> UInt64 {
    assertOwnThread()
    return timers.token(of: timer).map { timers[timers[$0.slot].group].modes.modes } ?? 0
  }

  /// Has runs of the modes in `mask`, too, fire the timer.
  ///
  /// - Parameter isHeld: Whether its handler is held for a row that it gets.
  func install(_ timer: Loop.Timer, in mask: UInt64, isHeld: Bool) {
    assertOwnThread()
    if let token = timers.token(of: timer) { return move(timer, token.slot, to: modes(of: timer) | mask) }
    if !isHeld { timer.holdHandlers() }
    let group = group(of: ModeSet(modes: mask, isCommon: false))
    let schedule = timer.schedule
    if schedule.isPrecise { note(.spin) }
    cancelHostSleep()
    let slot = timers.insert(
      unsafe .timer(.passRetained(timer)), group: group, at: timer.hasNothingToFire ? nil : schedule.fireDate,
      tolerance: schedule.effectiveTolerance, isPrecise: schedule.isPrecise,
      order: Int32(truncatingIfNeeded: timer.order), stamp: nextStamp())
    timer.slot = Int32(slot)
  }

  /// Takes the timer, which has left the modes in `mask`, out of their queues. See `uninstall(_:from:)`.
  ///
  /// - Returns: The timer if nothing keeps it here and no callout of it is under way.
  func uninstall(_ timer: Loop.Timer, from mask: UInt64) -> Loop.Item? {
    assertOwnThread()
    guard let token = timers.token(of: timer) else {
      timer.leaveLoopIfUnregistered()
      return nil
    }
    if mask != .max {
      let remaining = modes(of: timer) & ~mask
      if remaining != 0 || timer.isCommon {
        move(timer, token.slot, to: remaining)
        return nil
      }
    }
    timer.slot = -1
    let removed = timers.remove(token.slot)
    if let ended = removed.ended { endGroup(ended) }
    guard case .timer(let timer)? = removed.target else { preconditionFailure("A timer has the slot.") }
    return finishEviction(unsafe timer.takeRetainedValue())
  }

  private func move(_ timer: Loop.Timer, _ slot: UInt32, to mask: UInt64) {
    let number = group(of: ModeSet(modes: mask, isCommon: false))
    if number == timers[slot].group { return }
    if let ended = timers.move(slot, to: number) { endGroup(ended) }
    schedule(timer, slot)
  }

  /// Takes the timer's date and tolerance over, and queues it unless its only fire has begun.
  @inline(__always)
  func schedule(_ timer: Loop.Timer, _ slot: UInt32) {
    timers[slot].isArmed = !timer.hasNothingToFire
    guard timers[slot].isArmed else { return }
    let schedule = timer.schedule
    let tolerance = schedule.effectiveTolerance
    if tolerance != timers[slot].tolerance || schedule.isPrecise != timers[slot].isPrecise {
      timers.dequeue(slot)
      timers[slot].tolerance = tolerance
      timers[slot].isPrecise = schedule.isPrecise
      if schedule.isPrecise { note(.spin) }
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
      reschedule(timer)
    }
  }

  // MARK: - Timeouts

  /// Makes a timeout, which is not armed without a date.
  @inline(__always)
  func makeTimeout(
    group: GroupNumber, at date: Instant?, tolerance: Int64, _ handler: consuming TimeoutHandler
  ) -> Token {
    assertOwnThread()
    cancelHostSleep()
    let target = TimerTarget.timeout(consume handler)
    let slot = timers.insert(target, group: group, at: date, tolerance: tolerance, stamp: nextStamp())
    return timers.rows.token(slot)
  }

  /// The slot of a timeout of this loop that has not been discarded.
  @inline(__always)
  func slot(of timeout: Loop.Timeout) -> UInt32? {
    assertOwnThread()
    return timeout.loop == timers.number && timers.holds(timeout.token) ? timeout.token.slot : nil
  }

  func arm(_ slot: UInt32, at date: Instant) {
    assertOwnThread()
    timers.setArmed(slot, true)
    setDate(slot, date)
  }

  func disarm(_ slot: UInt32) {
    assertOwnThread()
    timers.setArmed(slot, false)
  }

  /// - Returns: What it called, for the caller to release; nil while its callout is under way.
  func discard(_ slot: UInt32) -> TimerTarget? {
    assertOwnThread()
    let removed = timers.remove(slot)
    if let ended = removed.ended { endGroup(ended) }
    return removed.target
  }

  /// Discards every timeout: the loop ends. Calls out.
  func discardTimeouts() {
    assertOwnThread()
    timers.isClosed = true
    for token in timers.all where timers.holds(token) && timers.timer(token.slot) == nil { _ = discard(token.slot) }
  }

  // MARK: - Groups

  /// The number of the group of a set of modes, which has one from now on.
  @inline(__always)
  func group(of modes: ModeSet) -> GroupNumber {
    assertOwnThread()
    return modes == .default ? 0 : otherGroup(of: modes)
  }

  @inline(never)
  private func otherGroup(of set: ModeSet) -> GroupNumber {
    // A mode is made with its group.
    forEachMode(set.modes) { _ in }
    if let number = timers.group(of: set) { return number }
    let number = timers.makeGroup(set)
    for mode in modes where set.contains(mode) { mode.others.append(number) }
    return number
  }

  /// The mode is new or has become common: it lists the groups of several modes that contain it.
  func listGroups(of mode: ModeState) {
    assertOwnThread()
    mode.others = ContiguousArray(timers.shared.filter { timers[$0].modes.contains(mode) })
  }

  @inline(never)
  private func endGroup(_ number: GroupNumber) {
    let set = timers[number].modes
    for mode in modes where set.contains(mode) { mode.others.removeAll { $0 == number } }
    if set.isCommon { mailbox.commonItemCount.subtract(1, ordering: .relaxed) }
    timers.endGroup(number)
  }
}
