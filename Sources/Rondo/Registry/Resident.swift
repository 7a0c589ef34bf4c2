/// What one loop keeps of an item while the item is in it: one cache line.
///
/// *loop thread*, by construction: it is reached only through the slot table of that loop, with a token. So an item that
/// goes to another loop takes nothing along, and what is asked with a token that has become stale is not another item's.
@safe struct Resident: SlotRecord {
  /// The item; the table owns it. Nil in a free slot.
  var item: Unmanaged<Loop.Item>?
  var generation: UInt32 = 0
  /// The modes whose structures hold the item: its `modes` as far as mail has been applied.
  var installed: UInt64 = 0
  /// Of a descriptor source, the modes that have it on their list of watches to change; of a signalled source, on their
  /// list of signalled ones.
  var pending: UInt64 = 0
  /// Of an observer: the number it was given when it joined a mode last, which finds it in the mode's list. Of a descriptor
  /// source: the wait after which a run that returns after one source called it last. In a free slot: the free one after it.
  var number: UInt64 = 0
  /// Of a descriptor source: one kernel watch for each mode that has one.
  var watches = WatchList()
  /// Fills the line.
  private let unusedWords: (UInt64, UInt64) = (0, 0)

  static var unused: Resident { Resident() }

  @inline(__always)
  mutating func vacate() {
    let generation = generation
    self = .unused
    self.generation = generation
  }

  @inline(__always)
  var isInUse: Bool { unsafe item != nil }

  private init() {}

  @inline(__always)
  var nextFree: UInt32 {
    get { UInt32(truncatingIfNeeded: number) }
    set { number = UInt64(newValue) }
  }
}
