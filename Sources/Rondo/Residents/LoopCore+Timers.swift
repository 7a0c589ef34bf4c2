/// The entries of timers in their modes' heaps, and their fires. Each timer here is the one that its token stands for.
extension LoopCore {
  /// Gives the timer an entry in each mode that lacks one, unless its callout is under way or its only fire is over.
  func enqueue(_ timer: Loop.Timer, _ token: Token) {
    assertOwnThread()
    guard !isCalling(timer), !timer.hasNothingToFire else { return }
    slots[token].stamp = nextStamp()
    let installed = slots[token].installed
    let modes = slots[token].pending & installed
    let schedule = timer.schedule
    let entries: UInt8 = schedule.effectiveTolerance == 0 ? 1 : 2
    // Its tolerance is another one than when it was entered in its other modes: all of them have as many entries.
    if entries != slots[token].entriesPerMode, installed & ~modes != 0, modes != 0 {
      return invalidateEntries(of: timer, token)
    }
    slots[token].pending = 0
    if modes == 0 { return }
    slots[token].entriesPerMode = entries
    let version = slots[token].version
    forEachMode(modes) { $0.timers.insert(schedule, slot: token.slot, version: version) }
  }

  /// Gives a timer that was taken out of a heap to fire, and did not or may again, its entries back.
  ///
  /// With tolerance, its entry by hard deadline is still there and must not come alive again beside a new one.
  func requeue(_ timer: Loop.Timer, _ token: Token) {
    assertOwnThread()
    if slots[token].entriesPerMode == 1, loosened(token) == 0, timer.schedule.effectiveTolerance == 0 {
      enqueue(timer, token)
    } else if !isCalling(timer) {
      invalidateEntries(of: timer, token)
    }
  }

  /// A timer that comes from another loop in the middle of its callout has that fire behind it.
  func enqueueAfterJoining(_ timer: Loop.Timer, _ token: Token, _ joined: UInt64) {
    assertOwnThread()
    if isCalling(timer) { return }
    if timer.isDateSpent { slots[token].missed = timer.moveOn(now: wait.now) }
    // About to fire in another mode, it may have left an entry there.
    if slots[token].pending & ~joined == 0 { enqueue(timer, token) } else { invalidateEntries(of: timer, token) }
  }

  /// Makes every entry of the timer stale, and gives it new ones.
  func invalidateEntries(of timer: Loop.Timer, _ token: Token, alsoIn left: UInt64 = 0) {
    assertOwnThread()
    dropEntries(token, alsoIn: left)
    if slots[token].installed != 0 { enqueue(timer, token) }
  }

  /// Makes every entry of a timer stale.
  private func dropEntries(_ token: Token, alsoIn left: UInt64) {
    assertOwnThread()
    let modes = slots[token].installed | left
    let loosened = loosened(token)
    let queued = modes & ~slots[token].pending | loosened
    let collected = modes & ~queued
    let entries = slots[token].entriesPerMode
    if loosened != 0 { setLoosened(token, 0) }
    slots.renewVersion(token)
    slots[token].pending = slots[token].installed
    forEachMode(queued) { $0.timers.noteStale(entries, in: slots) }
    // Taken out by date, it still has the entry by hard deadline.
    if entries == 2 { forEachMode(collected) { $0.timers.noteStale(1, in: slots) } }
  }

  /// A timer leaves modes. What a batch under way has collected is that batch's still, if it comes back meanwhile.
  func noteDeparture(of timer: Loop.Timer, _ token: Token, from left: UInt64) {
    assertOwnThread()
    guard slots[token].pending & left != 0, timer.isValid, frames.contains(where: { !$0.due.isEmpty }) else { return }
    departed[token.packed] = timer
  }

  /// The timer that had the token when its batch was collected, left, and is in the mode again, with its token now. It
  /// leaves its heaps.
  func returned(_ token: Token, to mode: ModeState) -> (Loop.Timer, Token)? {
    assertOwnThread()
    guard let timer = departed[token.packed], timer.isIn(loop), let token = slots.token(of: timer),
      slots[token].installed & mode.bit != 0, timer.belongs(to: mode.bit), timer.isValid, !isCalling(timer)
    else { return nil }
    dropEntries(token, alsoIn: 0)
    return (timer, token)
  }

  /// Forgets who left, once no batch is under way. Calls out.
  func forgetDeparted() {
    assertOwnThread()
    guard !departed.isEmpty, frames.allSatisfy({ $0.due.isEmpty }) else { return }
    // What dies with it finds the list empty.
    var gone: [UInt64: Loop.Timer] = [:]
    swap(&gone, &departed)
  }

  // MARK: - Timers of several modes, in their callouts

  /// The modes will arm anew, for a timer that is not in its callout: until then a timer in its callout that is in
  /// several modes is due in the others. See `__CFArmNextTimerInMode`.
  @inline(__always)
  func noteArming(of modes: UInt64) {
    if !firing.isEmpty { loosenEntries(in: modes) }
  }

