/// A mode's timers by deadline, or its timeouts. *loop thread*
///
/// Timers without tolerance stand in `exact`. The others stand twice: by fire date in `soft`, by the latest moment to
/// wake in `hard`. The loop wakes for the earliest of `exact` and `hard`, and then fires all of `exact` and `soft`
/// whose date has passed: the fewest wakeups there can be. Precise timers stand in `precise`, so that the loop knows
/// which date to spin for, and count as exact. An entry is a lower bound, made exact only at the top, so
/// that putting a timer off needs no heap operation.
struct TimerQueue<Table: TimerTable> {
  private var exact = DeadlineHeap()
  private var precise = DeadlineHeap()
  private var soft = DeadlineHeap()
  private var hard = DeadlineHeap()
  /// How many entries are of an older version than their slots, at most; the heaps are swept when these are more than
  /// half. What a sweep could not drop yet is not among them.
  private(set) var staleCount = 0
  /// *constant* The mode's bit.
  private let bit: UInt64

  init(bit: UInt64) {
    self.bit = bit
  }

  /// Nothing stands in the queue, not even stale. Kept, since every turn asks and the heaps are four; brought up to date
  /// where a loop goes to sleep, so that it may be false for a turn too long, and never true too early.
  private(set) var isEmpty = true

  /// Whether a precise timer may stand in the queue.
  @inline(__always)
  var hasPrecise: Bool { precise.count != 0 }

  /// How many entries the heaps hold, stale ones included.
  var entryCount: Int { exact.count + soft.count + hard.count + precise.count }

  /// Whether no entry is earlier than its parent: for tests.
  var isHeapOrdered: Bool {
    exact.isOrdered && precise.isOrdered && soft.isOrdered && hard.isOrdered
  }

  /// How many entries are of an older version than their slots: for tests, O(n).
  func countStale(in table: Table) -> Int {
    [exact, precise, soft, hard].reduce(0) { $0 + $1.count { table.version($0.slot) != $0.version } }
  }

  /// Enters a timer by its schedule: one entry, with tolerance two.
  mutating func insert(_ schedule: Schedule, slot: UInt32, version: UInt32) {
    isEmpty = false
    var entry = DeadlineHeap.Entry(deadline: schedule.fireDate, slot: slot, version: version)
    if schedule.isPrecise {
      precise.push(entry)
    } else if schedule.effectiveTolerance == 0 {
      exact.push(entry)
    } else {
      soft.push(entry)
      entry.deadline = schedule.hardDeadline
      hard.push(entry)
    }
  }

  /// So many entries of a timer have become stale. They are swept when they are more than half, so that what has left
  /// holds no more memory than what is there; below 64 entries of 16 bytes, a sweep is not worth its while.
  @inline(__always)
  mutating func noteStale(_ count: UInt8, in table: Table) {
    staleCount += Int(count)
    if staleCount > 64, staleCount > entryCount / 2 { sweep(table) }
  }

  @inline(never)
  private mutating func sweep(_ table: Table) {
    // Not a look at the timer itself, which would miss the cache a million times in a queue of a million.
    func revised(_ entry: DeadlineHeap.Entry) -> Instant? {
      table.version(entry.slot) == entry.version ? entry.deadline : nil
    }
    exact.revise(announcing: { table.prefetch($0.slot) }, revised)
    soft.revise(announcing: { table.prefetch($0.slot) }, revised)
    hard.revise(announcing: { table.prefetch($0.slot) }, revised)
    precise.revise(announcing: { table.prefetch($0.slot) }, revised)
    staleCount = 0
    isEmpty = entryCount == 0
  }

  /// The earliest date that a timer of the mode wants, and the latest moment by which the loop has to wake for one.
  mutating func nextDates(in table: Table) -> TimerDates {
    if isEmpty { return .never }
    defer { isEmpty = entryCount == 0 }
    let certain = min(
      Self.settleTop(of: &exact, &staleCount, table, bit) { $0.fireDate($1, in: $2) }, nextPreciseDate(in: table))
    if hard.count == 0 { return TimerDates(fire: certain, wake: certain) }
    return TimerDates(
      fire: min(certain, Self.settleTop(of: &soft, &staleCount, table, bit) { $0.fireDate($1, in: $2) }),
      wake: min(certain, Self.settleTop(of: &hard, &staleCount, table, bit) { $0.hardDeadline($1, in: $2) }))
  }

