/// The timers and timeouts of a group, by deadline. *loop thread*
///
/// Those without tolerance are in `exact`. The others are in two heaps: by fire date in `soft`, by the latest moment to
/// wake in `hard`. The loop wakes for the earliest of `exact` and `hard`, and then fires all of `exact` and `soft` whose
/// date has passed: the fewest wakeups there can be. Precise timers are in `precise`, so that the loop knows which date to
/// spin for, and count as exact. An entry is a lower bound, made exact only at the top, so that putting a timer off needs
/// no heap operation.
struct TimerQueue {
  private var exact = DeadlineHeap()
  private var precise = DeadlineHeap()
  private var soft = DeadlineHeap()
  private var hard = DeadlineHeap()
  /// How many entries are of an older version than their rows. The heaps are swept when these are more than half.
  private(set) var staleCount = 0

  /// Whether there is no entry, not even a stale one. Every turn asks, and the heaps are four. It is updated where the loop
  /// goes to sleep, so it may be false for a turn too long, and is never true too early.
  private(set) var isEmpty = true

  /// Whether a precise timer may be in the queue.
  @inline(__always)
  var hasPrecise: Bool { precise.count != 0 }

  /// How many entries the heaps hold, stale ones included.
  var entryCount: Int { exact.count + soft.count + hard.count + precise.count }

  /// Whether no entry is earlier than its parent: for tests.
  var isHeapOrdered: Bool {
    exact.isOrdered && precise.isOrdered && soft.isOrdered && hard.isOrdered
  }

  /// How many entries are of an older version than their rows: for tests, O(n).
  func countStale(in table: TimerTable) -> Int {
    [exact, precise, soft, hard].reduce(0) { $0 + $1.count { table[$0.slot].version != $0.version } }
  }

  /// Whether an entry is later than what its row says: for tests, O(n).
  func hasLateEntry(in table: TimerTable) -> Bool {
    func isLate(_ entry: DeadlineHeap.Entry, _ limit: Instant) -> Bool {
      table[entry.slot].version == entry.version && limit < entry.deadline
    }
    return [exact, precise, soft].contains { $0.count { isLate($0, table[$0.slot].date) } > 0 }
      || hard.count { isLate($0, table[$0.slot].hardDeadline) } > 0
  }

  /// Gives a row its entries by its date: one, with tolerance two.
  @inline(__always)
  mutating func insert(_ slot: UInt32, in table: TimerTable) {
    isEmpty = false
    let date = table[slot].date
    var entry = DeadlineHeap.Entry(deadline: date, slot: slot, version: table[slot].version)
    table[slot].isQueued = true
    if table[slot].isPrecise {
      precise.push(entry)
    } else if table[slot].tolerance == 0 {
      exact.push(entry)
    } else {
      soft.push(entry)
      entry.deadline = table[slot].hardDeadline
      hard.push(entry)
    }
  }

  /// Makes the entries of a queued row stale.
  ///
  /// They are swept when they are more than half, so that what has left holds no more memory than what is there; below 64
  /// entries of 16 bytes, a sweep costs more than it gains.
  @inline(__always)
  mutating func drop(_ slot: UInt32, in table: TimerTable) {
    noteStale(1 + table.entryLeft(slot), in: table)
  }

  @inline(__always)
  private mutating func noteStale(_ count: Int, in table: TimerTable) {
    staleCount += count
    if staleCount > 64, staleCount > entryCount / 2 { sweep(table) }
  }

  @inline(never)
  private mutating func sweep(_ table: TimerTable) {
    func revised(_ entry: DeadlineHeap.Entry) -> Instant? {
      table[entry.slot].version == entry.version ? entry.deadline : nil
    }
    exact.revise(announcing: { table.prefetch($0.slot) }, revised)
    soft.revise(announcing: { table.prefetch($0.slot) }, revised)
    hard.revise(announcing: { table.prefetch($0.slot) }, revised)
    precise.revise(announcing: { table.prefetch($0.slot) }, revised)
    staleCount = 0
    isEmpty = entryCount == 0
  }

  /// The earliest date in the queue, and the latest moment by which the loop has to wake for it.
  mutating func nextDates(in table: TimerTable) -> TimerDates {
    if isEmpty { return .never }
    defer { isEmpty = entryCount == 0 }
    let certain = min(Self.settleTop(of: &exact, &staleCount, table), nextPreciseDate(in: table))
    if hard.count == 0 { return TimerDates(fire: certain, wake: certain) }
    return TimerDates(
      fire: min(certain, Self.settleTop(of: &soft, &staleCount, table)),
      wake: min(certain, Self.settleTop(of: &hard, &staleCount, table, isHard: true)))
  }

  /// The date of the next precise timer.
  @inline(__always)
  mutating func nextPreciseDate(in table: TimerTable) -> Instant {
    Self.settleTop(of: &precise, &staleCount, table)
  }

