/// What arms, disarms and fires timeouts. Without a lock: only the loop's thread knows of them.
extension LoopCore {
  /// The slot of a timeout of this loop that has not been discarded.
  @inline(__always)
  func slot(of timeout: Loop.Timeout) -> UInt32? {
    assertOwnThread()
    return timeout.loop == timeouts.number && timeouts.holds(timeout.token) ? timeout.token.slot : nil
  }

  func arm(_ slot: UInt32, at date: Instant) {
    assertOwnThread()
    if !timeouts[slot].isArmed {
      timeouts[slot].isArmed = true
      noteArmed(1, slot)
    }
    timeouts[slot].date = date
    timeouts[slot].stamp = nextStamp()
    if timeouts[slot].isQueued {
      // Entries are lower bounds: they are re-seated when they reach the top.
      if date >= timeouts[slot].queuedDate { return }
      dropEntries(slot)
    }
    enqueue(slot)
  }

  /// Its entries stay where they are until they reach the top, or until they serve again.
  func disarm(_ slot: UInt32) {
    assertOwnThread()
    guard timeouts[slot].isArmed else { return }
    timeouts[slot].isArmed = false
    noteArmed(-1, slot)
  }

  /// - Returns: Its handler, for the caller to let go of; nil while its callout is under way.
  func discard(_ slot: UInt32) -> TimeoutHandler? {
    assertOwnThread()
    disarm(slot)
    if timeouts[slot].isQueued { dropEntries(slot) }
    return timeouts.remove(slot)
  }

  /// An armed timeout keeps its mode from being empty.
  @inline(__always)
  private func noteArmed(_ change: Int, _ slot: UInt32) {
    let queue = timeouts[slot].queue
    if queue == TimeoutRecord.commonModes {
      timeouts.armedCommonCount += change
    } else {
      modeState(Int(queue)).itemCount += change
    }
  }

  private func enqueue(_ slot: UInt32) {
    assertOwnThread()
    rouseGuest()
    timeouts[slot].isQueued = true
    timeouts[slot].queuedDate = timeouts[slot].date
    let (schedule, version, queue) = (timeouts[slot].schedule, timeouts[slot].version, timeouts[slot].queue)
    if queue == TimeoutRecord.commonModes {
      timeouts.common.insert(schedule, slot: slot, version: version)
    } else {
      modeState(Int(queue)).timeouts.insert(schedule, slot: slot, version: version)
    }
  }

  /// Makes its entries stale.
  private func dropEntries(_ slot: UInt32) {
    assertOwnThread()
    timeouts[slot].isQueued = false
    timeouts.renewVersion(slot)
    let (entries, queue) = (timeouts[slot].entryCount, timeouts[slot].queue)
    if queue == TimeoutRecord.commonModes {
      timeouts.common.noteStale(entries, in: timeouts)
    } else {
      modeState(Int(queue)).timeouts.noteStale(entries, in: timeouts)
    }
  }

  // MARK: - In the turn

  /// Whether entries of timeouts stand in a queue that runs of the mode serve.
  @inline(__always)
  func hasTimeouts(in mode: ModeState) -> Bool {
    assertOwnThread()
    return timeouts.isUsed && (!mode.timeouts.isEmpty || mode.isCommon && !timeouts.common.isEmpty)
  }

  /// Appends the mode's timeouts whose date has passed to the batch of timers, in one order with them.
  @inline(never)
  func collectDueTimeouts(_ limit: Instant, _ frame: RunFrame) {
    assertOwnThread()
    let mode = frame.mode
    let timerCount = frame.due.count
    if !mode.timeouts.isEmpty { mode.timeouts.collectDue(limit, in: timeouts, into: &frame.due) }
    let count = frame.due.count
    if mode.isCommon, !timeouts.common.isEmpty { timeouts.common.collectDue(limit, in: timeouts, into: &frame.due) }
    let sources = [timerCount, count - timerCount, frame.due.count - count].count { $0 > 0 }
    if sources > 1 { DueTimer.sort(&frame.due, from: 0) }
  }

  /// Fires one timeout of the batch. Calls out.
  func fireTimeout(_ token: Token, _ limit: Instant) {
    assertOwnThread()
    let slot = token.slot
    guard timeouts.holds(token), timeouts[slot].isArmed else { return }
    let date = timeouts[slot].date
    guard date <= limit || date <= wait.now else {
      // Put off by an earlier callout of this turn.
      if !timeouts[slot].isQueued { enqueue(slot) }
      return
    }
    // In its own callout, which a nested run's turn is in the middle of, it waits for the callout's end.
    guard let handler = timeouts[slot].handler.take() else { return }
    // Armed anew by an earlier callout, it may be queued again.
    if timeouts[slot].isQueued { dropEntries(slot) }
    disarm(slot)
    counters.timerCallouts.count()
    if isProbed { probedTimeout(slot, date, handler) } else { callOutTimeout(handler) }
    // Discarded in its callout, its handler dies here; the slot may be another timeout's.
    guard timeouts.holds(token) else { return }
    timeouts[slot].handler = handler
    if timeouts[slot].isArmed, !timeouts[slot].isQueued { enqueue(slot) }
  }

  /// A nested run must find the due timeouts that enclosing runs have collected and not fired yet. They stay collected.
  func returnDueTimeouts(to mode: ModeState) {
    assertOwnThread()
    for outer in frames {
      for due in outer.due.dropFirst(outer.nextDue) where due.isTimeout {
        guard timeouts.holds(due.token), timeouts[due.token.slot].isArmed, !timeouts[due.token.slot].isQueued,
          serves(mode, due.token.slot)
        else { continue }
        enqueue(due.token.slot)
      }
    }
  }

  /// Whether a run of the mode fires the timeout.
  private func serves(_ mode: ModeState, _ slot: UInt32) -> Bool {
    let queue = timeouts[slot].queue
    return queue == TimeoutRecord.commonModes ? mode.isCommon : Int(queue) == mode.index
  }

  // MARK: - Dates

  /// When queued timeouts of the mode next concern the loop.
  @inline(never)
  func nextTimeoutDates(in mode: ModeState) -> TimerDates {
    assertOwnThread()
    let own = mode.timeouts.nextDates(in: timeouts)
    return mode.isCommon ? .earlier(own, timeouts.common.nextDates(in: timeouts)) : own
  }

  /// The date of a timeout that is in a batch, if it has yet to fire and the mode's runs fire it.
  func dateOfCollected(_ token: Token, in mode: ModeState) -> Instant? {
    assertOwnThread()
    guard timeouts.holds(token), timeouts[token.slot].isArmed, serves(mode, token.slot) else { return nil }
    return timeouts[token.slot].date
  }

  /// Lets go of every timeout: the loop ends. Calls out.
  func discardTimeouts() {
    assertOwnThread()
    timeouts.isClosed = true
    for token in timeouts.all where timeouts.holds(token) { _ = discard(token.slot) }
  }
}
