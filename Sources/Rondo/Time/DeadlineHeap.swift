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

  mutating func removeTop() {
    let last = entries.removeLast()
    if !entries.isEmpty { siftDown(from: 0, last) }
  }

  /// Drops every entry that `isLive` denies, in O(n).
  mutating func sweep(_ isLive: (Entry) -> Bool) {
    entries.removeAll { !isLive($0) }
    guard entries.count > 1 else { return }
    for index in stride(from: (entries.count - 2) / 4, through: 0, by: -1) { siftDown(from: index, entries[index]) }
  }

  private mutating func siftUp(from start: Int, _ entry: Entry) {
    var index = start
    while index > 0 {
      let parent = (index - 1) / 4
      if !(entry.deadline < entries[parent].deadline) { break }
      entries[index] = entries[parent]
      index = parent
    }
    entries[index] = entry
  }

  private mutating func siftDown(from start: Int, _ entry: Entry) {
    let count = entries.count
    var index = start
    while true {
      let firstChild = index * 4 + 1
      if firstChild >= count { break }
      var smallest = firstChild
      var child = firstChild + 1
      let end = min(firstChild + 4, count)
      while child < end {
        if entries[child].deadline < entries[smallest].deadline { smallest = child }
        child += 1
      }
      if !(entries[smallest].deadline < entry.deadline) { break }
      entries[index] = entries[smallest]
      index = smallest
    }
    entries[index] = entry
  }
}