  @inline(never)
  private func loosenEntries(in modes: UInt64) {
    assertOwnThread()
    for index in firing.indices {
      let token = firing[index].token
      let loosened = slots[token].installed & modes & ~slots[token].pending
      slots[token].pending |= loosened
      firing[index].loosened |= loosened
    }
  }

  /// Of the modes whose heaps hold no entry that counts, those that hold one all the same: it must not come alive again.
  @inline(__always)
  func loosened(_ token: Token) -> UInt64 {
    firing.isEmpty ? 0 : firing.first { $0.token == token }?.loosened ?? 0
  }

  private func setLoosened(_ token: Token, _ modes: UInt64) {
    assertOwnThread()
    for index in firing.indices where firing[index].token == token { firing[index].loosened = modes }
  }

  // MARK: - Dates

  /// The timer's date, interval or tolerance was set. The timer is this loop's.
  ///
  /// - Parameter mayBeSooner: Whether its entries in the heaps may be too late now, or in the wrong heap.
  func reschedule(_ timer: Loop.Timer, mayBeSooner: Bool) {
    assertOwnThread()
    guard let token = slots.token(of: timer), slots[token].installed != 0 else { return }
    let installed = slots[token].installed
    noteArming(of: installed)
    guard !isCalling(timer) else { return }
    // Out of its heap, because it is due or was found to have nothing to fire, it would not find the new date.
    if mayBeSooner || slots[token].pending & installed != 0 {
      invalidateEntries(of: timer, token)
    } else {
      // Entries are lower bounds: they are re-seated when they reach the top.
      slots[token].stamp = nextStamp()
    }
  }

  // MARK: - Fires

  /// Fires a timer that was collected, if it is still due and the mode's. Calls out.
  ///
  /// - Parameter limit: The time by which the batch was collected.
  @inline(__always)
  func fire(_ timer: Loop.Timer, _ token: Token, _ frame: RunFrame, _ limit: Instant) {
    assertOwnThread()
    guard timer.belongs(to: frame.mode.bit), timer.isValid, !isCalling(timer) else { return }
    let date = timer.schedule.fireDate
    guard date <= limit || date <= wait.now, timer.beginFire(date) else {
      // Put off by an earlier callout of this turn, or at this moment.
      requeue(timer, token)
      return
    }
    counters.timerCallouts.count()
    let missed = slots[token].missed
    if missed > 0 {
      counters.missedTicks.count(UInt64(missed))
      slots[token].missed = 0
    }
    let isInSeveralModes = slots[token].isInSeveralModes
    if isInSeveralModes { firing.append(FiringTimer(token: token)) }
    frame.calling = ObjectIdentifier(timer)
    if isProbed {
      probedTimer(timer, date, limit, missed)
    } else {
      callOutTimer(
        timer, Loop.Timer.Tick(timer: timer, scheduledAt: date, firedAt: max(date, limit), missed: Int(missed)))
    }
    frame.calling = nil
    finishFire(of: timer, token)
    // Not by place: it may have left the list with the loop.
    if isInSeveralModes { firing.removeAll { $0.token == token } }
  }

  /// After a fire: the next date of a repeating timer, the end of a one-shot that nobody gave another date.
  ///
  /// User code has run since `token` was looked up: the timer may have left, come back, or be another loop's by now.
  func finishFire(of timer: Loop.Timer, _ token: Token) {
    assertOwnThread()
    guard timer.isValid else {
      // Another thread has ended it. Its entries are counted here, where it is known which of them were loosened.
      if slots.holds(token) { dropEntries(token, alsoIn: 0) }
      return
    }
    if timer.hasNothingToFire { return timer.invalidate() }
    let known = slots.holds(token) ? token : timer.isIn(loop) ? slots.token(of: timer) : nil
    guard let token = known else { return }
    if timer.isDateSpent { slots[token].missed = timer.moveOn(now: wait.now) }
    if slots[token].installed != 0 { requeue(timer, token) }
  }

  /// A nested run of the same mode must find the due timers that enclosing runs have collected and not fired yet.
  ///
  /// They stay collected as well: what the nested run does not fire, the enclosing one does.
  func returnDueTimers(to mode: ModeState) {
    assertOwnThread()
    for outer in frames where outer.mode === mode {
      for due in outer.due.dropFirst(outer.nextDue) where !due.isTimeout {
        if let item = slots.item(due.token) { requeue(downcast(item, to: Loop.Timer.self), due.token) }
      }
    }
  }
}

/// A timer that is in several modes and in its callout.
struct FiringTimer {
  let token: Token
  /// The modes that armed anew meanwhile: see `LoopCore.loosened(_:)`.
  var loosened: UInt64 = 0
}
