internal import CLinux

/// What a row is of.
@safe enum TimerTarget {
  /// The row owns the timer.
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
  /// The number of its `TimerGroup`.
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

  /// Leaves what `unused` has, of a row that has lost its target and is not queued.
  @inline(__always)
  mutating func vacate() {
    isInUse = false
    isArmed = false
    isPrecise = false
    date = .distantFuture
    order = 0
    missed = 0
  }

  /// Whether it has its entries in its group: one, or with tolerance two.
  @inline(__always)
  var isQueued: Bool { place != Self.noPlace }

  /// The latest moment to wake for it.
  @inline(__always)
  var hardDeadline: Instant { date.advanced(by: tolerance) }
}

/// The rows of a loop, as an array that nothing guards. Not to be held while a row is made.
@safe struct TimerRows {
  let base: UnsafeMutablePointer<TimerRow>

  init(_ base: UnsafeMutablePointer<TimerRow>) { unsafe self.base = base }

  @inline(__always)
  subscript(slot: UInt32) -> TimerRow {
    _read { yield unsafe base[Int(slot)] }
    nonmutating _modify { yield unsafe &base[Int(slot)] }
  }

  @inline(__always)
  func token(_ slot: UInt32) -> Token { Token(slot: slot, generation: self[slot].generation) }

  /// The row is needed soon.
  @inline(__always)
  func prefetch(_ slot: UInt32) { unsafe rondo_prefetch(base + Int(slot)) }

  /// The timer of a row that has come is needed soon.
  @inline(__always)
  func prefetchTimer(_ slot: UInt32) {
    if case .timer(let timer) = self[slot].target { unsafe rondo_prefetch(timer.toOpaque()) }
  }
}
