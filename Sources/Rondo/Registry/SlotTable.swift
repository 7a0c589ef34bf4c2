internal import CLinux

/// A loop's items but for timers. Each has a slot, whose generation shows that a token is stale. *loop thread*
@safe final class SlotTable {
  @safe @exclusivity(unchecked) private var residents = SlotMemory<Resident>()
  /// Removed items that may still be in a callout; released by `retire()`.
  @safe @exclusivity(unchecked) private var retired: [Loop.Item] = []

  /// Bytes, on the processors that Linux servers have.
  static let cacheLine = 64

  deinit {
    for slot in residents.used { unsafe residents[slot].item?.release() }
  }

  /// What the loop keeps of the item in a slot. Not to be held while anything else is called.
  @inline(__always)
  subscript(slot: UInt32) -> Resident {
    _read { yield residents[slot] }
    _modify { yield &residents[slot] }
  }

  /// The same for a token that is not stale.
  @inline(__always)
  subscript(token: Token) -> Resident {
    _read {
      assert(holds(token), "A stale token was used.")
      yield residents[token.slot]
    }
    _modify {
      assert(holds(token), "A stale token was used.")
      yield &residents[token.slot]
    }
  }

  /// Gives the item a slot unless it has one.
  ///
  /// - Parameter isHeld: Whether the item's handlers are held for a slot that it gets.
  func insert(_ item: Loop.Item, isHeld: Bool = false) -> Token {
    if let token = token(of: item) { return token }
    if !isHeld { item.holdHandlers() }
    let token = residents.take()
    unsafe self[token].item = Unmanaged.passRetained(item)
    item.slot = Int32(token.slot)
    return token
  }

  /// Takes the item's slot away; its tokens are stale from here on.
  ///
  /// - Returns: The item, which is the caller's to let go of.
  func freeSlot(_ token: Token) -> Loop.Item {
    let item = unsafe self[token].item!.takeRetainedValue()
    residents.free(token.slot)
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
      self[slot].item?.toOpaque() == Unmanaged.passUnretained(item).toOpaque(), "Another loop's item.")
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

  /// The same without a reference count: usable until mail is applied or a callout is made, except for the item's own
  /// callout, which `retire()` waits for. After that, a use would be a use-after-free. Why no borrower does that:
  ///
  /// - A source (`performOnlySource`) and a descriptor source (`call`) are called last; what follows asks tokens and flags.
  /// - A timer (`fire`) is borrowed from the table of timers, and ends in `finishFire`. Its end applies no mail
  ///   (`removeFromAllModes`), and the reference of its slot goes to `Item.invalidate()`, which keeps it until it is done.
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
    residents.used.map { slot in
      let item = unsafe self[slot].item!.takeUnretainedValue()
      return (item, Token(slot: slot, generation: self[slot].generation))
    }
  }

  /// How many slots there are, and how many of them are in use.
  var slotCount: (all: Int, used: Int) { (Int(residents.count), Int(residents.usedCount)) }
}
