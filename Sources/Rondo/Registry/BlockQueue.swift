/// Blocks that wait on the loop's thread, in order, by the modes that may run them. *loop thread*
///
/// Blocks for the same modes wait in one group, so that a run touches none that waits for another mode. Once there is
/// more than the default mode's group, marks say what came before what: consecutive blocks of a group share one.
struct BlockQueue {
  private struct Group {
    let modes: ModeSet
    var blocks: [Block] = []
    var marks: [Mark] = []

    mutating func begin(_ ticket: UInt64) { marks.append(Mark(ticket: ticket, start: blocks.count)) }

    mutating func append(_ stretch: ArraySlice<Block>, _ ticket: UInt64) {
      begin(ticket)
      blocks.append(contentsOf: stretch)
    }

    /// The blocks of one mark.
    func stretch(_ index: Int) -> ArraySlice<Block> {
      blocks[marks[index].start..<(index + 1 < marks.count ? marks[index + 1].start : blocks.count)]
    }
  }

  /// From where on blocks have a ticket: the lower one was posted first.
  struct Mark {
    let ticket: UInt64
    let start: Int
  }

  private var ofDefault = Group(modes: .default)
  /// Those that have a block.
  private var others: ContiguousArray<Group> = []
  /// The group whose last mark holds for its next block: its index in `others`, -1 for the default mode's, nil for none.
  private var current: Int? = -1
  private var lastTicket: UInt64 = 0

  /// Whether no block waits: what a quiet turn asks.
  private(set) var isEmpty = true

  var count: Int { others.reduce(ofDefault.blocks.count) { $0 + $1.blocks.count } }

  /// Whether a block waits for a run of the mode. O(groups).
  func contains(for mode: ModeState) -> Bool {
    !ofDefault.blocks.isEmpty && ofDefault.modes.contains(mode) || others.contains { $0.modes.contains(mode) }
  }

  /// O(1), or O(groups) after a block for other modes.
  @inline(__always)
  mutating func append(_ block: consuming Block) {
    isEmpty = false
    if current == -1, block.modes == .default {
      ofDefault.blocks.append(block)
    } else {
      appendMarked(block)
    }
  }

  @inline(never)
  private mutating func appendMarked(_ block: Block) {
    if others.isEmpty, !ofDefault.blocks.isEmpty { ofDefault.marks = [Mark(ticket: nextTicket(), start: 0)] }
    if block.modes == .default {
      if current != -1 { ofDefault.begin(nextTicket()) }
      current = -1
      ofDefault.blocks.append(block)
    } else {
      let index = indexOfGroup(block.modes)
      if current != index || others[index].blocks.isEmpty { others[index].begin(nextTicket()) }
      current = index
      others[index].blocks.append(block)
    }
  }

  private mutating func nextTicket() -> UInt64 {
    lastTicket += 1
    return lastTicket
  }

  /// Takes over posted blocks, and leaves an empty array in their place.
  mutating func append(taking posted: inout [Block]) {
    if isEmpty, posted.allSatisfy({ $0.modes == .default }) {
      swap(&ofDefault.blocks, &posted)
      isEmpty = ofDefault.blocks.isEmpty
    } else {
      for block in posted { append(block) }
      posted.empty()
    }
  }

  /// Whether only the default mode's blocks wait.
  @inline(__always)
  var isUniform: Bool { others.isEmpty }

  /// Moves the blocks that a run of the mode may run into `taken`, which is empty, in order. For a queue that is uniform.
  @inline(__always)
  mutating func takeUniform(for mode: ModeState, into taken: inout [Block]) {
    guard ofDefault.modes.contains(mode) else { return }
    swap(&taken, &ofDefault.blocks)
    isEmpty = true
  }

  /// The same for any queue, and for the blocks from `ticket` on.
  ///
  /// - Returns: The marks of the blocks in `taken`; none if the queue was uniform.
  mutating func take(for mode: ModeState, from ticket: UInt64 = 0, into taken: inout [Block]) -> [Mark] {
    if !isUniform { return takeMarked(from: ticket, into: &taken) { $0.contains(mode) } }
    takeUniform(for: mode, into: &taken)
    return []
  }

  /// For a queue that is not uniform.
  private mutating func takeMarked(
    from ticket: UInt64 = 0, into taken: inout [Block], where mayRun: (ModeSet) -> Bool
  ) -> [Mark] {
    var stretches: [(ticket: UInt64, blocks: ArraySlice<Block>)] = []
    func take(_ group: inout Group) {
      guard mayRun(group.modes), let first = group.marks.firstIndex(where: { $0.ticket >= ticket }) else { return }
      let start = group.marks[first].start
      for index in group.marks[first...].indices {
        stretches.append((group.marks[index].ticket, group.stretch(index)))
      }
      group.blocks.removeSubrange(start...)
      group.marks.removeSubrange(first...)
    }
    take(&ofDefault)
    for index in others.indices { take(&others[index]) }
    stretches.sort { $0.ticket < $1.ticket }
    var marks: [Mark] = []
    for stretch in stretches {
      marks.append(Mark(ticket: stretch.ticket, start: taken.count))
      taken.append(contentsOf: stretch.blocks)
    }
    others.removeAll { $0.blocks.isEmpty }
    current = nil
    if others.isEmpty {
      current = -1
      ofDefault.marks = []
      isEmpty = ofDefault.blocks.isEmpty
    }
    return marks
  }

  /// Whether a block waits for the common modes.
  var hasCommon: Bool { others.contains { $0.modes.isCommon } }

  /// Puts blocks back that were taken, and not run yet: those from `first` on. Nothing was posted since, and the queue is
  /// not uniform.
  mutating func putBack(_ taken: [Block], from first: Int, _ marks: [Mark]) {
    assert(!isUniform, "The blocks that wait have no marks any more.")
    for (place, mark) in marks.enumerated() {
      let end = place + 1 < marks.count ? marks[place + 1].start : taken.count
      let stretch = taken[min(end, max(mark.start, first))..<end]
      guard let modes = stretch.first?.modes else { continue }
      if modes == .default {
        ofDefault.append(stretch, mark.ticket)
      } else {
        let index = indexOfGroup(modes)
        others[index].append(stretch, mark.ticket)
      }
    }
    current = nil
  }

  private mutating func indexOfGroup(_ modes: ModeSet) -> Int {
    let index = others.firstIndex { $0.modes == modes } ?? others.count
    if index == others.count { others.append(Group(modes: modes)) }
    return index
  }

  /// Takes all blocks, in order.
  mutating func takeAll() -> [Block] {
    var taken: [Block] = []
    isEmpty = true
    if isUniform { swap(&taken, &ofDefault.blocks) } else { _ = takeMarked(into: &taken) { _ in true } }
    return taken
  }

  /// Takes the queue as it is.
  mutating func takeOut() -> BlockQueue {
    var taken = BlockQueue()
    swap(&self, &taken)
    return taken
  }

  /// Puts blocks that were taken out before those that came since. O(those that came since).
  mutating func prepend(_ older: consuming BlockQueue) {
    let newer = takeAll()
    self = older
    for block in newer { append(block) }
  }
}
