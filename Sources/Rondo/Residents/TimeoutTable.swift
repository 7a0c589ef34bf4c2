internal import CLinux
import Synchronization

/// What a timeout calls.
@safe enum TimeoutHandler {
  case closure(() -> Void)
  /// A function of C and what it is given, in the room of a closure.
  case function(@convention(c) (UnsafeMutableRawPointer?) -> Void, UnsafeMutableRawPointer?)
}

/// What one loop keeps of a timeout: all there is of it, one cache line.
@safe struct TimeoutRecord: SlotRecord {
  /// What is called; nil in a free slot, and while its callout is under way.
  var handler: TimeoutHandler?
  /// When it fires, if it is armed.
  var date = Instant.distantFuture
  /// No later than `date` while it is queued: the latest of what its entries say.
  var queuedDate = Instant.distantFuture
  /// Nanoseconds.
  var tolerance: Int64 = 0
  var generation: UInt32 = 0
  var version: UInt32 = 0
  /// Its place in the sequence of scheduling, which breaks ties of date. Wraps.
  var stamp: UInt32 = 0
  /// Whether it was made and has not been discarded.
  var isInUse = false
  var isArmed = false
  /// Whether it has its entries in a queue: one, or with tolerance two. A dormant one may still have them.
  var isQueued = false
  /// The index of its mode, or `commonModes`.
  var queue: UInt8 = 0

  static var unused: TimeoutRecord { TimeoutRecord() }

  private init() {}

  @inline(__always)
  var nextFree: UInt32 {
    get { UInt32(truncatingIfNeeded: tolerance) }
    set { tolerance = Int64(newValue) }
  }

  /// Stands for the common modes, whose timeouts are in one queue together.
  static let commonModes: UInt8 = 255

  @inline(__always)
  var schedule: Schedule { Schedule(fireDate: date, interval: 0, tolerance: tolerance) }

  /// How many entries it has when it is queued.
  @inline(__always)
  var entryCount: UInt8 { tolerance == 0 ? 1 : 2 }
}

/// A loop's timeouts. *loop thread*
///
/// Apart from the residents: those stand for an object that other threads can reach, and their line is full; a timeout has
/// no object, so its line holds all of it.
@safe final class TimeoutTable {
  @safe @exclusivity(unchecked) private var records = SlotMemory<TimeoutRecord>()
  /// Whether a timeout was ever made: whoever has none pays for none.
  @safe @exclusivity(unchecked) private(set) var isUsed = false
  /// Those of the common modes.
  @safe @exclusivity(unchecked) var common = TimerQueue<TimeoutTable>(bit: 0)
  /// Whether the loop has ended, and makes no more.
  @safe @exclusivity(unchecked) var isClosed = false
  /// Whether one of the common modes was ever made.
  @safe @exclusivity(unchecked) var hasCommon = false
  /// How many timeouts of the common modes are armed.
  @safe @exclusivity(unchecked) var armedCommonCount = 0
  /// *constant* Tells the handles of this loop from those of every other one.
  let number: UInt32

  /// Loops that have been made.
  private static let lastNumber = Atomic<UInt32>(0)

  init() {
    number = Self.lastNumber.add(1, ordering: .relaxed).newValue
  }

  /// Not to be held while anything else is called.
  @inline(__always)
  subscript(slot: UInt32) -> TimeoutRecord {
    _read { yield records[slot] }
    _modify { yield &records[slot] }
  }

  /// Whether the timeout a token was made for has not been discarded. The token may be any number.
  @inline(__always)
  func holds(_ token: Token) -> Bool {
    token.slot < records.count && token.generation != 0 && self[token.slot].generation == token.generation
  }

  /// Makes every heap entry of the timeout stale.
  @inline(__always)
  func renewVersion(_ slot: UInt32) { records.renewVersion(slot) }

  /// A dormant timeout.
  func insert(queue: UInt8, tolerance: Int64, _ handler: consuming TimeoutHandler) -> Token {
    isUsed = true
    let token = records.take()
    self[token.slot].handler = consume handler
    self[token.slot].tolerance = tolerance
    self[token.slot].queue = queue
    self[token.slot].isInUse = true
    return token
  }

  /// Gives up the slot of a timeout that is neither armed nor queued.
  ///
  /// - Returns: Its handler, which is the caller's to let go of; nil while its callout is under way.
  func remove(_ slot: UInt32) -> TimeoutHandler? {
    let handler = self[slot].handler.take()
    records.free(slot)
    return handler
  }

  /// Every timeout that has not been discarded.
  var all: [Token] { records.used.map { Token(slot: $0, generation: self[$0].generation) } }

  /// How many slots there are, and how many of them are in use.
  var slotCount: (all: Int, used: Int) { (Int(records.count), records.usedCount) }
}

extension TimeoutTable: TimerTable {
  @inline(__always)
  func version(_ slot: UInt32) -> UInt32 { self[slot].version }

  @inline(__always)
  func fireDate(_ slot: UInt32, in bit: UInt64) -> Instant? {
    self[slot].isArmed ? self[slot].date : nil
  }

  @inline(__always)
  func hardDeadline(_ slot: UInt32, in bit: UInt64) -> Instant? {
    self[slot].isArmed ? self[slot].schedule.hardDeadline : nil
  }

  @inline(__always)
  func due(_ slot: UInt32, at date: Instant) -> DueTimer {
    DueTimer(
      token: Token(slot: slot, generation: self[slot].generation), date: date, order: 0, stamp: self[slot].stamp,
      isTimeout: true)
  }

  /// The other entry of one with tolerance goes with it.
  @inline(__always)
  func entryLeft(_ slot: UInt32, in bit: UInt64) -> Int {
    self[slot].isQueued = false
    records.renewVersion(slot)
    return Int(self[slot].entryCount) - 1
  }

  @inline(__always)
  func entryMoved(_ slot: UInt32) {
    self[slot].queuedDate = self[slot].date
  }

  @inline(__always)
  func prefetch(_ slot: UInt32) { records.prefetch(slot) }
}
