import Glibc

/// A 4-ary heap of lower bounds: a row is due no earlier than its entry says. *loop thread*
///
/// A row knows where its entry stands, so that the entry is found and removed at once. Four children fit one cache line
/// (16-byte entries), and the tree is half as deep as a binary one.
@safe struct DeadlineHeap: ~Copyable {
  struct Entry {
    var deadline: Instant
    var slot: UInt32
  }

  /// *constant* Where in a row the place of its entry stands: of `place` or `latePlace`.
  private let field: Int
  /// No memory as long as the room is 0.
  private var entries = unsafe UnsafeMutablePointer<Entry>(bitPattern: MemoryLayout<Entry>.alignment)!
  private var room: UInt32 = 0
  private var size: UInt32 = 0

  /// More entries than this are better gone through once than taken out one by one. Chosen.
  static let many = 64
  /// Room for so many (64 KiB) is kept: less is not worth the moving. Chosen.
  private static let fewest: UInt32 = 4_096
  /// How many entries fit into the time that a line takes to come from memory.
  private static let ahead = 16

  /// - Parameter isOfLatest: The deadlines are the latest moments to wake.
  init(isOfLatest: Bool = false) {
    field = MemoryLayout<TimerRow>.offset(of: isOfLatest ? \.latePlace : \.place)!
  }

  private var isOfLatest: Bool { field == MemoryLayout<TimerRow>.offset(of: \.latePlace)! }

  deinit {
    if room > 0 { unsafe free(entries) }
  }

  @inline(__always)
  var top: Entry? { count == 0 ? nil : unsafe entries[0] }

  /// What the top says; `.distantFuture` without entries.
  @inline(__always)
  var earliest: Instant { count == 0 ? .distantFuture : unsafe entries[0].deadline }

  /// What the entry of a row would say if it were exact.
  @inline(__always)
  func deadline(of slot: UInt32, in rows: TimerRows) -> Instant {
    isOfLatest ? rows[slot].hardDeadline : rows[slot].date
  }

  /// The entry at a place: for tests.
  subscript(place: Int) -> Entry {
    precondition(place < count)
    return unsafe entries[place]
  }

  private(set) var count: Int {
    get { Int(size) }
    set { size = UInt32(truncatingIfNeeded: newValue) }
  }

  // MARK: - One entry

  @inline(__always)
  mutating func push(_ deadline: Instant, _ slot: UInt32, in rows: TimerRows) {
    if size == room { resize(to: max(4, 2 * Int(room))) }
    count &+= 1
    rise(Entry(deadline: deadline, slot: slot), from: count &- 1, rows)
  }

  /// Makes the entry of a row say `deadline`, unless it says an earlier one.
  mutating func bringForward(_ slot: UInt32, to deadline: Instant, in rows: TimerRows) {
    let place = Int(place(of: slot, rows))
    precondition(place < count)
    if unsafe deadline < entries[place].deadline { rise(Entry(deadline: deadline, slot: slot), from: place, rows) }
  }

  /// Makes the top say `deadline`, which is later.
  mutating func putOffTop(to deadline: Instant, in rows: TimerRows) {
    fill(0, with: Entry(deadline: deadline, slot: unsafe entries[0].slot), rows)
  }

  /// Removes the entry of a row, if it has one here.
  mutating func remove(_ slot: UInt32, in rows: TimerRows) {
    let place = place(of: slot, rows)
    if place == TimerRow.noPlace { return }
    precondition(place < count)
    unsafe setPlace(of: slot, TimerRow.noPlace, places(rows))
    count &-= 1
    if place < count { unsafe fill(Int(place), with: entries[count], rows) }
    if size < room / 4, room > Self.fewest { resize(to: Int(room / 2)) }
  }

  // MARK: - All entries

