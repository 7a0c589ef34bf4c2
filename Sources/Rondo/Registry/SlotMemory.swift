import CLinux
import Glibc

/// What a table keeps in one slot: one cache line.
///
/// The memory of a free slot may be all zero bytes.
protocol SlotRecord {
  /// What a free slot holds, but for the two numbers.
  static var unused: Self { get }
  /// Whether the slot is in use: false in zero bytes.
  var isInUse: Bool { get }
  /// One more with each use of the slot, and never 0.
  var generation: UInt32 { get set }
  /// In a free slot: the free one after it.
  var nextFree: UInt32 { get set }
  /// Makes it unused, but for the two numbers. Its user has taken out what it owned.
  mutating func vacate()
}

/// The slots of a table. The memory doubles, and the pages without a used slot go back to the kernel. *loop thread*
///
/// Stale tokens may name any slot that has ever been used. So the range of addresses never shrinks: a page that went back
/// reads as zeros, and no token has generation 0. When its slots are used again, they count on from the highest generation
/// that any of them had.
@safe struct SlotMemory<Record: SlotRecord>: ~Copyable {
  /// No memory as long as the capacity is 0.
  private var records = unsafe UnsafeMutablePointer<Record>(bitPattern: SlotTable.cacheLine)!
  private var capacity: UInt32 = 0
  /// Slots from this one on are not in use, and on no list.
  private(set) var count: UInt32 = 0
  /// The free slot that is taken next; each names the one after it.
  private var firstFree = SlotMemory.none
  /// How many slots are in use.
  private(set) var usedCount: UInt32 = 0
  /// How many slots stand on pages that did not go back.
  private(set) var backedCount: UInt32 = 0
  /// With fewer slots in use than this, pages go back.
  private var trimmedBelow: UInt32 = 0
  /// The highest generation of the slots whose pages went back.
  private var highest: UInt32 = 0
  /// How many bytes of the memory stand before `records`.
  private var distance: UInt32 = 0
  /// Pages that went back, before `count`. The lowest is the last.
  private var emptyPages: ContiguousArray<UInt32> = []

  private static var none: UInt32 { .max }
  /// What a loop of a few items needs.
  private static var leastCapacity: UInt32 { 8 }
  /// Below this many slots (64 KiB), pages are not worth a system call. Chosen.
  private static var fewest: UInt32 { 1_024 }
  private static var pageSize: Int { Int(getpagesize()) }
  private static var slotsPerPage: UInt32 { UInt32(pageSize / SlotTable.cacheLine) }

  deinit {
    for slot in 0..<Int(count) where unsafe records[slot].isInUse { unsafe (records + slot).deinitialize(count: 1) }
    if capacity > 0 { unsafe Glibc.free(block) }
  }

  /// What holds `records`.
  private var block: UnsafeMutableRawPointer { unsafe UnsafeMutableRawPointer(records) - Int(distance) }

  /// What stands in a slot, which may be free. Not to be held while anything else is called.
  @inline(__always)
  subscript(slot: UInt32) -> Record {
    _read {
      assert(slot < capacity)
      yield unsafe records[Int(slot)]
    }
    nonmutating _modify {
      assert(slot < count)
      yield unsafe &records[Int(slot)]
    }
  }

  /// Where slot 0 is, until the memory grows.
  @inline(__always)
  var base: UnsafeMutablePointer<Record> { unsafe records }

  /// The slots in use. O(slots).
  var used: [UInt32] { (0..<count).filter { self[$0].isInUse } }

  /// Takes a free slot, for the caller to put into use. O(1), counted over many.
  @inline(__always)
  mutating func take() -> Token {
    if firstFree == Self.none { extend() }
    let slot = firstFree
    firstFree = self[slot].nextFree
    usedCount += 1
    return Token(slot: slot, generation: self[slot].generation)
  }

  /// Frees a slot. Its tokens are stale afterwards. O(1), counted over many.
  @inline(__always)
  mutating func free(_ slot: UInt32) {
    self[slot].vacate()
    addFree(slot, after: self[slot].generation)
    usedCount -= 1
    if usedCount < trimmedBelow { trim() }
  }

