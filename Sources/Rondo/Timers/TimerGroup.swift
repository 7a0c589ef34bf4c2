/// What waits for a run in one of a set of modes: each timer and timeout once, in however many modes it is. *loop thread*
///
/// The rules:
/// - A set of modes has at most one group. Timers and timeouts of the same set share it.
/// - A mode has the group that is for it alone, and lists the other groups whose set contains it. A run serves all of
///   these, merged by date.
/// - A timer that joins or leaves a mode moves to the group of its new set.
/// - The group of the common modes is listed by each mode that is common, and has timeouts alone. A timer of the common
///   modes waits in the group of the modes that are common by then: it may be in further modes as well.
/// - A group of several modes ends when it has no timers and timeouts.
///
/// Those without tolerance are in `exact`. The others are in two heaps: by fire date in `soft`, by the latest moment to
/// wake in `hard`. The loop wakes for the earliest of `exact` and `hard`, and then fires all of `exact` and `soft` whose
/// date has passed: the fewest wakeups there can be. An entry is a lower bound, made exact only at the top, so that
/// putting a timer off needs no heap operation.
struct TimerGroup: ~Copyable {
  let modes: ModeSet
  /// How many timers and timeouts belong to it.
  var rowCount = 0
  /// How many of them keep its modes from being empty: timers, and armed timeouts.
  var keptCount = 0
  private(set) var exact = DeadlineHeap()
  private(set) var soft = DeadlineHeap()
  private(set) var hard = DeadlineHeap(isOfLatest: true)
  /// The rows in `exact` that the loop spins for. There are few.
  private(set) var precise: ContiguousArray<UInt32> = []

  init(_ modes: ModeSet) {
    self.modes = modes
  }

  /// Whether it is the group of one mode, which keeps it.
  var isOfOneMode: Bool { !modes.isCommon && modes.modes.nonzeroBitCount == 1 }

  @inline(__always)
  var isEmpty: Bool { exact.count == 0 && soft.count == 0 }

  @inline(__always)
  var hasPrecise: Bool { !precise.isEmpty }

  /// How many entries the heaps hold.
  var entryCount: Int { exact.count + soft.count + hard.count }

  /// Gives a row its entries by its date: one, with tolerance two.
  @inline(__always)
  mutating func insert(_ slot: UInt32, in rows: TimerRows) {
    if rows[slot].tolerance == 0 {
      exact.push(rows[slot].date, slot, in: rows)
      if rows[slot].isPrecise { precise.append(slot) }
    } else {
      soft.push(rows[slot].date, slot, in: rows)
      hard.push(rows[slot].hardDeadline, slot, in: rows)
    }
  }

  /// Removes the entries of a queued row, whose tolerance and precision are as they were when it was queued.
  @inline(__always)
  mutating func remove(_ slot: UInt32, in rows: TimerRows) {
    if rows[slot].tolerance == 0 {
      exact.remove(slot, in: rows)
      if rows[slot].isPrecise { precise.removeAll { $0 == slot } }
    } else {
      soft.remove(slot, in: rows)
      hard.remove(slot, in: rows)
    }
  }

  /// The date of a queued row is earlier than it was.
  mutating func bringForward(_ slot: UInt32, in rows: TimerRows) {
    if rows[slot].tolerance == 0 { return exact.bringForward(slot, to: rows[slot].date, in: rows) }
    soft.bringForward(slot, to: rows[slot].date, in: rows)
    hard.bringForward(slot, to: rows[slot].hardDeadline, in: rows)
  }

  /// The earliest date in the queue, and the latest moment by which the loop has to wake for it.
  mutating func nextDates(in rows: TimerRows) -> TimerDates {
    let certain = settleExact(rows)
    if soft.count == 0 { return TimerDates(fire: certain, wake: certain) }
    return TimerDates(
      fire: min(certain, settleSoft(rows)), wake: min(certain, Self.settleTop(of: &hard, beside: &soft, rows)))
  }

  /// The date of the next precise timer.
  func nextPreciseDate(in rows: TimerRows) -> Instant {
    precise.reduce(.distantFuture) { min($0, rows[$1].date) }
  }

  /// Whether a date may have come. Entries are lower bounds, so most turns know without reading a row that none has.
  @inline(__always)
  func mayHaveDue(_ now: Instant) -> Bool { exact.earliest <= now || soft.earliest <= now }

