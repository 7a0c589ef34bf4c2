/// One mode's timers by deadline. *loop thread*
///
/// Timers without tolerance stand in `exact`. The others stand twice: by fire date in `soft`, by the latest moment to
/// wake in `hard`. The loop wakes for the earliest of `exact` and `hard`, and then fires all of `exact` and `soft`
/// whose date has passed: the fewest wakeups there can be. Precise timers stand in `precise`, so that the loop knows
/// which date to spin for, and count as exact. An entry is a lower bound, made exact only at the top, so
/// that putting a timer off needs no heap operation.
struct TimerQueue {
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
  func countStale(in slots: SlotTable) -> Int {
    [exact, precise, soft, hard].reduce(0) { $0 + $1.count { slots[$0.slot].version != $0.version } }
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
  mutating func noteStale(_ count: UInt8, in slots: SlotTable) {
    staleCount += Int(count)
    if staleCount > 64, staleCount > entryCount / 2 { sweep(slots) }
  }

  @inline(never)
  private mutating func sweep(_ slots: SlotTable) {
    // Not a look at the timer itself, which would miss the cache a million times in a queue of a million.
    func isLive(_ entry: DeadlineHeap.Entry) -> Bool { slots[entry.slot].version == entry.version }
    exact.sweep(isLive)
    soft.sweep(isLive)
    hard.sweep(isLive)
    precise.sweep(isLive)
    staleCount = 0
    isEmpty = entryCount == 0
  }

  /// The latest moment by which the loop has to wake for a timer of the mode.
  mutating func nextWake(in slots: SlotTable) -> Instant {
    if isEmpty { return .distantFuture }
    defer { isEmpty = entryCount == 0 }
    return min(
      Self.settleTop(of: &exact, &staleCount, slots, bit) { $0.schedule.fireDate },
      Self.settleTop(of: &hard, &staleCount, slots, bit) { $0.schedule.hardDeadline },
      nextPreciseDate(in: slots))
  }

  /// The date of the mode's next precise timer.
  @inline(__always)
  mutating func nextPreciseDate(in slots: SlotTable) -> Instant {
    if precise.count == 0 { return .distantFuture }
    return Self.settleTop(of: &precise, &staleCount, slots, bit) { $0.schedule.fireDate }
  }

  /// The earliest date a timer of the mode wants.
  mutating func nextFireDate(in slots: SlotTable) -> Instant {
    if isEmpty { return .distantFuture }
    return min(
      Self.settleTop(of: &exact, &staleCount, slots, bit) { $0.schedule.fireDate },
      Self.settleTop(of: &soft, &staleCount, slots, bit) { $0.schedule.fireDate },
      nextPreciseDate(in: slots))
  }

  /// Moves every timer whose date has passed into `batch`, by date, then order, then sequence of scheduling.
  mutating func collectDue(_ now: Instant, in slots: SlotTable, into batch: inout ContiguousArray<DueTimer>) {
    let start = batch.count
    while true {
      let exactDate = Self.settleTop(of: &exact, &staleCount, slots, bit) { $0.schedule.fireDate }
      let softDate = Self.settleTop(of: &soft, &staleCount, slots, bit) { $0.schedule.fireDate }
      let preciseDate = nextPreciseDate(in: slots)
      let date = min(exactDate, softDate, preciseDate)
      guard date <= now, date != .distantFuture else { break }
      let entry: DeadlineHeap.Entry
      if date == exactDate {
        entry = exact.top!
        exact.removeTop()
      } else if date == softDate {
        entry = soft.top!
        soft.removeTop()
      } else {
        entry = precise.top!
        precise.removeTop()
      }
      slots[entry.slot].pending |= bit
      let resident = slots[entry.slot]
      let order = unsafe resident.item!._withUnsafeGuaranteedRef { $0.order }
      batch.append(
        DueTimer(
          token: Token(slot: entry.slot, generation: resident.generation), date: date, order: order,
          stamp: resident.stamp))
    }
    if batch.count - start > 1 { DueTimer.sortTies(&batch, from: start) }
  }

  /// Makes the top exact: drops stale entries, re-seats a timer that was put off.
  private static func settleTop(
    of heap: inout DeadlineHeap, _ staleCount: inout Int, _ slots: SlotTable, _ bit: UInt64,
    _ deadline: (Loop.Timer) -> Instant
  ) -> Instant {
    while let top = heap.top {
      guard let exact = exactDeadline(of: top, slots, bit, deadline) else {
        if slots[top.slot].version != top.version { staleCount -= 1 }
        heap.removeTop()
        continue
      }
      if exact == top.deadline { return exact }
      heap.replaceTop(with: DeadlineHeap.Entry(deadline: exact, slot: top.slot, version: top.version))
    }
    return .distantFuture
  }

  /// The deadline of the timer that an entry stands for; nil if the entry is stale.
  @inline(__always)
  private static func exactDeadline(
    of entry: DeadlineHeap.Entry, _ slots: SlotTable, _ bit: UInt64, _ deadline: (Loop.Timer) -> Instant
  ) -> Instant? {
    // A timer in a batch, or in its callout, has no entry that counts.
    guard slots[entry.slot].version == entry.version, slots[entry.slot].pending & bit == 0,
      slots[entry.slot].installed & bit != 0, let item = unsafe slots[entry.slot].item
    else { return nil }
    return unsafe item._withUnsafeGuaranteedRef { deadline(downcast($0, to: Loop.Timer.self)) }
  }
}

/// A timer that was due when its turn looked.
struct DueTimer {
  let token: Token
  let date: Instant
  let order: Int
  let stamp: UInt32

  /// Whether this one fires first, of two with the same date. Stamps wrap, so their distance decides.
  private func comesBefore(_ other: DueTimer) -> Bool {
    order != other.order ? order < other.order : Int32(bitPattern: stamp &- other.stamp) < 0
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
