/// The timers and timeouts of a group, by deadline. *loop thread*
///
/// Those without tolerance are in `exact`. The others are in two heaps: by fire date in `soft`, by the latest moment to
/// wake in `hard`. The loop wakes for the earliest of `exact` and `hard`, and then fires all of `exact` and `soft` whose
/// date has passed: the fewest wakeups there can be. An entry is a lower bound, made exact only at the top, so that
/// putting a timer off needs no heap operation.
struct TimerQueue: ~Copyable {
  private(set) var exact = DeadlineHeap()
  private(set) var soft = DeadlineHeap()
  private(set) var hard = DeadlineHeap(isOfLatest: true)
  /// The rows in `exact` that the loop spins for. There are few.
  private(set) var precise: ContiguousArray<UInt32> = []

  @inline(__always)
  var isEmpty: Bool { exact.count == 0 && soft.count == 0 }

  @inline(__always)
  var hasPrecise: Bool { !precise.isEmpty }

  /// How many entries the heaps hold.
  var entryCount: Int { exact.count + soft.count + hard.count }

  /// Gives a row its entries by its date: one, with tolerance two.
  @inline(__always)
  mutating func insert(_ slot: UInt32, in table: TimerTable) {
    if table[slot].tolerance == 0 {
      exact.push(table[slot].date, slot, in: table)
      if table[slot].isPrecise { precise.append(slot) }
    } else {
      soft.push(table[slot].date, slot, in: table)
      hard.push(table[slot].hardDeadline, slot, in: table)
    }
  }

  /// Removes the entries of a queued row, whose tolerance and precision are as they were when it was queued.
  @inline(__always)
  mutating func remove(_ slot: UInt32, in table: TimerTable) {
    if table[slot].tolerance == 0 {
      exact.remove(slot, in: table)
      if table[slot].isPrecise { precise.removeAll { $0 == slot } }
    } else {
      soft.remove(slot, in: table)
      hard.remove(slot, in: table)
    }
  }

  /// The date of a queued row is earlier than it was.
  mutating func bringForward(_ slot: UInt32, in table: TimerTable) {
    if table[slot].tolerance == 0 { return exact.bringForward(slot, to: table[slot].date, in: table) }
    soft.bringForward(slot, to: table[slot].date, in: table)
    hard.bringForward(slot, to: table[slot].hardDeadline, in: table)
  }

  /// The earliest date in the queue, and the latest moment by which the loop has to wake for it.
  mutating func nextDates(in table: TimerTable) -> TimerDates {
    let certain = settleExact(table)
    if soft.count == 0 { return TimerDates(fire: certain, wake: certain) }
    return TimerDates(
      fire: min(certain, settleSoft(table)), wake: min(certain, Self.settleTop(of: &hard, beside: &soft, table)))
  }

  /// The date of the next precise timer.
  func nextPreciseDate(in table: TimerTable) -> Instant {
    precise.reduce(.distantFuture) { min($0, table[$1].date) }
  }

  /// Whether a date may have come. Entries are lower bounds, so most turns know without reading a row that none has.
  @inline(__always)
  func mayHaveDue(_ now: Instant) -> Bool { exact.earliest <= now || soft.earliest <= now }

  // MARK: - What is due

  /// Appends what is due to `batch`, by date, then order, then sequence of scheduling.
  mutating func collectDue(_ now: Instant, in table: TimerTable, into batch: inout ContiguousArray<DueTimer>) {
    guard mayHaveDue(now) else { return }
    let start = batch.count
    var (exactDate, softDate) = (settleExact(table), settleSoft(table))
    // With more due timers than this, one pass over all entries costs less than taking these out one by one.
    let limit = start + DeadlineHeap.many + entryCount / 32
    while true {
      let date = min(exactDate, softDate)
      guard date <= now, date != .distantFuture else { break }
      if batch.count >= limit {
        collectRest(now, table, &batch)
        break
      }
      let isExact = exactDate == date
      let slot = (isExact ? exact.top : soft.top)!.slot
      batch.append(DueTimer(slot, in: table))
      remove(slot, in: table)
      if isExact { exactDate = settleExact(table) } else { softDate = settleSoft(table) }
    }
    DueTimer.sort(&batch, from: start)
  }

  /// Appends what is due in one pass over the entries, in no order, and makes the others exact on the way.
  @inline(never)
  private mutating func collectRest(_ now: Instant, _ table: TimerTable, _ batch: inout ContiguousArray<DueTimer>) {
    func revised(_ entry: DeadlineHeap.Entry) -> Instant? {
      // A row whose lower bound is not reached need not be read further.
      if now < entry.deadline { return entry.deadline }
      guard table[entry.slot].isArmed else { return nil }
      let date = table[entry.slot].date
      if now < date { return date }
      batch.append(DueTimer(entry.slot, in: table))
      return nil
    }
    exact.revise(in: table, revised)
    if hasPrecise { precise.removeAll { !table[$0].isQueued } }
    if soft.count == 0 { return }
    soft.revise(in: table, revised)
    hard.revise(in: table) { table[$0.slot].isQueued ? $0.deadline : nil }
  }

  @inline(__always)
  private mutating func settleExact(_ table: TimerTable) -> Instant {
    exact.count == 0 ? .distantFuture : Self.settleTop(of: &exact, beside: &hard, table)
  }

  @inline(__always)
  private mutating func settleSoft(_ table: TimerTable) -> Instant {
    soft.count == 0 ? .distantFuture : Self.settleTop(of: &soft, beside: &hard, table)
  }

  /// Makes the top exact: drops rows that are not armed, and moves one that was put off.
  ///
  /// - Parameter other: Where such a row may have its other entry.
  /// - Returns: The top's deadline.
  private static func settleTop(
    of heap: inout DeadlineHeap, beside other: inout DeadlineHeap, _ table: TimerTable
  ) -> Instant {
    while let top = heap.top {
      guard table[top.slot].isArmed else {
        heap.remove(top.slot, in: table)
        other.remove(top.slot, in: table)
        continue
      }
      let deadline = heap.deadline(of: top.slot, in: table)
      if deadline == top.deadline { return deadline }
      heap.putOffTop(to: deadline, in: table)
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

  /// Sorts by date, then order, then sequence of scheduling. Stamps wrap, so their distance decides.
  static func sort(_ batch: inout ContiguousArray<DueTimer>, from start: Int) {
    if batch.count - start < 2 { return }
    unsafe batch.withUnsafeMutableBufferPointer { batch in
      unsafe batch[start...].sort {
        if $0.date != $1.date { return $0.date < $1.date }
        return $0.order != $1.order ? $0.order < $1.order : Int32(bitPattern: $0.stamp &- $1.stamp) < 0
      }
    }
  }
}

extension DueTimer {
  @inline(__always)
  init(_ slot: UInt32, in table: TimerTable) {
    self.init(token: table.token(slot), date: table[slot].date, order: table[slot].order, stamp: table[slot].stamp)
  }
}
