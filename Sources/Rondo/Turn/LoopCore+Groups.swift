import Synchronization

/// The groups of timers and timeouts: which modes serve which. See `ModeGroup`.
extension LoopCore {
  /// The number of the group of a set of modes, which has one from now on.
  @inline(__always)
  func group(of modes: ModeSet) -> GroupNumber {
    assertOwnThread()
    return modes == .default ? 0 : otherGroup(of: modes)
  }

  @inline(never)
  private func otherGroup(of modes: ModeSet) -> GroupNumber {
    forEachMode(modes.modes) { _ in }
    if !modes.isCommon, modes.modes.nonzeroBitCount == 1 { return GroupNumber(modes.modes.trailingZeroBitCount) }
    if let number = otherGroups.number(of: modes) { return number }
    let number = otherGroups.make(modes)
    for mode in self.modes where modes.contains(mode) { mode.others.append(otherGroups[number]) }
    return number
  }

  /// The group that a row belongs to. The loop keeps it while it has rows.
  @inline(__always)
  func group(_ slot: UInt32) -> Unmanaged<ModeGroup> {
    let number = timers[slot].group
    return unsafe number == 0 ? .passUnretained(defaultGroup) : otherGroup(number)
  }

  @inline(never)
  private func otherGroup(_ number: GroupNumber) -> Unmanaged<ModeGroup> {
    unsafe .passUnretained(number < ModeTable.capacity ? modes[Int(number)].own : otherGroups[number])
  }

  /// The mode is new or has become common: it lists the groups of several modes that contain it.
  func listGroups(of mode: ModeState) {
    assertOwnThread()
    mode.others = otherGroups.all.filter { $0.modes.contains(mode) }
  }

  /// A row joins a group. Timers keep their modes from being empty; timeouts do so while they are armed.
  @inline(__always)
  func join(_ number: GroupNumber, _ slot: UInt32, isKept: Bool) {
    timers[slot].group = number
    unsafe group(slot)._withUnsafeGuaranteedRef { group in
      group.rowCount += 1
      if isKept { group.keptCount += 1 }
    }
  }

  /// A row leaves its group, and its queue.
  @inline(__always)
  func leaveGroup(_ slot: UInt32, isKept: Bool) {
    assertOwnThread()
    let isLast = unsafe group(slot)._withUnsafeGuaranteedRef { group in
      if timers[slot].isQueued { group.timers.remove(slot, in: timers) }
      group.rowCount -= 1
      if isKept { group.keptCount -= 1 }
      return group.rowCount == 0
    }
    if isLast, timers[slot].group >= ModeTable.capacity { endGroup(timers[slot].group) }
  }

  @inline(never)
  private func endGroup(_ number: GroupNumber) {
    let group = otherGroups[number]
    for mode in modes where group.modes.contains(mode) { mode.others.removeAll { $0 === group } }
    if group.modes.isCommon { mailbox.commonItemCount.subtract(1, ordering: .relaxed) }
    otherGroups.end(number)
  }

  // MARK: - What a mode has

  /// Whether a timer or an armed timeout keeps the mode from being empty.
  @inline(__always)
  func hasTimers(in mode: ModeState) -> Bool {
    mode.own.keptCount > 0 || !mode.others.isEmpty && mode.others.contains { $0.keptCount > 0 }
  }

  /// Whether a queue of the mode has an entry.
  @inline(__always)
  func hasQueuedTimers(in mode: ModeState) -> Bool {
    !mode.own.timers.isEmpty || !mode.others.isEmpty && mode.others.contains { !$0.timers.isEmpty }
  }

  /// Whether a precise timer may be in a queue of the mode.
  @inline(__always)
  func hasPrecise(in mode: ModeState) -> Bool {
    mode.own.timers.hasPrecise || !mode.others.isEmpty && mode.others.contains { $0.timers.hasPrecise }
  }

  /// When the queues of the mode next concern the loop.
  @inline(__always)
  func nextDates(in mode: ModeState) -> TimerDates {
    assertOwnThread()
    let dates = mode.own.timers.nextDates(in: timers)
    return mode.others.isEmpty ? dates : mode.others.reduce(dates) { .earlier($0, $1.timers.nextDates(in: timers)) }
  }

  func nextPreciseDate(in mode: ModeState) -> Instant {
    assertOwnThread()
    return mode.groups.reduce(.distantFuture) { min($0, $1.timers.nextPreciseDate(in: timers)) }
  }

  /// The date of the mode's next timer, of those in a batch or in a callout as well.
  func nextFireDate(in mode: ModeState) -> Instant {
    var next = nextDates(in: mode).fire
    for token in frames.flatMap(\.due).map(\.token) where timers.holds(token) {
      guard modeSet(token.slot).contains(mode) else { continue }
      if let timer = timers.timer(token.slot) {
        next = min(next, timer.date)
      } else if timers[token.slot].isArmed {
        next = min(next, timers[token.slot].date)
      }
    }
    return next
  }

  /// Appends what is due in the mode to the batch, in one order.
  func collectDue(_ limit: Instant, _ frame: RunFrame) {
    frame.mode.own.timers.collectDue(limit, in: timers, into: &frame.due)
    if frame.mode.others.isEmpty { return }
    var queues = frame.due.isEmpty ? 0 : 1
    for group in frame.mode.others {
      let count = frame.due.count
      group.timers.collectDue(limit, in: timers, into: &frame.due)
      if frame.due.count > count { queues += 1 }
    }
    if queues > 1 { DueTimer.sort(&frame.due, from: 0) }
  }
}