  /// The date of the mode's next precise timer.
  @inline(__always)
  mutating func nextPreciseDate(in table: Table) -> Instant {
    if precise.count == 0 { return .distantFuture }
    return Self.settleTop(of: &precise, &staleCount, table, bit) { $0.fireDate($1, in: $2) }
  }

  /// Appends every timer whose date has passed to `batch`, by date, then order, then sequence of scheduling.
  mutating func collectDue(_ now: Instant, in table: Table, into batch: inout ContiguousArray<DueTimer>) {
    let start = batch.count
    // Entries are lower bounds, so most turns know that nothing is due without a look at a timer.
    guard min(exact.earliest, soft.earliest, precise.earliest) <= now else { return }
    var exactDate = Self.settleTop(of: &exact, &staleCount, table, bit) { $0.fireDate($1, in: $2) }
    var softDate = Self.settleTop(of: &soft, &staleCount, table, bit) { $0.fireDate($1, in: $2) }
    var preciseDate = nextPreciseDate(in: table)
    guard min(exactDate, softDate, preciseDate) <= now else { return }
    // From here on it is less to look at all entries than to take these out one by one.
    let limit = start + DeadlineHeap.many + entryCount / 32
    while true {
      let date = min(exactDate, softDate, preciseDate)
      guard date <= now, date != .distantFuture else { break }
      if batch.count >= limit {
        collectRest(now, table, &batch)
        return DueTimer.sort(&batch, from: start)
      }
      if date == exactDate {
        take(exact.removeTop().slot, date, table, &batch)
        exactDate = Self.settleTop(of: &exact, &staleCount, table, bit) { $0.fireDate($1, in: $2) }
      } else if date == softDate {
        take(soft.removeTop().slot, date, table, &batch)
        softDate = Self.settleTop(of: &soft, &staleCount, table, bit) { $0.fireDate($1, in: $2) }
      } else {
        take(precise.removeTop().slot, date, table, &batch)
        preciseDate = nextPreciseDate(in: table)
      }
    }
    // Timers with tolerance may have left entries behind.
    noteStale(0, in: table)
    if batch.count - start > 1 { DueTimer.sortTies(&batch, from: start) }
  }

  /// Appends what is due in one pass over the entries, in no order, and makes the others exact on the way.
  @inline(never)
  private mutating func collectRest(_ now: Instant, _ table: Table, _ batch: inout ContiguousArray<DueTimer>) {
    var left = 0
    func revised(_ entry: DeadlineHeap.Entry) -> Instant? {
      guard table.version(entry.slot) == entry.version else {
        left -= 1
        return nil
      }
      // One whose lower bound is not reached need not be asked.
      if now < entry.deadline { return entry.deadline }
      guard let date = table.fireDate(entry.slot, in: bit) else {
        left += table.entryLeft(entry.slot, in: bit)
        return nil
      }
      if now < date {
        table.entryMoved(entry.slot)
        return date
      }
      left += table.entryLeft(entry.slot, in: bit)
      batch.append(table.due(entry.slot, at: date))
      return nil
    }
    exact.revise(announcing: { table.prefetch($0.slot) }, revised)
    soft.revise(announcing: { table.prefetch($0.slot) }, revised)
    precise.revise(announcing: { table.prefetch($0.slot) }, revised)
    staleCount += left
    noteStale(0, in: table)
  }

  @inline(__always)
  private mutating func take(
    _ slot: UInt32, _ date: Instant, _ table: Table, _ batch: inout ContiguousArray<DueTimer>
  ) {
    staleCount += table.entryLeft(slot, in: bit)
    batch.append(table.due(slot, at: date))
  }

