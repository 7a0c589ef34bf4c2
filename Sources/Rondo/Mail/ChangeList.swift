/// A structural change that the loop's thread has yet to make.
enum Change {
  /// The item left modes, and then joined some.
  case membership(Loop.Item, leaves: UInt64, joins: UInt64)
  case joinCommon(mode: Int)
  case rescheduled(Loop.Timer)
  case interestChanged(Loop.DescriptorSource)
}

/// Structural changes in the order in which they were asked for; a million changes of one item are one. *mailbox lock*
/// while it is in the box, *loop thread* once it was taken.
///
/// A change of an item's modes takes in the one that waits already, and stands where the later one would have stood.
struct ChangeList {
  /// Nil where a later change took one in.
  private var entries: ContiguousArray<Change?> = []
  private var blankCount = 0

  @inline(__always)
  var isEmpty: Bool { entries.isEmpty }
  /// How many entries the list holds, blanks included.
  var count: Int { entries.count }

  /// Where a change stands: in which lot of mail, and at which index.
  struct Place {
    var lot: UInt32
    var index: UInt32
    static let none = Place(lot: 0, index: 0)
  }

  mutating func append(_ change: Change) {
    entries.append(change)
  }

  /// Adds a change of the item's modes to lot `lot` of its loop's mail. O(1), counted over many.
  mutating func appendMembership(of item: Loop.Item, leaves: UInt64, joins: UInt64, lot: UInt32) {
    var (leaves, joins) = (leaves, joins)
    if item.mailed.lot == lot, case .membership(_, let left, let joined)? = entries[Int(item.mailed.index)] {
      joins |= joined & ~leaves
      leaves |= left
      entries[Int(item.mailed.index)] = nil
      blankCount += 1
      if blankCount > 32, blankCount > entries.count / 2 { dropBlanks(lot) }
    }
    item.mailed = Place(lot: lot, index: UInt32(entries.count))
    entries.append(.membership(item, leaves: leaves, joins: joins))
  }

  private mutating func dropBlanks(_ lot: UInt32) {
    entries.removeAll { $0 == nil }
    blankCount = 0
    for (index, entry) in entries.enumerated() {
      if case .membership(let item, _, _)? = entry, item.mailed.lot == lot { item.mailed.index = UInt32(index) }
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

  /// Keeps the memory.
  mutating func empty() {
    entries.removeAll(keepingCapacity: true)
    blankCount = 0
  }
}