  /// Asks about every entry, in no order, for what it shall say from now on: nil drops it. O(n).
  mutating func revise(in rows: TimerRows, _ revised: (Entry) -> Instant?) {
    var kept = 0
    for index in 0..<count {
      if index &+ Self.ahead < count { unsafe rows.prefetch(entries[index &+ Self.ahead].slot) }
      var entry = unsafe entries[index]
      guard let deadline = revised(entry) else {
        unsafe setPlace(of: entry.slot, TimerRow.noPlace, places(rows))
        continue
      }
      entry.deadline = deadline
      unsafe entries[kept] = entry
      kept &+= 1
    }
    count = kept
    while room > Self.fewest, size < room / 4 { resize(to: Int(room / 2)) }
    if kept > 1 {
      for index in stride(from: (kept - 2) / 4, through: 0, by: -1) {
        unsafe fill(index, with: entries[index], above: index, rows)
      }
    }
    for index in 0..<kept { unsafe setPlace(of: entries[index].slot, UInt32(index), places(rows)) }
  }

  // MARK: - Moving

  /// Puts an entry at a place or above it, where its deadline belongs.
  ///
  /// - Parameter last: The highest place that it may rise to.
  @inline(__always)
  private mutating func rise(_ entry: Entry, from start: Int, to last: Int = 0, _ rows: TimerRows) {
    let (entries, places) = unsafe (entries, places(rows))
    var index = start
    while index > last {
      let parent = (index &- 1) >> 2
      let above = unsafe entries[parent]
      if !(entry.deadline < above.deadline) { break }
      unsafe put(above, at: index, entries, places)
      index = parent
    }
    unsafe put(entry, at: index, entries, places)
  }

  /// Fills an empty place with an entry that most often belongs to the leaves: the place sinks there without a look at the
  /// entry, and the entry rises from there.
  private mutating func fill(_ hole: Int, with entry: Entry, above last: Int = 0, _ rows: TimerRows) {
    let (entries, places, count) = unsafe (entries, places(rows), count)
    var index = hole
    var first = 4 &* index &+ 1
    while first &+ 3 < count {
      // Two pairs and then the two winners: no comparison waits for another of the same round.
      let children = unsafe entries + first
      let (zeroth, second) = unsafe (children[0].deadline.nanoseconds, children[2].deadline.nanoseconds)
      let left = unsafe children[1].deadline.nanoseconds
      let right = unsafe children[3].deadline.nanoseconds
      let offset = min(left, zeroth) <= min(right, second) ? (left < zeroth ? 1 : 0) : (right < second ? 3 : 2)
      unsafe put(children[offset], at: index, entries, places)
      index = first &+ offset
      first = 4 &* index &+ 1
    }
    if first < count {
      var least = first
      var child = first &+ 1
      while child < count {
        if unsafe entries[child].deadline < entries[least].deadline { least = child }
        child &+= 1
      }
      unsafe put(entries[least], at: index, entries, places)
      index = least
    }
    rise(entry, from: index, to: last, rows)
  }

  @inline(__always)
  private func put(
    _ entry: Entry, at index: Int, _ entries: UnsafeMutablePointer<Entry>, _ places: UnsafeMutableRawPointer
  ) {
    unsafe entries[index] = entry
    unsafe setPlace(of: entry.slot, UInt32(truncatingIfNeeded: index), places)
  }

  /// Where the place of slot 0 stands; that of any other is as many rows behind it.
  @inline(__always)
  private func places(_ rows: TimerRows) -> UnsafeMutableRawPointer {
    unsafe UnsafeMutableRawPointer(rows.base) + field
  }

  @inline(__always)
  func place(of slot: UInt32, _ rows: TimerRows) -> UInt32 {
    unsafe places(rows).load(fromByteOffset: Int(slot) &* SlotTable.cacheLine, as: UInt32.self)
  }

  @inline(__always)
  private func setPlace(of slot: UInt32, _ place: UInt32, _ places: UnsafeMutableRawPointer) {
    unsafe places.storeBytes(of: place, toByteOffset: Int(slot) &* SlotTable.cacheLine, as: UInt32.self)
  }

  // MARK: - Memory

  @inline(never)
  private mutating func resize(to capacity: Int) {
    let memory = unsafe realloc(room == 0 ? nil : entries, capacity * MemoryLayout<Entry>.stride)
    guard let memory = unsafe memory else {
      fatalError("No memory is left for \(capacity) timers or timeouts of a loop.")
    }
    unsafe entries = memory.bindMemory(to: Entry.self, capacity: capacity)
    room = UInt32(capacity)
  }
}