  /// Makes slots free: those of a page that went back, or one that was never used.
  @inline(never)
  private mutating func extend() {
    if let page = emptyPages.popLast() {
      let first = page * Self.slotsPerPage
      for slot in (first..<first + Self.slotsPerPage).reversed() { addNew(slot) }
      backedCount += Self.slotsPerPage
    } else {
      if count == capacity { grow() }
      count += 1
      addNew(count - 1)
      backedCount += 1
    }
    trimmedBelow = backedCount > Self.fewest ? backedCount / 4 : 0
  }

  /// Makes a slot of memory that holds nothing free.
  private mutating func addNew(_ slot: UInt32) {
    unsafe (records + Int(slot)).initialize(to: .unused)
    addFree(slot, after: highest)
  }

  @inline(__always)
  private mutating func addFree(_ slot: UInt32, after generation: UInt32) {
    // It wraps, and leaves out 0.
    self[slot].generation = generation == .max ? 1 : generation + 1
    list(slot)
  }

  @inline(__always)
  private mutating func list(_ slot: UInt32) {
    unsafe records[Int(slot)].nextFree = firstFree
    firstFree = slot
  }

  /// Doubles the memory. Many pages realloc(3) moves by mremap(2): it neither copies them nor takes new ones.
  @inline(never)
  private mutating func grow() {
    // Known when it is compiled, so that it costs nothing. One more word would put each record on two lines.
    require(MemoryLayout<Record>.stride == SlotTable.cacheLine, "A slot is one cache line.")
    let larger = max(Self.leastCapacity, 2 * capacity)
    let byteCount = Int(larger) * SlotTable.cacheLine
    let alignment = byteCount < Self.pageSize ? SlotTable.cacheLine : Self.pageSize
    guard let moved = unsafe realloc(capacity == 0 ? nil : block, byteCount + alignment) else {
      fatalError("No memory is left for \(larger) items or timeouts of a loop.")
    }
    let aligned = unsafe moved.alignedUp(toMultipleOf: alignment)
    if unsafe aligned - moved != Int(distance) {
      unsafe memmove(aligned, moved + Int(distance), Int(count) * SlotTable.cacheLine)
    }
    distance = unsafe UInt32(aligned - moved)
    unsafe records = aligned.bindMemory(to: Record.self, capacity: Int(larger))
    capacity = larger
  }

  /// Gives the pages without a used slot back, and has the lowest free slots taken first.
  ///
  /// O(slots). It comes again when half as many slots are in use, or when three quarters are free after others were added.
  @inline(never)
  private mutating func trim() {
    let perPage = Self.slotsPerPage
    firstFree = Self.none
    emptyPages = []
    backedCount = 0
    var (end, emptyEnd) = (count, count)
    count = 0
    // Downwards, so that the lists begin with the lowest.
    while end > 0 {
      let page = (end - 1) / perPage
      let slots = page * perPage..<end
      if slots.contains(where: { unsafe records[Int($0)].isInUse }) {
        giveBack(slots.upperBound..<emptyEnd)
        emptyEnd = slots.lowerBound
        if count == 0 { count = end }
        for slot in slots.reversed() where unsafe !records[Int(slot)].isInUse { list(slot) }
        backedCount += UInt32(slots.count)
      } else {
        for slot in slots { highest = max(highest, unsafe records[Int(slot)].generation) }
        if count != 0 { emptyPages.append(page) }
      }
      end = slots.lowerBound
    }
    giveBack(0..<emptyEnd)
    trimmedBelow = backedCount > Self.fewest ? min(backedCount / 4, usedCount / 2) : 0
  }

  /// If the kernel refuses, as it does for locked memory, the records stay, and they are right.
  private func giveBack(_ slots: Range<UInt32>) {
    if slots.isEmpty { return }
    unsafe madvise(records + Int(slots.lowerBound), slots.count * SlotTable.cacheLine, MADV_DONTNEED)
  }
}
