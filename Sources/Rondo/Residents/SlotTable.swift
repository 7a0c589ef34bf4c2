internal import CLinux

/// A loop's residents. Owns their items; each has a slot whose generation tells a stale token. *loop thread*
@safe final class SlotTable {
  /// One resident a cache line.
  @safe @exclusivity(unchecked) private var residents = unsafe SlotTable.allocate(capacity: SlotTable.leastCapacity)
  @safe @exclusivity(unchecked) private var capacity = SlotTable.leastCapacity
  /// How many slots have been used.
  @safe @exclusivity(unchecked) private var count: UInt32 = 0
  /// The free slot that is given out next; each names the one after it.
  @safe @exclusivity(unchecked) private var firstFree = SlotTable.none
  @safe @exclusivity(unchecked) private var freeCount = 0
  /// Removed items that may still be in a callout; released by `retire()`.
  @safe @exclusivity(unchecked) private var retired: [Loop.Item] = []

  /// No slot.
  private static let none = UInt32.max

  /// Bytes, on the processors that Linux servers have.
  static let cacheLine = 64

  /// What a loop of a few items needs.
  private static let leastCapacity = 8

  private static func allocate(capacity: Int) -> UnsafeMutablePointer<Resident> {
    // Known when it is compiled, so that it costs nothing. One more word would put each resident on two lines.
    contract(MemoryLayout<Resident>.stride == cacheLine, "A resident is one cache line.")
    let bytes = UnsafeMutableRawPointer.allocate(
      byteCount: capacity * MemoryLayout<Resident>.stride, alignment: cacheLine)
    return unsafe bytes.bindMemory(to: Resident.self, capacity: capacity)
  }

  deinit {
    for slot in 0..<Int(count) {
      unsafe residents[slot].item?.release()
    }
    unsafe residents.deinitialize(count: Int(count))
    unsafe residents.deallocate()
  }

  /// What the loop keeps of the item in a slot. Not to be held while anything else is called.
  @inline(__always)
  subscript(slot: UInt32) -> Resident {
    _read {
      assert(slot < count)
      yield residents[Int(slot)]
    }
    _modify {
      assert(slot < count)
      yield &residents[Int(slot)]
    }
  }

  /// The same for a token that is not stale.
  @inline(__always)
  subscript(token: Token) -> Resident {
    _read {
      assert(holds(token), "A stale token was used.")
      yield residents[Int(token.slot)]
    }
    _modify {
      assert(holds(token), "A stale token was used.")
      yield &residents[Int(token.slot)]
    }
  }

  /// Gives the item a slot unless it has one.
  func insert(_ item: Loop.Item) -> Token {
    if let token = token(of: item) { return token }
    item.holdHandlers()
    let slot = firstFree == Self.none ? appendSlot() : takeFreeSlot()
    unsafe self[slot].item = Unmanaged.passRetained(item)
    item.slot = Int32(slot)
    return Token(slot: slot, generation: self[slot].generation)
  }

  @inline(__always)
  private func takeFreeSlot() -> UInt32 {
    let slot = firstFree
    firstFree = self[slot].nextFree
    freeCount -= 1
    return slot
  }

  private func appendSlot() -> UInt32 {
    if Int(count) == capacity { grow() }
    unsafe (residents + Int(count)).initialize(to: .unused)
    count += 1
    return count - 1
  }

  @inline(never)
  private func grow() {
    let larger = unsafe Self.allocate(capacity: capacity * 2)
    unsafe larger.moveInitialize(from: residents, count: Int(count))
    unsafe residents.deallocate()
    unsafe residents = larger
    capacity *= 2
  }

  /// Takes the item's slot away; its tokens are stale from here on.
  ///
  /// - Returns: The item, which is the caller's to let go of.
  func vacate(_ token: Token) -> Loop.Item {
    let item = unsafe self[token].item!.takeRetainedValue()
    self[token.slot].vacate(nextFree: firstFree)
    firstFree = token.slot
    freeCount += 1
    item.slot = -1
    return item
  }

  /// Keeps an item that has no slot any more, and may be in a callout.
  func retire(_ item: Loop.Item) {
    retired.append(item)
  }

  /// The token of an item that belongs to this loop; nil while the loop's thread has not installed it.
  @inline(__always)
  func token(of item: Loop.Item) -> Token? {
    guard item.slot >= 0 else { return nil }
    let slot = UInt32(item.slot)
    unsafe assert(
      slot < count && self[slot].item?.toOpaque() == Unmanaged.passUnretained(item).toOpaque(), "Another loop's item.")
    return Token(slot: slot, generation: self[slot].generation)
  }

