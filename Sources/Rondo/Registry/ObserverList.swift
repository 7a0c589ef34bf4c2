/// A mode's observers by order, then by time of joining, and the union of what they want to hear of. *loop thread*
///
/// A phase walks a copy, so a callout may change the list. What has left is blanked in place, so that the others keep
/// theirs, and blanks are swept when they are more than half. Joining last and leaving cost O(log n).
struct ObserverList {
  private(set) var entries: ContiguousArray<Entry> = []
  /// The union of the observers' activities.
  private(set) var activities: Loop.Activity = []
  private var blankCount = 0
  /// How often an observer has left.
  private(set) var departures: UInt64 = 0
  private var lastNumber: UInt64 = 0
  /// How many observers want to hear of each activity, by bit.
  private var listeners: ContiguousArray<Int> = []

  struct Entry {
    /// Nil once it has left.
    var observer: Loop.Observer?
    let activities: Loop.Activity
    let order: Int
    /// Place in the sequence of joining this mode.
    let number: UInt64
  }

  /// How many observers there are.
  var count: Int { entries.count - blankCount }

  /// Puts the observer behind all of its order.
  ///
  /// - Returns: Its number in this mode, which finds it again.
  mutating func insert(_ observer: Loop.Observer) -> UInt64 {
    lastNumber += 1
    let entry = Entry(
      observer: observer, activities: observer.activities, order: observer.order, number: lastNumber)
    entries.insert(entry, at: place(order: entry.order, number: lastNumber))
    note(observer.activities, 1)
    return lastNumber
  }

  /// Takes out the observer that joined with `number`, or finds it the slow way if that was another mode's number.
  mutating func remove(_ observer: Loop.Observer, number: UInt64) {
    var place = place(order: observer.order, number: number)
    if place == entries.count || entries[place].observer !== observer {
      guard let found = entries.firstIndex(where: { $0.observer === observer }) else { return }
      place = found
    }
    entries[place].observer = nil
    blankCount += 1
    departures += 1
    note(observer.activities, -1)
    if blankCount > entries.count / 2 {
      entries.removeAll { $0.observer == nil }
      entries.shrinkIfSparse()
      blankCount = 0
    }
  }

  /// Whether the entries are sorted, and the counts right: for tests.
  var isInOrder: Bool {
    let numbers = entries.map { ($0.order, $0.number) }
    let union = entries.reduce(into: Loop.Activity()) { if $1.observer != nil { $0.formUnion($1.activities) } }
    return union == activities && blankCount == entries.count { $0.observer == nil }
      && zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }
  }

  /// The first entry that does not come before `order` and `number`.
  private func place(order: Int, number: UInt64) -> Int {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if (entries[middle].order, entries[middle].number) < (order, number) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private mutating func note(_ changed: Loop.Activity, _ step: Int) {
    var rest = changed.rawValue
    while rest != 0 {
      let bit = rest.trailingZeroBitCount
      rest &= rest - 1
      if bit >= listeners.count { listeners.append(contentsOf: repeatElement(0, count: bit + 1 - listeners.count)) }
      listeners[bit] += step
      let activity = Loop.Activity(rawValue: 1 << bit)
      if listeners[bit] == 0 { activities.subtract(activity) } else { activities.insert(activity) }
    }
  }
}