  // MARK: - What is due

  /// Appends what is due to `batch`, by date, then order, then sequence of scheduling.
  mutating func collectDue(_ now: Instant, in rows: TimerRows, into batch: inout ContiguousArray<DueTimer>) {
    guard mayHaveDue(now) else { return }
    let start = batch.count
    var (exactDate, softDate) = (settleExact(rows), settleSoft(rows))
    // With more due timers than this, one pass over all entries costs less than taking these out one by one.
    let limit = start + DeadlineHeap.many + entryCount / 32
    while true {
      let date = min(exactDate, softDate)
      guard date <= now, date != .distantFuture else { break }
      if batch.count >= limit {
        collectRest(now, rows, &batch)
        break
      }
      let isExact = exactDate == date
      let slot = (isExact ? exact.top : soft.top)!.slot
      batch.append(DueTimer(slot, in: rows))
      remove(slot, in: rows)
      if isExact { exactDate = settleExact(rows) } else { softDate = settleSoft(rows) }
    }
    DueTimer.sort(&batch, from: start, in: rows)
  }

  /// Appends what is due in one pass over the entries, in no order, and makes the others exact on the way.
  @inline(never)
  private mutating func collectRest(_ now: Instant, _ rows: TimerRows, _ batch: inout ContiguousArray<DueTimer>) {
    func revised(_ entry: DeadlineHeap.Entry) -> Instant? {
      // A row whose lower bound is not reached need not be read further.
      if now < entry.deadline { return entry.deadline }
      guard rows[entry.slot].isArmed else { return nil }
      let date = rows[entry.slot].date
      if now < date { return date }
      batch.append(DueTimer(entry.slot, in: rows))
      return nil
    }
    exact.revise(in: rows, revised)
    if hasPrecise { precise.removeAll { !rows[$0].isQueued } }
    if soft.count == 0 { return }
    soft.revise(in: rows, revised)
    hard.revise(in: rows) { rows[$0.slot].isQueued ? $0.deadline : nil }
  }

  @inline(__always)
  private mutating func settleExact(_ rows: TimerRows) -> Instant {
    exact.count == 0 ? .distantFuture : Self.settleTop(of: &exact, beside: &hard, rows)
  }

  @inline(__always)
  private mutating func settleSoft(_ rows: TimerRows) -> Instant {
    soft.count == 0 ? .distantFuture : Self.settleTop(of: &soft, beside: &hard, rows)
  }

  /// Makes the top exact: drops rows that are not armed, and moves one that was put off.
  ///
  /// - Parameter other: Where such a row may have its other entry.
  /// - Returns: The top's deadline.
  private static func settleTop(
    of heap: inout DeadlineHeap, beside other: inout DeadlineHeap, _ rows: TimerRows
  ) -> Instant {
    while let top = heap.top {
      guard rows[top.slot].isArmed else {
        heap.remove(top.slot, in: rows)
        other.remove(top.slot, in: rows)
        continue
      }
      let deadline = heap.deadline(of: top.slot, in: rows)
      if deadline == top.deadline { return deadline }
      heap.putOffTop(to: deadline, in: rows)
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
  let date: Instant
  let token: Token

  @inline(__always)
  init(_ slot: UInt32, in rows: TimerRows) {
    (date, token) = (rows[slot].date, rows.token(slot))
  }

  /// Sorts by date, then order, then sequence of scheduling.
  ///
  /// By date alone first: most dates differ, and a row that need not be read is not.
  static func sort(_ batch: inout ContiguousArray<DueTimer>, from start: Int, in rows: TimerRows) {
    if batch.count - start < 2 { return }
    unsafe batch.withUnsafeMutableBufferPointer { batch in
      unsafe batch[start...].sort { $0.date < $1.date }
      var first = start
      while first < batch.count {
        var end = first + 1
        while end < batch.count, unsafe batch[end].date == batch[first].date { end += 1 }
        if end - first > 1 { unsafe batch[first..<end].sort { isEarlier(rows[$0.token.slot], rows[$1.token.slot]) } }
        first = end
      }
    }
  }

  /// Of equal dates. Stamps wrap, so their distance decides.
  private static func isEarlier(_ one: TimerRow, _ other: TimerRow) -> Bool {
    one.order != other.order ? one.order < other.order : Int32(bitPattern: one.stamp &- other.stamp) < 0
  }
}
