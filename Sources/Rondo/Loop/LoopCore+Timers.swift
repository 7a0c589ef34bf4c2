/// The entries of timers in their modes' heaps.
extension LoopCore {
  /// Gives the timer an entry in each mode that lacks one, unless its callout is under way or its only fire is over.
  func enqueue(_ timer: Loop.Timer) {
    assertOwnThread()
    guard !isCalling(timer), !timer.hasNothingToFire else { return }
    timer.stamp = nextStamp()
    let modes = timer.unqueued & timer.installed
    let schedule = timer.schedule
    let entries: UInt8 = schedule.effectiveTolerance == 0 ? 1 : 2
    // Its tolerance is another one than when it was entered in its other modes: all of them have as many entries.
    if entries != timer.entriesPerMode, timer.installed & ~modes != 0, modes != 0 {
      return invalidateEntries(of: timer)
    }
    timer.unqueued = 0
    if modes == 0 { return }
    timer.entriesPerMode = entries
    forEachMode(modes) { $0.timers.insert(timer, schedule, in: slots) }
  }

  /// Gives a timer that was taken out of a heap to fire, and did not or may again, its entries back.
  ///
  /// With tolerance, its entry by hard deadline is still there and must not come alive again beside a new one.
  func requeue(_ timer: Loop.Timer) {
    if timer.entriesPerMode == 1, timer.loosened == 0, timer.schedule.effectiveTolerance == 0 {
      enqueue(timer)
    } else if !isCalling(timer) {
      invalidateEntries(of: timer)
    }
  }

  /// A timer that comes from another loop in the middle of its callout has that fire behind it.
  func enqueueAfterJoining(_ timer: Loop.Timer, _ joined: UInt64) {
    if isCalling(timer) { return }
    if timer.isDateSpent { timer.moveOn(now: wait.now) }
    // About to fire in another mode, it may have left an entry there.
    if timer.unqueued & ~joined == 0 { enqueue(timer) } else { invalidateEntries(of: timer) }
  }

  /// Makes every entry of the timer stale, and gives it new ones.
  func invalidateEntries(of timer: Loop.Timer, alsoIn left: UInt64 = 0) {
    assertOwnThread()
    dropEntries(of: timer, alsoIn: left)
    if timer.installed != 0 { enqueue(timer) }
  }

  /// Makes every entry of the timer stale.
  private func dropEntries(of timer: Loop.Timer, alsoIn left: UInt64) {
    assertOwnThread()
    let modes = timer.installed | left
    let queued = modes & ~timer.unqueued | timer.loosened
    let collected = modes & ~queued
    timer.loosened = 0
    slots.renewVersion(of: timer)
    timer.unqueued = timer.installed
    forEachMode(queued) { $0.timers.noteStale(timer.entriesPerMode, in: slots) }
    // Taken out by date, it still has the entry by hard deadline.
    if timer.entriesPerMode == 2 { forEachMode(collected) { $0.timers.noteStale(1, in: slots) } }
  }

  /// A timer leaves modes. What a batch under way has collected is that batch's still, if it comes back meanwhile.
  func noteDeparture(of timer: Loop.Timer, from left: UInt64) {
    assertOwnThread()
    guard timer.unqueued & left != 0, timer.isValid, frames.contains(where: { !$0.due.isEmpty }) else { return }
    departed[slots.token(of: timer).packed] = timer
  }

  /// The timer that had the token when its batch was collected, left, and is in the mode again. It leaves its heaps.
  func returned(_ token: Token, to mode: ModeState) -> Loop.Timer? {
    assertOwnThread()
    guard let timer = departed[token.packed], isOwner(of: timer), timer.installed & mode.bit != 0,
      timer.belongs(to: mode.bit), timer.isValid, !isCalling(timer)
    else { return nil }
    dropEntries(of: timer, alsoIn: 0)
    return timer
  }

  /// Forgets who left, once no batch is under way. Calls out.
  func forgetDeparted() {
    assertOwnThread()
    guard !departed.isEmpty, frames.allSatisfy({ $0.due.isEmpty }) else { return }
    // What dies with it finds the list empty.
    var gone: [UInt64: Loop.Timer] = [:]
    swap(&gone, &departed)
  }

  /// The modes will arm anew, for a timer that is not in its callout: until then a timer in its callout that is in
  /// several modes is due in the others. See `__CFArmNextTimerInMode`.
  @inline(__always)
  func rearm(_ modes: UInt64) {
    if !firing.isEmpty { loosenEntries(in: modes) }
  }

  @inline(never)
  private func loosenEntries(in modes: UInt64) {
    for timer in firing {
      let loosened = timer.installed & modes & ~timer.unqueued
      timer.unqueued |= loosened
      timer.loosened |= loosened
    }
  }

  /// The timer's date, interval or tolerance was set. The timer is this loop's.
  ///
  /// - Parameter mayBeSooner: Whether its entries in the heaps may be too late now, or in the wrong heap.
  func reschedule(_ timer: Loop.Timer, mayBeSooner: Bool) {
    assertOwnThread()
    rearm(timer.installed)
    guard timer.installed != 0, !isCalling(timer) else { return }
    // Out of its heap, because it is due or was found to have nothing to fire, it would not find the new date.
    if mayBeSooner || timer.unqueued & timer.installed != 0 {
      invalidateEntries(of: timer)
    } else {
      // Entries are lower bounds: they are re-seated when they reach the top.
      timer.stamp = nextStamp()
    }
  }

  /// After a fire: the next date of a repeating timer, the end of a one-shot that nobody gave another date.
  ///
  /// User code has run since `token` was looked up: the timer may have left, come back, or be another loop's by now.
  func finishFire(of timer: Loop.Timer, _ token: Token) {
    assertOwnThread()
    guard timer.isValid else { return }
    if timer.hasNothingToFire { return timer.invalidate() }
    guard slots.holds(token) || isOwner(of: timer) else { return }
    if timer.isDateSpent { timer.moveOn(now: wait.now) }
    if timer.installed != 0 { requeue(timer) }
  }
}