  /// Whether the item a token was made for still has its slot.
  @inline(__always)
  func holds(_ token: Token) -> Bool {
    self[token.slot].generation == token.generation
  }

  /// The item a token was made for, if it still has its slot.
  @inline(__always)
  func item(_ token: Token) -> Loop.Item? {
    unsafe borrowed(token)?.takeUnretainedValue()
  }

  /// The same without a reference count: until mail is applied or anything is called out, but its own callout, which
  /// `retire()` waits for. Afterwards nothing of the item may be used. Why each borrower keeps to that:
  ///
  /// - A source (`performOnlySource`) and a descriptor (`tell`) are called last; what follows asks tokens and flags.
  /// - A timer (`fire`) is put back, which calls nothing, or ends (`finishFire`). Its end applies no mail (`expel`), and
  ///   the reference of its slot goes to `Item.invalidate()`, which keeps it until it is done.
  /// - Queues of timers (`fireDate(_:in:)`, `due(_:at:)`) read fields.
  ///
  /// Observers are not borrowed: the walk has a copy of the list. Timeouts are no objects: their handlers are taken out.
  /// Several sources, and what a nested run or mail is about, are held by arrays and locals.
  @inline(__always)
  func borrowed(_ token: Token) -> Unmanaged<Loop.Item>? {
    holds(token) ? unsafe self[token.slot].item : nil
  }

  var hasRetired: Bool { !retired.isEmpty }

  /// How many removed items have not been let go of.
  var retiredCount: Int { retired.count }

  /// Hands over the removed items that are in no callout, as `isCalling` says.
  func takeRetired(_ isCalling: (Loop.Item) -> Bool) -> [Loop.Item] {
    var taken: [Loop.Item] = []
    swap(&taken, &retired)
    if taken.contains(where: isCalling) {
      retired = taken.filter(isCalling)
      taken.removeAll(where: isCalling)
    }
    return taken
  }

  /// Every item that has a slot, with its token.
  var all: [(item: Loop.Item, token: Token)] {
    (0..<count).compactMap { slot in
      guard let item = unsafe self[slot].item?.takeUnretainedValue() else { return nil }
      return (item, Token(slot: slot, generation: self[slot].generation))
    }
  }

  /// How many slots there are, and how many of them are free.
  var slotCount: (all: Int, free: Int) { (Int(count), freeCount) }
}

/// The timers among the residents, for the queues of their modes.
extension SlotTable: TimerTable {
  @inline(__always)
  func version(_ slot: UInt32) -> UInt32 { self[slot].version }

  @inline(__always)
  func fireDate(_ slot: UInt32, in bit: UInt64) -> Instant? {
    unsafe queuedTimer(slot, bit)?._withUnsafeGuaranteedRef { $0.schedule.fireDate }
  }

  @inline(__always)
  func hardDeadline(_ slot: UInt32, in bit: UInt64) -> Instant? {
    unsafe queuedTimer(slot, bit)?._withUnsafeGuaranteedRef { $0.schedule.hardDeadline }
  }

  @inline(__always)
  func due(_ slot: UInt32, at date: Instant) -> DueTimer {
    let order = unsafe self[slot].item!._withUnsafeGuaranteedRef { $0.order }
    return DueTimer(
      token: Token(slot: slot, generation: self[slot].generation), date: date, order: order, stamp: self[slot].stamp)
  }

  /// Its entry by hard deadline, if it has one, stays where it is: nothing counts until the timer has fired.
  @inline(__always)
  func entryLeft(_ slot: UInt32, in bit: UInt64) -> Int {
    self[slot].pending |= bit & self[slot].installed
    return 0
  }

  func entryMoved(_ slot: UInt32) {}

  @inline(__always)
  func prefetch(_ slot: UInt32) { unsafe rondo_prefetch(residents + Int(slot)) }

  /// The item of a line that has come is needed soon.
  @inline(__always)
  func prefetchItem(_ slot: UInt32) { unsafe rondo_prefetch(residents[Int(slot)].item?.toOpaque()) }

  /// The timer whose entries in a mode count: it is in no batch and in no callout.
  @inline(__always)
  private func queuedTimer(_ slot: UInt32, _ bit: UInt64) -> Unmanaged<Loop.Timer>? {
    guard self[slot].pending & bit == 0, self[slot].installed & bit != 0, let item = unsafe self[slot].item else {
      return nil
    }
    return unsafe Unmanaged.fromOpaque(item.toOpaque())
  }
}