  /// Makes the top exact: drops stale entries, re-seats a timer that was put off.
  ///
  /// - Returns: Its deadline.
  @inline(__always)
  private static func settleTop(
    of heap: inout DeadlineHeap, _ staleCount: inout Int, _ table: Table, _ bit: UInt64,
    _ deadline: (Table, UInt32, UInt64) -> Instant?
  ) -> Instant {
    heap.count == 0 ? .distantFuture : settleTopPresent(of: &heap, &staleCount, table, bit, deadline)
  }

  private static func settleTopPresent(
    of heap: inout DeadlineHeap, _ staleCount: inout Int, _ table: Table, _ bit: UInt64,
    _ deadline: (Table, UInt32, UInt64) -> Instant?
  ) -> Instant {
    while let top = heap.top {
      guard table.version(top.slot) == top.version else {
        staleCount -= 1
        heap.removeTop()
        continue
      }
      guard let exact = deadline(table, top.slot, bit) else {
        heap.removeTop()
        staleCount += table.entryLeft(top.slot, in: bit)
        continue
      }
      if exact == top.deadline { return exact }
      heap.replaceTop(with: DeadlineHeap.Entry(deadline: exact, slot: top.slot, version: top.version))
      table.entryMoved(top.slot)
    }
    return .distantFuture
  }
}

/// When timers next concern the loop; `.distantFuture` where none does.
struct TimerDates {
  /// The earliest date.
  var fire: Instant
  /// The latest moment to wake.
  var wake: Instant

  static var never: TimerDates { TimerDates(fire: .distantFuture, wake: .distantFuture) }

  /// The earlier of each.
  static func earlier(_ one: TimerDates, _ other: TimerDates) -> TimerDates {
    TimerDates(fire: min(one.fire, other.fire), wake: min(one.wake, other.wake))
  }
}

/// Where the entries of a timer queue lead: what knows the dates. *loop thread*
protocol TimerTable {
  /// The version whose entries count, of what stands in the slot.
  func version(_ slot: UInt32) -> UInt32
  /// The date of what stands in the slot; nil if no entry of it counts in the mode with this bit.
  func fireDate(_ slot: UInt32, in bit: UInt64) -> Instant?
  /// The latest moment to wake for it, likewise.
  func hardDeadline(_ slot: UInt32, in bit: UInt64) -> Instant?
  /// What stands in the slot, for a batch.
  func due(_ slot: UInt32, at date: Instant) -> DueTimer
  /// An entry of the current version has left the mode's queue.
  ///
  /// - Returns: How many entries have become stale by that.
  func entryLeft(_ slot: UInt32, in bit: UInt64) -> Int
  /// An entry of the current version now says the date, and no longer an earlier one.
  func entryMoved(_ slot: UInt32)
  /// What `version` reads is needed soon.
  func prefetch(_ slot: UInt32)
}

/// A timer that was due when its turn looked.
struct DueTimer {
  /// Of the table that it stands in.
  let token: Token
  let date: Instant
  let order: Int
  let stamp: UInt32
  /// Whether it stands in the table of timeouts.
  var isTimeout = false

  /// Whether this one fires first, of two with the same date. Stamps wrap, so their distance decides.
  private func comesBefore(_ other: DueTimer) -> Bool {
    order != other.order ? order < other.order : Int32(bitPattern: stamp &- other.stamp) < 0
  }

  /// Brings what came from several queues in order.
  static func sort(_ batch: inout ContiguousArray<DueTimer>, from start: Int) {
    batch[start...].sort { $0.date != $1.date ? $0.date < $1.date : $0.comesBefore($1) }
  }

  /// Sorts runs of equal dates, which the heap leaves in any order.
  static func sortTies(_ batch: inout ContiguousArray<DueTimer>, from start: Int) {
    var first = start
    while first < batch.count {
      var end = first + 1
      while end < batch.count, batch[end].date == batch[first].date { end += 1 }
      if end - first > 1 { batch[first..<end].sort { $0.comesBefore($1) } }
      first = end
    }
  }
}
