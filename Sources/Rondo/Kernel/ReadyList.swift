/// A descriptor the wait found ready.
struct ReadyDescriptor {
  var token: Token
  var readiness: Loop.DescriptorSource.Readiness
}

/// What a wait found ready, in the order in which it is told. *loop thread*
///
/// In memory of its own: an array would check at every change whether it is shared.
@safe struct ReadyList: ~Copyable {
  private var records = UnsafeMutablePointer<ReadyDescriptor>.allocate(capacity: leastCapacity)
  private var capacity = leastCapacity
  private(set) var count = 0

  /// Chosen: more than most turns have ready. It doubles.
  private static let leastCapacity = 16

  deinit {
    unsafe records.deallocate()
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

  @inline(__always)
  mutating func append(_ record: ReadyDescriptor) {
    if count == capacity { grow() }
    unsafe records[count] = record
    count += 1
  }

  @inline(never)
  private mutating func grow() {
    let larger = UnsafeMutablePointer<ReadyDescriptor>.allocate(capacity: capacity * 2)
    unsafe larger.moveInitialize(from: records, count: count)
    unsafe records.deallocate()
    unsafe records = larger
    capacity *= 2
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
