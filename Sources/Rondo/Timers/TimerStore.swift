import Synchronization

/// A loop's timers and timeouts: a row for each, and the groups they wait in. *loop thread*
@safe final class TimerStore {
  @safe @exclusivity(unchecked) private var memory = SlotMemory<TimerRow>()
  /// The groups by number, with room for the next power of two, and how many have been made.
  @safe @exclusivity(unchecked) private var groups: UnsafeMutablePointer<TimerGroup>
  @safe @exclusivity(unchecked) private var groupCount: GroupNumber = 1
  /// Whether the loop has ended, and makes no more timeouts.
  @safe @exclusivity(unchecked) var isClosed = false
  /// *constant* Tells the timeouts of this loop from those of every other one.
  let number: UInt32

  /// Loops that have been made.
  private static let lastNumber = Atomic<UInt32>(0)

  /// One with the group of the default mode, which has number 0.
  init() {
    number = Self.lastNumber.add(1, ordering: .relaxed).newValue
    groups = .allocate(capacity: 1)
    unsafe groups.initialize(to: TimerGroup(.default))
  }

  deinit {
    for slot in memory.used { if case .timer(let timer) = memory[slot].target { unsafe timer.release() } }
    unsafe groups.deinitialize(count: Int(groupCount))
    unsafe groups.deallocate()
  }

  // MARK: - Rows

  /// Until one is made.
  @inline(__always)
  var rows: TimerRows { unsafe TimerRows(memory.base) }

  /// Not to be held while anything else is called.
  @inline(__always)
  subscript(slot: UInt32) -> TimerRow {
    _read { yield memory[slot] }
    _modify { yield &memory[slot] }
  }

  /// Whether what a token was made for still has its slot. The token may be any number.
  @inline(__always)
  func holds(_ token: Token) -> Bool {
    token.slot < memory.count && token.generation != 0 && self[token.slot].generation == token.generation
  }

  /// The token of a timer of this loop; nil while the loop's thread has not installed it.
  @inline(__always)
  func token(of timer: Loop.Timer) -> Token? {
    guard timer.slot >= 0 else { return nil }
    let slot = UInt32(timer.slot)
    assert(self.timer(slot) === timer, "Another loop's timer.")
    return rows.token(slot)
  }

  /// The timer that has the slot; nil if it is a timeout's.
  @inline(__always)
  func timer(_ slot: UInt32) -> Loop.Timer? {
    if case .timer(let timer) = self[slot].target { return unsafe timer.takeUnretainedValue() }
    return nil
  }

  /// Every timer and timeout.
  var all: [Token] { memory.used.map(rows.token) }

  /// How many slots there are, and how many of them are in use.
  var slotCount: (all: Int, used: Int) { (Int(memory.count), Int(memory.usedCount)) }

  /// Makes a row, each of its fields written once, and queues it if it has a date: it is armed then.
  @inline(__always)
  func insert(
    _ target: consuming TimerTarget, group: GroupNumber, at date: Instant?, tolerance: Int64 = 0,
    isPrecise: Bool = false, order: Int32 = 0, stamp: UInt32 = 0
  ) -> UInt32 {
    let slot = memory.take().slot
    let rows = rows
    rows[slot].target = consume target
    rows[slot].isInUse = true
    rows[slot].tolerance = tolerance
    rows[slot].isPrecise = isPrecise
    rows[slot].order = order
    rows[slot].stamp = stamp
    rows[slot].isArmed = date != nil
    if let date { rows[slot].date = date }
    join(group, slot)
    if date != nil { self[group].insert(slot, in: rows) }
    return slot
  }

  /// Frees a slot; its tokens are stale from here on.
  ///
  /// - Returns: What it called, which is the caller's to release: nil while the callout of a timeout is under way. And the
  ///   group, if it is to end.
  @inline(__always)
  func remove(_ slot: UInt32) -> (target: TimerTarget?, ended: GroupNumber?) {
    let ended = leave(slot)
    let target = self[slot].target.take()
    memory.free(slot)
    return (target, ended)
  }

  /// Has an armed row be in another group, where it is not queued.
  ///
  /// - Returns: The group that it left, if that is to end.
  func move(_ slot: UInt32, to group: GroupNumber) -> GroupNumber? {
    let ended = leave(slot)
    join(group, slot)
    return ended
  }

  @inline(__always)
  private func join(_ number: GroupNumber, _ slot: UInt32) {
    self[slot].group = number
    self[number].rowCount &+= 1
    if keeps(slot) { self[number].keptCount &+= 1 }
  }

  @inline(__always)
  private func leave(_ slot: UInt32) -> GroupNumber? {
    let number = self[slot].group
    dequeue(slot)
    if keeps(slot) { self[number].keptCount -= 1 }
    self[number].rowCount -= 1
    return self[number].rowCount == 0 && !self[number].isOfOneMode ? number : nil
  }

  /// Whether a row keeps its modes from being empty: a timer does, and a timeout while it is armed.
  @inline(__always)
  private func keeps(_ slot: UInt32) -> Bool {
    if case .timer = self[slot].target { return true }
    return self[slot].isArmed
  }

