import Glibc

/// What tests and soaks ask of a loop between turns: whether its structures agree, and how much they hold.
extension Loop {
  /// Walks table, heaps, lists, counts and watches, and traps with every rule that is broken. The loop's thread.
  ///
  /// O(everything in the loop); for tests. Calls out if there is mail.
  package func checkInvariants() {
    var broken = core.brokenInvariants()
    // Another thread may be between a change and the mail that tells of it; what is broken stays so.
    for _ in 0..<100 where !broken.isEmpty {
      usleep(100)
      core.applyMail()
      broken = core.brokenInvariants()
    }
    if !broken.isEmpty { fatalError("A loop's structures disagree: \(broken.joined(separator: "; ")).") }
  }

  /// Whether debug builds check the invariants after every turn. The loop's thread, for tests.
  package var checksInvariants: Bool {
    get { core.checksInvariants }
    set { core.checksInvariants = newValue }
  }

  /// How many entries the loop's structures hold. The loop's thread, for tests.
  package var sizes: Sizes { core.sizes }

  /// Counts of entries, stale ones included.
  package struct Sizes: Equatable, Sendable {
    /// Items that have a slot.
    package var items = 0
    /// Slots, free ones included.
    package var slots = 0
    /// Items that have left and have not been let go of.
    package var retired = 0
    /// Timeouts that have not been discarded.
    package var timeouts = 0
    /// Entries in the heaps of all modes.
    package var timerEntries = 0
    /// Of these, entries that nothing stands behind any more.
    package var staleTimerEntries = 0
    /// Descriptor sources listed for a new watch, in all modes.
    package var dirtyDescriptors = 0
    /// Records of readiness that have not been told, in all modes.
    package var carriedDescriptors = 0
    /// Entries of signalled sources, in all modes.
    package var signalled = 0
    /// Observers' entries, blanks included, in all modes.
    package var observers = 0
    /// Structural changes in the mailbox, blanks included.
    package var mailedChanges = 0
    /// Blocks that wait, in the mailbox and in the queue.
    package var blocks = 0
  }
}

extension LoopCore {
  /// After a turn, in debug builds that ask for it.
  @inline(__always)
  func assertInvariants() {
    assert(!checksInvariants || invariantsHold())
  }

  private func invariantsHold() -> Bool {
    loop.checkInvariants()
    return true
  }

  fileprivate var sizes: Loop.Sizes {
    assertOwnThread()
    var sizes = Loop.Sizes()
    let slotCount = slots.slotCount
    sizes.slots = slotCount.all
    sizes.items = slotCount.used
    sizes.retired = slots.retiredCount
    sizes.timeouts = timeouts.slotCount.used
    sizes.timerEntries = timeouts.common.entryCount
    sizes.staleTimerEntries = timeouts.common.staleCount
    for mode in modes {
      sizes.timerEntries += mode.timers.entryCount + mode.timeouts.entryCount
      sizes.staleTimerEntries += mode.timers.staleCount + mode.timeouts.staleCount
      sizes.dirtyDescriptors += mode.dirtyDescriptors.tokens.count
      sizes.carriedDescriptors += mode.carriedDescriptors.count
      sizes.signalled += mode.signalled.tokens.count
      sizes.observers += mode.observers.entries.count
    }
    let (changes, mailedBlocks) = mailbox.withLock { ($0.mail.changes.count, $0.mail.blocks.count) }
    sizes.mailedChanges = changes
    sizes.blocks = blocks.count + mailedBlocks
    return sizes
  }

  /// Every rule that does not hold, in words.
  fileprivate func brokenInvariants() -> [String] {
    assertOwnThread()
    var broken: [String] = []
    func expect(_ holds: Bool, _ rule: @autoclosure () -> String) {
      if !holds { broken.append(rule()) }
    }
    let items = slots.all
    expect(items.count == slots.slotCount.used, "every slot is free or has an item")
    for (item, token) in items { checkResidence(of: item, token, expect) }
    for mode in modes { check(mode, items, expect) }
    let isCommon = { (record: TimeoutRecord) in record.queue == TimeoutRecord.commonModes }
    check(timeouts.common, "timeouts of the common modes", expect, isCommon)
    let armed = timeouts.all.count { timeouts[$0.slot].isArmed && isCommon(timeouts[$0.slot]) }
    expect(timeouts.armedCommonCount == armed, "the armed timeouts of the common modes are counted")
    expect(timeouts.all.count == timeouts.slotCount.used, "every timeout's slot is free or used")
    expect(frames.count { _ in true } == depth, "there is a frame for each run")
    expect(
      firing.allSatisfy { slots.item($0.token).map(isCalling) ?? false },
      "a timer is firing while its callout is under way, and no longer")
    return broken
  }

  private typealias Expectation = (Bool, @autoclosure () -> String) -> Void

  private func checkResidence(of item: Loop.Item, _ token: Token, _ expect: Expectation) {
    // Made only if a rule does not hold.
    var name: String { "\(item.kind) in slot \(token.slot)" }
    let resident = slots[token]
    expect(slots.token(of: item) == token, "\(name) knows its slot")
    expect(item.isIn(loop), "\(name) belongs to the loop that keeps it")
    switch item.kind {
    case .timer:
      let timer = downcast(item, to: Loop.Timer.self)
      expect(resident.pending & ~resident.installed == 0, "\(name) lacks an entry only in modes it is in")
      let isDue = frames.contains { $0.due.contains { $0.token == token } }
      let waits = resident.pending == 0 || isCalling(timer) || isDue || timer.hasNothingToFire || !firing.isEmpty
      var lack: String { "\(resident.pending) of \(resident.installed)" }
      expect(waits, "\(name), which lacks \(lack), is in the heap of each of its modes unless it is about to fire")
    case .descriptor:
      let stray = resident.watches.first { resident.installed & 1 << UInt64($0.mode) == 0 }
      expect(stray == nil, "\(name) is watched only in modes it is in")
    case .observer, .source:
      break
    }
  }

