/// Owns a loop's items and gives each a slot whose generation tells a stale token. *loop thread*
final class SlotTable {
  @safe @exclusivity(unchecked) private var slots: ContiguousArray<Slot> = []
  @safe @exclusivity(unchecked) private var free: ContiguousArray<Int32> = []
  /// Removed items that may still be in a callout; released by `retire()`.
  @safe @exclusivity(unchecked) private var retired: [Loop.Item] = []

  /// All that the loop looks up by slot, in 16 bytes: at a million timers, each look misses the cache once.
  private struct Slot {
    var item: Loop.Item?
    /// How many items have left the slot.
    var generation: UInt32
    /// Of a timer: heap entries with another version are stale.
    var version: UInt32

    @inline(__always)
    mutating func vacate() {
      self = Slot(item: nil, generation: generation &+ 1, version: version &+ 1)
    }
  }

  /// Gives the item a slot unless it has one.
  func insert(_ item: Loop.Item) {
    guard item.slot < 0 else { return }
    item.holdHandlers()
    if let slot = free.popLast() {
      slots[Int(slot)].item = item
      item.slot = slot
    } else {
      item.slot = Int32(slots.count)
      slots.append(Slot(item: item, generation: 0, version: 0))
    }
  }

  /// Takes the item's slot away; its tokens are stale from here on.
  func remove(_ item: Loop.Item) {
    slots[Int(item.slot)].vacate()
    free.append(item.slot)
    item.slot = -1
  }

  /// Keeps an item that has no slot any more, and may be in a callout.
  func retire(_ item: Loop.Item) {
    retired.append(item)
  }

  /// The item's token: slot and generation.
  func token(of item: Loop.Item) -> Token {
    Token(slot: UInt32(item.slot), generation: slots[Int(item.slot)].generation)
  }

  /// Whether the item a token was made for still has its slot.
  @inline(__always)
  func holds(_ token: Token) -> Bool {
    slots[Int(token.slot)].generation == token.generation
  }

  /// The item a token was made for, if it still has its slot.
  @inline(__always)
  func item(_ token: Token) -> Loop.Item? {
    slots[Int(token.slot)].generation == token.generation ? slots[Int(token.slot)].item : nil
  }

  /// The same without a reference count: the table keeps the item at least until the turn's `retire()`, and longer while
  /// it is in a callout.
  @inline(__always)
  func borrowed(_ token: Token) -> Unmanaged<Loop.Item>? {
    guard slots[Int(token.slot)].generation == token.generation else { return nil }
    return unsafe borrowed(token.slot)
  }

  /// What is in the slot, likewise.
  @inline(__always)
  func borrowed(_ slot: UInt32) -> Unmanaged<Loop.Item>? {
    guard let item = slots[Int(slot)].item else { return nil }
    return unsafe Unmanaged.passUnretained(item)
  }

  // MARK: - Versions of timers

  @inline(__always)
  func version(_ slot: UInt32) -> UInt32 {
    slots[Int(slot)].version
  }

  /// Makes every heap entry of the timer stale.
  @inline(__always)
  func renewVersion(of timer: Loop.Timer) {
    slots[Int(timer.slot)].version &+= 1
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

  /// Every item that has a slot.
  var all: [Loop.Item] {
    slots.compactMap(\.item)
  }

  /// How many slots there are, and how many of them are free.
  var capacity: (slots: Int, free: Int) { (slots.count, free.count) }
}

/// A slot and the generation it was given out in; what hot arrays and the kernel hold instead of a reference.
struct Token: Equatable {
  let slot: UInt32
  let generation: UInt32

  init(slot: UInt32, generation: UInt32) {
    self.slot = slot
    self.generation = generation
  }

  init(_ packed: UInt64) {
    slot = UInt32(truncatingIfNeeded: packed)
    generation = UInt32(truncatingIfNeeded: packed >> 32)
  }

  var packed: UInt64 { UInt64(generation) << 32 | UInt64(slot) }
}
