/// What a wait found ready, in the order of its callouts. *loop thread*
///
/// The records stay where the wait set has them, unless there are others before them or a nested run may wait there. An
/// array would check at every change whether it is shared.
@safe struct ReadyList: ~Copyable {
  /// The list's own memory, or the wait set's, which the next wait by it overwrites.
  private var records = unsafe UnsafeMutablePointer<ReadyDescriptor>(bitPattern: MemoryLayout<ReadyDescriptor>.stride)!
  /// The list's own memory, made when it is first needed.
  private var own: UnsafeMutablePointer<ReadyDescriptor>?
  private var capacity = 0
  private(set) var count = 0

  /// Chosen. It doubles.
  private static let leastCapacity = 4

  deinit {
    unsafe own?.deallocate()
  }

  @inline(__always)
  var isEmpty: Bool { count == 0 }

  @inline(__always)
  subscript(index: Int) -> ReadyDescriptor {
    get {
      precondition(index < count)
      return unsafe records[index]
    }
    set {
      precondition(index < count)
      unsafe records[index] = newValue
    }
  }

  /// Puts what a wait set has collected behind what is in the list.
  @inline(__always)
  mutating func take(_ collected: UnsafeMutablePointer<ReadyDescriptor>, _ number: Int) {
    if count == 0 {
      unsafe (records, count) = (collected, number)
    } else {
      for index in 0..<number { unsafe append(collected[index]) }
    }
  }

  mutating func append(_ record: ReadyDescriptor) {
    if unsafe count == capacity || records != own { keep(capacity: max(Self.leastCapacity, 2 * count)) }
    unsafe records[count] = record
    count += 1
  }

  /// Has the list keep what it has, whatever becomes of the wait set's memory.
  mutating func keep() {
    if unsafe count > 0 && records != own { keep(capacity: max(Self.leastCapacity, count)) }
  }

  private mutating func keep(capacity wanted: Int) {
    let larger = UnsafeMutablePointer<ReadyDescriptor>.allocate(capacity: max(capacity, wanted))
    unsafe larger.initialize(from: records, count: count)
    unsafe own?.deallocate()
    unsafe (own, records) = (larger, larger)
    capacity = max(capacity, wanted)
  }

  /// Forgets the records from `start` on.
  @inline(__always)
  mutating func removeAll(from start: Int = 0) {
    count = start
  }

  /// Forgets the records from `start` on that `isGone` names, in order. The others move up.
  mutating func removeAll(from start: Int, where isGone: (ReadyDescriptor) -> Bool) {
    var kept = start
    for index in start..<count {
      let record = self[index]
      if isGone(record) { continue }
      self[kept] = record
      kept += 1
    }
    count = kept
  }

  /// Sorts by what `rank` says of each, and leaves equals in their order.
  mutating func sort(by rank: (ReadyDescriptor) -> (order: Int, turn: UInt64)) {
    let sorted = (0..<count).map { (rank: rank(self[$0]), place: $0, record: self[$0]) }
      .sorted { ($0.rank.order, $0.rank.turn, $0.place) < ($1.rank.order, $1.rank.turn, $1.place) }
    for (index, entry) in sorted.enumerated() { self[index] = entry.record }
  }
}
