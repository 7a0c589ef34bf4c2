/// Owns a loop's items and gives each a slot whose generation tells a stale token. *loop thread*
final class SlotTable {
  @safe @exclusivity(unchecked) private var items: ContiguousArray<Loop.Item?> = []
  @safe @exclusivity(unchecked) private var generations: ContiguousArray<UInt32> = []
  @safe @exclusivity(unchecked) private var free: ContiguousArray<Int32> = []
  /// Removed items that may still be in a callout; released by `retire()`.
  @safe @exclusivity(unchecked) private var retired: [Loop.Item] = []

  /// Gives the item a slot unless it has one.
  func insert(_ item: Loop.Item) {
    guard item.slot < 0 else { return }
    item.holdHandlers()
    if let slot = free.popLast() {
      items[Int(slot)] = item
      item.slot = slot
    } else {
      item.slot = Int32(items.count)
      items.append(item)
      generations.append(0)
    }
  }

  /// Takes the item's slot away; its tokens are stale from here on.
  func remove(_ item: Loop.Item) {
    let slot = Int(item.slot)
    items[slot] = nil
    generations[slot] &+= 1
    free.append(item.slot)
    item.slot = -1
  }

  /// Keeps an item that has no slot any more, and may be in a callout.
  func retire(_ item: Loop.Item) {
    retired.append(item)
  }

  @inline(__always)
  subscript(slot: UInt32) -> Loop.Item? {
    items[Int(slot)]
  }

  /// The item's token: slot and generation.
  func token(of item: Loop.Item) -> Token {
    Token(slot: UInt32(item.slot), generation: generations[Int(item.slot)])
  }

  /// The item a token was made for, if it still has its slot.
  @inline(__always)
  func item(_ token: Token) -> Loop.Item? {
    generations[Int(token.slot)] == token.generation ? items[Int(token.slot)] : nil
  }

  /// The same without a reference count: the table keeps the item at least until the turn's `retire()`, and longer while
  /// it is in a callout.
  @inline(__always)
  func borrowed(_ token: Token) -> Unmanaged<Loop.Item>? {
    guard generations[Int(token.slot)] == token.generation, let item = items[Int(token.slot)] else { return nil }
    return unsafe Unmanaged.passUnretained(item)
  }

  var hasRetired: Bool { !retired.isEmpty }

  /// Hands over the removed items that are in no callout.
  func takeRetired() -> [Loop.Item] {
    var taken: [Loop.Item] = []
    swap(&taken, &retired)
    if taken.contains(where: { $0.callouts > 0 }) {
      retired = taken.filter { $0.callouts > 0 }
      taken.removeAll { $0.callouts > 0 }
    }
    return taken
  }

  /// Every item that has a slot.
  var all: [Loop.Item] {
    items.compactMap { $0 }
  }
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