  /// Whether a date may have come. Entries are lower bounds, so most turns know without reading a row that none has.
  @inline(__always)
  func mayHaveDue(_ now: Instant) -> Bool {
    exact.earliest <= now || soft.earliest <= now || precise.earliest <= now
  }

  /// Appends what is due to `batch`, by date, then order, then sequence of scheduling.
  mutating func collectDue(_ now: Instant, in table: TimerTable, into batch: inout ContiguousArray<DueTimer>) {
    guard mayHaveDue(now) else { return }
    let start = batch.count
    var exactDate = Self.settleTop(of: &exact, &staleCount, table)
    var softDate = Self.settleTop(of: &soft, &staleCount, table)
    var preciseDate = nextPreciseDate(in: table)
    // With more due timers than this, one pass over all entries costs less than taking these out one by one.
    let limit = start + DeadlineHeap.many + entryCount / 32
    while true {
      let date = min(exactDate, softDate, preciseDate)
      guard date <= now, date != .distantFuture else { break }
      if batch.count >= limit {
        collectRest(now, table, &batch)
        return DueTimer.sort(&batch, from: start)
      }
      if date == exactDate {
        take(exact.removeTop().slot, table, &batch)
        exactDate = Self.settleTop(of: &exact, &staleCount, table)
      } else if date == softDate {
        take(soft.removeTop().slot, table, &batch)
        softDate = Self.settleTop(of: &soft, &staleCount, table)
      } else {
        take(precise.removeTop().slot, table, &batch)
        preciseDate = nextPreciseDate(in: table)
      }
    }
    // Those with tolerance have left entries behind.
    noteStale(0, in: table)
    if batch.count - start > 1 { DueTimer.sortTies(&batch, from: start) }
  }

  /// Appends what is due in one pass over the entries, in no order, and makes the others exact on the way.
  @inline(never)
  private mutating func collectRest(_ now: Instant, _ table: TimerTable, _ batch: inout ContiguousArray<DueTimer>) {
    var left = 0
    func revised(_ entry: DeadlineHeap.Entry) -> Instant? {
      guard table[entry.slot].version == entry.version else {
        left -= 1
        return nil
      }
      // A row whose lower bound is not reached need not be read further.
      if now < entry.deadline { return entry.deadline }
      if table[entry.slot].isArmed {
        let date = table[entry.slot].date
        if now < date { return date }
        batch.append(DueTimer(entry.slot, in: table))
      }
      left += table.entryLeft(entry.slot)
      return nil
    }
    exact.revise(announcing: { table.prefetch($0.slot) }, revised)
    soft.revise(announcing: { table.prefetch($0.slot) }, revised)
    precise.revise(announcing: { table.prefetch($0.slot) }, revised)
    noteStale(left, in: table)
  }

  @inline(__always)
  private mutating func take(_ slot: UInt32, _ table: TimerTable, _ batch: inout ContiguousArray<DueTimer>) {
    batch.append(DueTimer(slot, in: table))
    staleCount += table.entryLeft(slot)
  }

  /// Makes the top exact: drops entries that are stale or not armed, and moves one that was put off.
  ///
  /// - Returns: Its deadline.
  @inline(__always)
  private static func settleTop(
    of heap: inout DeadlineHeap, _ staleCount: inout Int, _ table: TimerTable, isHard: Bool = false
  ) -> Instant {
    heap.count == 0 ? .distantFuture : settleTopPresent(of: &heap, &staleCount, table, isHard)
  }

  private static func settleTopPresent(
    of heap: inout DeadlineHeap, _ staleCount: inout Int, _ table: TimerTable, _ isHard: Bool
  ) -> Instant {
    while let top = heap.top {
      guard table[top.slot].version == top.version else {
        staleCount -= 1
        heap.removeTop()
        continue
      }
      guard table[top.slot].isArmed else {
        heap.removeTop()
        staleCount += table.entryLeft(top.slot)
        continue
      }
      let exact = isHard ? table[top.slot].hardDeadline : table[top.slot].date
      if exact == top.deadline { return exact }
      heap.replaceTop(with: DeadlineHeap.Entry(deadline: exact, slot: top.slot, version: top.version))
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

/// A row that was due when its turn looked.
struct DueTimer {
  let token: Token
  let date: Instant
  let order: Int32
  let stamp: UInt32

  init(token: Token, date: Instant, order: Int32, stamp: UInt32) {
    self.token = token
    self.date = date
    self.order = order
    self.stamp = stamp
  }

  @inline(__always)
  init(_ slot: UInt32, in table: TimerTable) {
    self.init(token: table.token(slot), date: table[slot].date, order: table[slot].order, stamp: table[slot].stamp)
  }

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
