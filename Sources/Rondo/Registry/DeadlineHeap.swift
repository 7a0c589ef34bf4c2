/// A 4-ary heap of lower bounds: an entry's timer is due no earlier than the entry says. *loop thread*
///
/// Four children fit one cache line (16-byte entries), and the tree is half as deep as a binary one.
struct DeadlineHeap {
  struct Entry {
    var deadline: Instant
    var slot: UInt32
    var version: UInt32
  }

  private var entries: ContiguousArray<Entry> = []

  var count: Int { entries.count }

  @inline(__always)
  var top: Entry? { entries.first }

  /// What the top says; `.distantFuture` without entries.
  @inline(__always)
  var earliest: Instant { top?.deadline ?? .distantFuture }

  /// Whether no entry is earlier than its parent: for tests.
  var isOrdered: Bool {
    entries.indices.dropFirst().allSatisfy { entries[($0 - 1) / 4].deadline <= entries[$0].deadline }
  }

  /// How many entries `isCounted` is true of: for tests.
  func count(where isCounted: (Entry) -> Bool) -> Int { entries.count(where: isCounted) }

  mutating func push(_ entry: Entry) {
    entries.append(entry)
    siftUp(from: entries.count - 1, entry)
  }

  /// Puts `entry` in the place of the top.
  mutating func replaceTop(with entry: Entry) {
    siftDown(from: 0, entry)
  }

  @discardableResult
  mutating func removeTop() -> Entry {
    let top = entries[0]
    let last = entries.removeLast()
    if !entries.isEmpty { siftDown(from: 0, last) }
    // Once in `many` removals: it costs more than the rest of one.
    if entries.count & (Self.many - 1) == Self.many - 1 { entries.shrinkIfSparse() }
    return top
  }

  /// Asks about every entry, in no order, for what it shall say from now on: nil drops it. O(n).
  ///
  /// - Parameter announce: Told of each entry some time before it is asked about.
  mutating func revise(announcing announce: (Entry) -> Void, _ revised: (Entry) -> Instant?) {
    let count = entries.count
    guard count > 0 else { return }
    var kept = 0
    // With fewer entries, what they refer to is in a cache.
    let announced = count > Self.many ? count - Self.ahead : 0
    unsafe withEntries { entries in
      for index in 0..<count {
        if index < announced { unsafe announce(entries[index + Self.ahead]) }
        var entry = unsafe entries[index]
        guard let deadline = revised(entry) else { continue }
        entry.deadline = deadline
        unsafe entries[kept] = entry
        kept += 1
      }
    }
    entries.removeLast(count - kept)
    entries.shrinkIfSparse()
    guard kept > 1 else { return }
    for index in stride(from: (kept - 2) / 4, through: 0, by: -1) { siftDown(from: index, entries[index]) }
  }

  /// How many entries fit into the time that a line takes to come from memory.
  private static let ahead = 16

  /// More entries than this are better gone through once than taken out one by one. Chosen: with
  /// their timers they are larger than a first-level cache.
  static let many = 4_096

  private mutating func siftUp(from start: Int, _ entry: Entry) {
    unsafe withEntries { entries in
      var index = start
      while index > 0 {
        let parent = (index - 1) / 4
        if unsafe !(entry.deadline < entries[parent].deadline) { break }
        unsafe entries[index] = entries[parent]
        index = parent
      }
      unsafe entries[index] = entry
    }
  }

  private mutating func siftDown(from start: Int, _ entry: Entry) {
    let count = entries.count
    unsafe withEntries { entries in
      var index = start
      while true {
        let firstChild = index * 4 + 1
        if firstChild >= count { break }
        var smallest = firstChild
        var least = unsafe entries[firstChild].deadline
        for child in firstChild + 1..<max(min(firstChild + 4, count), firstChild + 1) {
          let deadline = unsafe entries[child].deadline
          if deadline < least { (smallest, least) = (child, deadline) }
        }
        if !(least < entry.deadline) { break }
        unsafe entries[index] = entries[smallest]
        index = smallest
      }
      unsafe entries[index] = entry
    }
  }

  /// One check that the entries are not shared, instead of one for each of those that move.
  @inline(__always)
  private mutating func withEntries(_ body: (UnsafeMutablePointer<Entry>) -> Void) {
    unsafe entries.withUnsafeMutableBufferPointer { unsafe body($0.baseAddress!) }
  }
}
