import Synchronization

/// A structural change that the loop's thread has yet to make.
enum Change {
  /// The item left modes, and then joined some.
  case membership(Loop.Item, leaves: UInt64, joins: UInt64)
  case joinCommon(mode: Int)
  case rescheduled(Loop.Timer)
  case interestChanged(Loop.DescriptorSource)
  case signalled(Loop.Source)
}

/// Structural changes in the order in which they were asked for; a million changes of one item are one. *mailbox lock*
/// while it is in the box, *loop thread* once it was taken.
///
/// A change of an item's modes absorbs the one that waits already, and takes the place of the later one.
struct ChangeList {
  /// Nil where a later change has absorbed one.
  private var entries: ContiguousArray<Change?> = []
  private var blankCount = 0
  /// Changes before this one are not absorbed: a mode became common after them.
  private var firstMovable = 0

  @inline(__always)
  var isEmpty: Bool { entries.isEmpty }
  /// How many entries the list holds, blanks included.
  var count: Int { entries.count }

  mutating func append(_ change: Change) {
    entries.append(change)
  }

  /// A mode becomes common. What items did before stays before it.
  mutating func append(joinCommon mode: Int) {
    append(.joinCommon(mode: mode))
    firstMovable = entries.count
  }

  /// Adds a change of the item's modes. O(1), counted over many.
  mutating func append(_ item: Loop.Item, leaves: UInt64 = 0, joins: UInt64 = 0) {
    var (leaves, joins) = (leaves, joins)
    let place = Int(item.mailed.load(ordering: .relaxed))
    if place >= firstMovable, place < entries.count,
      case .membership(let other, let left, let joined)? = entries[place],
      other === item
    {
      joins |= joined & ~leaves
      leaves |= left
      entries[place] = nil
      blankCount += 1
      if blankCount > 32, blankCount > entries.count / 2 { dropBlanks() }
    }
    item.mailed.store(UInt32(entries.count), ordering: .relaxed)
    entries.append(.membership(item, leaves: leaves, joins: joins))
  }

  private mutating func dropBlanks() {
    firstMovable = entries[..<firstMovable].count { $0 != nil }
    entries.removeAll { $0 == nil }
    blankCount = 0
    for (index, entry) in entries.enumerated() {
      if case .membership(let item, _, _)? = entry { item.mailed.store(UInt32(index), ordering: .relaxed) }
    }
  }

  /// The items whose modes change.
  var members: [Loop.Item] {
    entries.compactMap { entry in
      if case .membership(let item, _, _)? = entry { item } else { nil }
    }
  }

  func forEach(_ body: (Change) -> Void) {
    for entry in entries { if let entry { body(entry) } }
  }

  /// Keeps the memory, unless it is that of many entries.
  mutating func empty() {
    entries.empty()
    blankCount = 0
    firstMovable = 0
  }
}
