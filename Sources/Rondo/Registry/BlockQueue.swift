/// Blocks that wait on the loop's thread, in order, by the modes that may run them. *loop thread*
///
/// While all of them wait for the default mode, they are one array: the queue is plain. Otherwise each has a ticket, the
/// higher the later it was posted, and those for the same modes wait in one group. A run asks the groups of its mode for
/// the lowest ticket, and touches no block that waits for another mode.
struct BlockQueue {
  private struct Group {
    let modes: ModeSet
    /// By ticket. Blocks that were taken out of the middle leave empty places.
    var places: ArraySlice<(block: Block, ticket: UInt64)> = []

    /// The place of the first block whose ticket is higher. O(log n), and O(1) if it is the first of all.
    func place(after ticket: UInt64) -> Int? {
      var (low, high) = (places.startIndex, places.endIndex)
      if let first = places.first, first.ticket > ticket { high = low }
      while low < high {
        let middle = (low + high) / 2
        if places[middle].ticket > ticket { high = middle } else { low = middle + 1 }
      }
      return places[low...].firstIndex { !$0.block.isTaken }
    }

    /// Takes a block out. The first and the last place are not empty afterwards.
    mutating func take(_ place: Int) -> () -> Void {
      let call = places[place].block.take()!
      while let first = places.first, first.block.isTaken { places.removeFirst() }
      while let last = places.last, last.block.isTaken { places.removeLast() }
      return call
    }
  }

  private var plain: [Block] = []
  /// Those that have a block.
  private var groups: ContiguousArray<Group> = []
  private var lastTicket: UInt64 = 0
  /// Blocks up to this ticket are held back: their turn is in a drain that is under way.
  private var heldTicket: UInt64 = 0

  /// Whether no block waits: what a quiet turn asks.
  private(set) var isEmpty = true

  /// Whether only the default mode's blocks wait, and none is held back.
  @inline(__always)
  var isPlain: Bool { groups.isEmpty && heldTicket == 0 }

  var count: Int { groups.reduce(plain.count) { $0 + $1.places.count { !$0.block.isTaken } } }

  /// Whether a run of the mode would find a block, or, with `held`, one is held back for it. O(groups).
  func contains(for mode: ModeState, held: Bool = false) -> Bool {
    let ticket = held ? 0 : heldTicket
    return !plain.isEmpty && ModeSet.default.contains(mode)
      || groups.contains { $0.modes.contains(mode) && $0.places.last!.ticket > ticket }
  }

  /// O(1), or O(groups) if the queue is not plain.
  @inline(__always)
  mutating func append(_ block: consuming Block) {
    isEmpty = false
    if isPlain, block.modes == .default { plain.append(block) } else { appendWithTicket(block) }
  }

  @inline(never)
  private mutating func appendWithTicket(_ block: Block) {
    for older in plain { giveTicket(older) }
    plain = []
    giveTicket(block)
  }

  private mutating func giveTicket(_ block: Block) {
    let group = groups.firstIndex { $0.modes == block.modes } ?? groups.count
    if group == groups.count { groups.append(Group(modes: block.modes)) }
    lastTicket += 1
    groups[group].places.append((block, lastTicket))
  }

  /// Takes over posted blocks, and leaves an empty array in their place.
  mutating func append(taking posted: inout [Block]) {
    if isEmpty, isPlain, posted.allSatisfy({ $0.modes == .default }) {
      swap(&plain, &posted)
      isEmpty = plain.isEmpty
    } else {
      for block in posted { append(block) }
      posted.empty()
    }
  }

  /// Moves the blocks that a run of the mode may run into `taken`, which is empty, in order. For a queue that is plain.
  @inline(__always)
  mutating func takePlain(for mode: ModeState, into taken: inout [Block]) {
    guard ModeSet.default.contains(mode) else { return }
    swap(&taken, &plain)
    isEmpty = true
  }

  // MARK: - With tickets

  /// A drain: the blocks that it may run, by ticket.
  struct Drain {
    /// That of the block taken last.
    fileprivate(set) var ticket: UInt64
    fileprivate let end: UInt64
    fileprivate let outerHeldTicket: UInt64
  }

  /// Begins a drain of the blocks that wait now. As in CFRunLoop, a drain inside of it finds only those posted later.
  mutating func beginDrain() -> Drain {
    let drain = Drain(ticket: heldTicket, end: lastTicket, outerHeldTicket: heldTicket)
    heldTicket = lastTicket
    return drain
  }

  mutating func endDrain(_ drain: Drain) { heldTicket = drain.outerHeldTicket }

  /// Takes the drain's next block for runs of the mode. O(groups).
  mutating func take(_ drain: inout Drain, for mode: ModeState) -> (() -> Void)? {
    take(&drain) { $0.contains(mode) }
  }

  private mutating func take(_ drain: inout Drain, where mayRun: (ModeSet) -> Bool) -> (() -> Void)? {
    var next: (group: Int, place: Int, ticket: UInt64)?
    for (index, group) in groups.enumerated() where mayRun(group.modes) {
      guard let place = group.place(after: drain.ticket) else { continue }
      let ticket = group.places[place].ticket
      if ticket <= drain.end, next.map({ ticket < $0.ticket }) ?? true { next = (index, place, ticket) }
    }
    guard let next else { return nil }
    drain.ticket = next.ticket
    let call = groups[next.group].take(next.place)
    if groups[next.group].places.isEmpty { groups.remove(at: next.group) }
    isEmpty = groups.isEmpty && plain.isEmpty
    return call
  }

  /// Takes all blocks, in order.
  mutating func takeAll() -> [() -> Void] {
    var taken = plain.map(\.call)
    plain = []
    var drain = Drain(ticket: 0, end: .max, outerHeldTicket: 0)
    while let call = take(&drain, where: { _ in true }) { taken.append(call) }
    isEmpty = true
    return taken
  }
}