  /// Arms or disarms a timeout. Its entries stay where they are until they reach the top, or until they serve again.
  @inline(__always)
  func setArmed(_ slot: UInt32, _ isArmed: Bool) {
    if self[slot].isArmed == isArmed { return }
    self[slot].isArmed = isArmed
    self[self[slot].group].keptCount += isArmed ? 1 : -1
  }

  // MARK: - Queues

  /// Gives a row that is not queued its entries, by its date.
  @inline(__always)
  func enqueue(_ slot: UInt32) { self[self[slot].group].insert(slot, in: rows) }

  /// Takes the entries of a row away, whose tolerance and precision are as they were when it got them.
  @inline(__always)
  func dequeue(_ slot: UInt32) {
    if self[slot].isQueued { self[self[slot].group].remove(slot, in: rows) }
  }

  /// The date of a queued row is earlier than it was.
  func bringForward(_ slot: UInt32) { self[self[slot].group].bringForward(slot, in: rows) }

  // MARK: - Groups

  @inline(__always)
  subscript(number: GroupNumber) -> TimerGroup {
    _read { yield groups[Int(number)] }
    _modify { yield &groups[Int(number)] }
  }

  /// The number of the set's group, if it has one.
  func group(of modes: ModeSet) -> GroupNumber? { groupNumbers.first { self[$0].modes == modes } }

  /// Makes the set's group, which has none. The place of one that has ended serves again.
  func makeGroup(_ modes: ModeSet) -> GroupNumber {
    if let ended = group(of: Self.ended) {
      self[ended] = TimerGroup(modes)
      return ended
    }
    require(
      groupCount < GroupNumber.max,
      "The timers of a loop have room for \(Int(GroupNumber.max)) different sets of modes.")
    let count = Int(groupCount)
    if count.nonzeroBitCount == 1 {
      let larger = UnsafeMutablePointer<TimerGroup>.allocate(capacity: 2 * count)
      unsafe larger.moveInitialize(from: groups, count: count)
      unsafe groups.deallocate()
      unsafe groups = larger
    }
    unsafe (groups + count).initialize(to: TimerGroup(modes))
    groupCount += 1
    return groupCount - 1
  }

  /// Ends a group without timers and timeouts.
  func endGroup(_ number: GroupNumber) { self[number] = TimerGroup(Self.ended) }

  /// The set of a group that has ended: no timer waits for all modes and the common ones.
  private static var ended: ModeSet { .all }

  private var groupNumbers: Range<GroupNumber> { 0..<groupCount }

  /// The groups of several modes, or of the common ones.
  var shared: [GroupNumber] { groupNumbers.filter { !self[$0].isOfOneMode && self[$0].modes != Self.ended } }

  // MARK: - What a mode has

  /// Whether a timer or an armed timeout keeps the mode from being empty.
  @inline(__always)
  func hasKept(in mode: ModeState) -> Bool {
    self[mode.own].keptCount > 0 || mode.hasOthers && mode.others.contains { self[$0].keptCount > 0 }
  }

  /// Whether the mode has an entry.
  @inline(__always)
  func hasQueued(in mode: ModeState) -> Bool {
    !self[mode.own].isEmpty || mode.hasOthers && mode.others.contains { !self[$0].isEmpty }
  }

  /// Whether a precise timer may be queued in the mode.
  @inline(__always)
  func hasPrecise(in mode: ModeState) -> Bool {
    self[mode.own].hasPrecise || mode.hasOthers && mode.others.contains { self[$0].hasPrecise }
  }

  /// When the mode's timers next concern the loop.
  @inline(__always)
  func nextDates(in mode: ModeState) -> TimerDates {
    if self[mode.own].isEmpty, !mode.hasOthers { return TimerDates(fire: .distantFuture, wake: .distantFuture) }
    return nextDatesPresent(in: mode)
  }

  @inline(never)
  private func nextDatesPresent(in mode: ModeState) -> TimerDates {
    let dates = self[mode.own].nextDates(in: rows)
    return !mode.hasOthers ? dates : mode.others.reduce(dates) { .earlier($0, self[$1].nextDates(in: rows)) }
  }

  func nextPreciseDate(in mode: ModeState) -> Instant {
    mode.groups.reduce(.distantFuture) { min($0, self[$1].nextPreciseDate(in: rows)) }
  }

  /// Appends what is due in the mode, in one order.
  func collectDue(_ limit: Instant, in mode: ModeState, into batch: inout ContiguousArray<DueTimer>) {
    self[mode.own].collectDue(limit, in: rows, into: &batch)
    if !mode.hasOthers { return }
    var queues = batch.isEmpty ? 0 : 1
    for number in mode.others {
      let count = batch.count
      self[number].collectDue(limit, in: rows, into: &batch)
      if batch.count > count { queues += 1 }
    }
    if queues > 1 { DueTimer.sort(&batch, from: 0, in: rows) }
  }
}