  private func check(_ mode: ModeState, _ items: [(item: Loop.Item, token: Token)], _ expect: Expectation) {
    let members = items.filter { slots[$0.token].installed & mode.bit != 0 }
    let name = "mode \(mode.index)"
    let armed = timeouts.all.count { timeouts[$0.slot].isArmed && Int(timeouts[$0.slot].queue) == mode.index }
    expect(mode.itemCount == members.count { $0.item.kind != .observer } + armed, "\(name) counts its items")
    check(mode.timeouts, "timeouts of \(name)", expect) { Int($0.queue) == mode.index }
    expect(mode.observers.count == members.count { $0.item.kind == .observer }, "\(name) lists its observers")
    expect(mode.observers.isInOrder, "\(name) has its observers in order, and counts who wants to hear what")
    let ordered = members.count { $0.item.kind == .descriptor && $0.item.order != 0 }
    expect(mode.orderedDescriptorCount == ordered, "\(name) counts its ordered descriptor sources")
    checkList(mode.signalled, "signalled sources of \(name)", expect) {
      slots[$0].pending & mode.bit != 0
    }
    checkList(mode.dirtyDescriptors, "descriptors of \(name) to watch anew", expect) {
      slots[$0].pending & mode.bit != 0
    }
    for (item, token) in members where item.kind == .source {
      let isListed = mode.signalled.tokens.contains(token)
      expect(isListed == (slots[token].pending & mode.bit != 0), "a source stands on the list of \(name) that it names")
    }
    let timers = members.filter { $0.item.kind == .timer }.map { (resident: slots[$0.token], token: $0.token) }
    let live = timers.reduce(0) { $0 + ($1.resident.pending & mode.bit == 0 ? Int($1.resident.entriesPerMode) : 0) }
    let queue = mode.timers
    expect(queue.entryCount >= live, "every timer of \(name) has its entries")
    let stale = queue.countStale(in: slots)
    let counts = "\(queue.entryCount) entries, \(live) live, \(stale) stale, \(queue.staleCount) counted"
    expect(stale <= queue.staleCount, "\(name) counts every stale entry: \(counts)")
    expect(queue.staleCount <= max(64, queue.entryCount / 2), "\(name) keeps few stale entries: \(counts)")
    // A timer that was taken out by date leaves one entry until it has fired; one whose modes arm anew, all.
    let left = timers.reduce(0) { left, timer in
      if timer.resident.pending & mode.bit == 0 { return left }
      return left + (loosened(timer.token) & mode.bit != 0 ? Int(timer.resident.entriesPerMode) : 1)
    }
    expect(queue.entryCount - stale <= live + left, "\(name) has no entries but its timers': \(counts), \(left) left")
    expect(queue.isHeapOrdered, "the heaps of \(name) are heaps")
    expect(!queue.isEmpty || queue.entryCount == 0, "\(name) knows whether it has timers")
  }

  /// A queue of timeouts has the entries of those that say so, and few others; who is armed is in it or about to fire.
  private func check(
    _ queue: TimerQueue<TimeoutTable>, _ name: String, _ expect: Expectation, _ isIn: (TimeoutRecord) -> Bool
  ) {
    let members = timeouts.all.filter { isIn(timeouts[$0.slot]) }
    let live = members.reduce(0) { $0 + (timeouts[$1.slot].isQueued ? Int(timeouts[$1.slot].entryCount) : 0) }
    let stale = queue.countStale(in: timeouts)
    let counts = "\(queue.entryCount) entries, \(live) live, \(stale) stale, \(queue.staleCount) counted"
    expect(queue.entryCount - stale == live, "the \(name) have their entries: \(counts)")
    expect(stale == queue.staleCount, "the stale entries of the \(name) are counted: \(counts)")
    expect(queue.staleCount <= max(64, queue.entryCount / 2), "the \(name) keep few stale entries: \(counts)")
    for token in members where timeouts[token.slot].isArmed {
      let isDue = frames.contains { $0.due.contains { $0.isTimeout && $0.token == token } }
      expect(
        timeouts[token.slot].isQueued || isDue || timeouts[token.slot].handler == nil,
        "an armed one of the \(name) is queued, about to fire, or in its callout")
      expect(
        !timeouts[token.slot].isQueued || timeouts[token.slot].queuedDate <= timeouts[token.slot].date,
        "no entry of the \(name) is late")
    }
    expect(queue.isHeapOrdered, "the heaps of the \(name) are heaps")
    expect(!queue.isEmpty || queue.entryCount == 0, "the queue of the \(name) knows whether it is empty")
  }

  /// A list of tokens holds each live item once, and only items that say they stand on it.
  private func checkList(
    _ list: TokenList, _ name: String, _ expect: Expectation, _ isListed: (Token) -> Bool
  ) {
    let live = list.tokens.filter { slots.holds($0) }
    expect(live.allSatisfy(isListed), "the \(name) know that they are listed")
    expect(Set(live.map(\.packed)).count == live.count, "the \(name) are listed once")
    expect(list.tokens.count - live.count <= max(32, list.tokens.count / 2), "the list of \(name) is mostly live")
  }
}
