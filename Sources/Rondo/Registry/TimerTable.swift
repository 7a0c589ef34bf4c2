internal import CLinux
import Synchronization

/// What a row is of.
@safe enum TimerTarget {
  /// The table owns the timer.
  case timer(Unmanaged<Loop.Timer>)
  case timeout(TimeoutHandler)
}

/// What a timeout calls.
@safe enum TimeoutHandler {
  case closure(() -> Void)
  /// A function of C and what it is given, in the room of a closure.
  case function(@convention(c) (UnsafeMutableRawPointer?) -> Void, UnsafeMutableRawPointer?)
}

/// What one loop keeps of a timer or a timeout: one cache line. Of a timeout, it is all there is.
@safe struct TimerRow: SlotRecord {
  /// What is called; nil in a free slot, and of a timeout while its callout is under way.
  var target: TimerTarget?
  /// Whether a timer has this slot, or a timeout that was made and has not been discarded.
  var isInUse = false
  /// Whether it has a date at which to fire.
  var isArmed = false
  /// Whether the loop spins before its date.
  var isPrecise = false
  /// The number of its `ModeGroup`.
  var group: GroupNumber = 0
  /// When it fires, if it is armed. Its entries say so, or an earlier date.
  var date = Instant.distantFuture
  /// Nanoseconds that a fire may be late.
  var tolerance: Int64 = 0
  var generation: UInt32 = 0
  /// Where its entry by date stands in its heap; `noPlace` while it is not queued. A timeout that is not armed may have one.
  var place = noPlace
  /// The same of the entry by latest moment, which a row with tolerance has.
  var latePlace = noPlace
  /// Its place in the sequence of scheduling, which breaks ties of date and order. Wraps.
  var stamp: UInt32 = 0
  /// Lower fires first, of equal dates.
  var order: Int32 = 0
  /// Grid points that have passed since its last fire.
  var missed: UInt32 = 0

  static var noPlace: UInt32 { .max }
  static var unused: TimerRow { TimerRow() }

  private init() {}

  @inline(__always)
  var nextFree: UInt32 {
    get { UInt32(truncatingIfNeeded: tolerance) }
    set { tolerance = Int64(newValue) }
  }

  /// Leaves what `unused` has, of a row that has lost its target and is neither armed nor queued.
  @inline(__always)
  mutating func vacate() {
    isInUse = false
    isPrecise = false
    date = .distantFuture
    order = 0
    missed = 0
  }

  /// Whether it has its entries in its group's queue: one, or with tolerance two.
  @inline(__always)
  var isQueued: Bool { place != Self.noPlace }

  /// The latest moment to wake for it.
  @inline(__always)
  var hardDeadline: Instant { date.advanced(by: tolerance) }

  /// Whether the schedule needs other entries than the row has.
  @inline(__always)
  func differs(from schedule: Schedule) -> Bool {
    schedule.isPrecise != isPrecise || schedule.effectiveTolerance != tolerance
  }
}

/// A loop's timers and timeouts. *loop thread*
@safe final class TimerTable {
  @safe @exclusivity(unchecked) private var rows = SlotMemory<TimerRow>()
  /// Whether the loop has ended, and makes no more timeouts.
  @safe @exclusivity(unchecked) var isClosed = false
  /// *constant* Tells the timeouts of this loop from those of every other one.
  let number: UInt32

  /// Loops that have been made.
  private static let lastNumber = Atomic<UInt32>(0)

  init() {
    number = Self.lastNumber.add(1, ordering: .relaxed).newValue
  }

  deinit {
    for slot in rows.used { if case .timer(let timer) = rows[slot].target { unsafe timer.release() } }
  }

  /// Not to be held while anything else is called.
  @inline(__always)
  subscript(slot: UInt32) -> TimerRow {
    _read { yield rows[slot] }
    _modify { yield &rows[slot] }
  }

  /// Whether what a token was made for still has its slot. The token may be any number.
  @inline(__always)
  func holds(_ token: Token) -> Bool {
    token.slot < rows.count && token.generation != 0 && self[token.slot].generation == token.generation
  }

  /// The token of a timer of this loop; nil while the loop's thread has not installed it.
  @inline(__always)
  func token(of timer: Loop.Timer) -> Token? {
    guard timer.slot >= 0 else { return nil }
    let slot = UInt32(timer.slot)
    assert(self.timer(slot) === timer, "Another loop's timer.")
    return Token(slot: slot, generation: self[slot].generation)
  }

  /// The timer that has the slot; nil if it is a timeout's.
  @inline(__always)
  func timer(_ slot: UInt32) -> Loop.Timer? {
    if case .timer(let timer) = self[slot].target { return unsafe timer.takeUnretainedValue() }
    return nil
  }

  /// A row that is not armed.
  @inline(__always)
  func insert(_ target: consuming TimerTarget, group: GroupNumber) -> UInt32 {
    let token = rows.take()
    self[token.slot].target = consume target
    self[token.slot].group = group
    self[token.slot].isInUse = true
    return token.slot
  }

  /// Gives a timer a row that is not armed.
  func insert(_ timer: Loop.Timer, group: GroupNumber) -> UInt32 {
    timer.holdHandlers()
    let slot = insert(unsafe .timer(.passRetained(timer)), group: group)
    self[slot].order = Int32(truncatingIfNeeded: timer.order)
    timer.slot = Int32(slot)
    return slot
  }

  @inline(__always)
  func token(_ slot: UInt32) -> Token { Token(slot: slot, generation: self[slot].generation) }

  /// Frees a slot that is neither armed nor queued.
  ///
  /// - Returns: What it called, which is the caller's to release; nil while the callout of a timeout is under way.
  func remove(_ slot: UInt32) -> TimerTarget? {
    let target = self[slot].target.take()
    self[slot].isArmed = false
    rows.free(slot)
    return target
  }

  /// Frees the slot of a timer that is not queued; its tokens are stale from here on.
  ///
  /// - Returns: The timer, which is the caller's to release.
  func freeSlot(_ slot: UInt32) -> Loop.Timer {
    guard case .timer(let timer)? = remove(slot) else { preconditionFailure("A timer has the slot.") }
    let vacated = unsafe timer.takeRetainedValue()
    vacated.slot = -1
    return vacated
  }

  /// Every timer and timeout.
  var all: [Token] { rows.used.map(token) }

  /// How many slots there are, and how many of them are in use.
  var slotCount: (all: Int, used: Int) { (Int(rows.count), rows.usedCount) }

  /// Where a row is, until one is made.
  @inline(__always)
  func address(_ slot: UInt32) -> UnsafeMutableRawPointer { unsafe rows.address(slot) }

  /// The row is needed soon.
  @inline(__always)
  func prefetch(_ slot: UInt32) { unsafe rondo_prefetch(address(slot)) }

  /// The timer of a row that has come is needed soon.
  @inline(__always)
  func prefetchTimer(_ slot: UInt32) {
    if case .timer(let timer) = self[slot].target { unsafe rondo_prefetch(timer.toOpaque()) }
  }
}
