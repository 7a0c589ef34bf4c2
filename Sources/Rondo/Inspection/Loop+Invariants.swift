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
    let timeoutCount = timers.all.count { timers.timer($0.slot) == nil }
    sizes.slots = slots.slotCount.all + timers.slotCount.all
    sizes.items = slots.slotCount.used + timers.slotCount.used - timeoutCount
    sizes.retired = slots.retiredCount
    sizes.timeouts = timeoutCount
    for number in modes.map(\.own) + timers.shared { sizes.timerEntries += timers[number].entryCount }
    for mode in modes {
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
    expect(timers.all.count == timers.slotCount.used, "every row is free or used")
    for token in timers.all { checkRow(token, expect) }
    for number in modes.map(\.own) + timers.shared { checkGroup(number, expect) }
    let hasWork = !blocks.isEmpty || knownJobs?.isEmpty == false
    expect(agenda.contains(.work) || !hasWork, "the loop knows that blocks or jobs wait")
    expect(agenda.contains(.retired) == slots.hasRetired, "the loop knows that removed items wait")
    expect(agenda.contains(.afterMail) == !afterMail.isEmpty, "the loop knows what its mail has led to")
    expect(frames.count { _ in true } == depth, "there is a frame for each run")
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
    case .descriptor:
      let stray = resident.watches.first { resident.installed & 1 << UInt64($0.mode) == 0 }
      expect(stray == nil, "\(name) is watched only in modes it is in")
    case .observer, .source, .timer:
      break
    }
  }

  private func check(_ mode: ModeState, _ items: [(item: Loop.Item, token: Token)], _ expect: Expectation) {
    let members = items.filter { slots[$0.token].installed & mode.bit != 0 }
    let name = "mode \(mode.index)"
    expect(mode.itemCount == members.count { $0.item.kind != .observer }, "\(name) counts its items")
    let served = timers.shared.filter { timers[$0].modes.contains(mode) }
    expect(mode.others.sorted() == served, "\(name) lists the groups that contain it")
    expect(mode.observers.count == members.count { $0.item.kind == .observer }, "\(name) lists its observers")
    let lists: [(Agenda, Bool)] = [
      (.signalled, mode.signalled.isEmpty), (.dirty, mode.dirtyDescriptors.isEmpty),
      (.carried, mode.carriedDescriptors.isEmpty),
    ]
    expect(lists.allSatisfy { mode.agenda.contains($0) != $1 }, "\(name) has each list that is not empty on its agenda")
    expect(
      mode.agenda.rawValue & 0xFF == UInt32(mode.observers.activities.rawValue & 0xFF),
      "\(name) has what its observers want to hear of on its agenda")
    expect(mode.hasOthers == !mode.others.isEmpty, "\(name) knows that it has further groups")
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
  }

  /// A row that is armed is queued, about to fire, or in its callout; no entry is late.
  private func checkRow(_ token: Token, _ expect: Expectation) {
    let row = timers[token.slot]
    let timer = timers.timer(token.slot)
    var name: String { "row \(token.slot), a \(timer == nil ? "timeout" : "timer")," }
    let isDue = frames.contains { $0.due.contains { $0.token == token } }
    let isInCallout = timer.map(isCalling) ?? (row.target == nil)
    expect(
      !row.isArmed || row.isQueued || isDue || isInCallout,
      "\(name) is queued, about to fire, or in its callout if it is armed")
    guard let timer else { return }
    expect(timers.token(of: timer) == token, "\(name) knows its slot")
    expect(timer.isIn(loop), "\(name) belongs to the loop that keeps it")
    expect(row.isArmed || timer.hasNothingToFire || isCalling(timer), "\(name) is armed unless its only fire has begun")
  }

  /// A group has the entries of the rows that say so.
  private func checkGroup(_ number: GroupNumber, _ expect: Expectation) {
    let name = "group \(timers[number].modes)"
    let rows = timers.all.filter { timers[$0.slot].group == number }
    expect(timers[number].rowCount == rows.count, "\(name) counts its rows")
    let kept = rows.count { timers[$0.slot].isArmed || timers.timer($0.slot) != nil }
    expect(timers[number].keptCount == kept, "\(name) counts what keeps its modes from being empty")
    for fault in timers[number].faults(of: rows.map(\.slot), in: timers.rows) { expect(false, "\(name): \(fault)") }
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

extension TimerGroup {
  /// What is wrong with the entries of the rows that are in this group, in words. O(n).
  fileprivate func faults(of slots: [UInt32], in rows: TimerRows) -> [String] {
    let queued = slots.filter { rows[$0].isQueued }
    let tolerant = queued.count { rows[$0].tolerance > 0 }
    return [
      exact.faults(in: rows, "exact"), soft.faults(in: rows, "soft"), hard.faults(in: rows, "hard"),
      exact.count == queued.count - tolerant ? [] : ["exact has an entry of each queued row without tolerance"],
      soft.count == tolerant && hard.count == tolerant ? [] : ["soft and hard have an entry of each tolerant row"],
      precise.sorted() == queued.filter { rows[$0].isPrecise }.sorted() ? [] : ["its precise rows are known, once"],
    ].flatMap { $0 }
  }
}

extension DeadlineHeap {
  fileprivate func faults(in rows: TimerRows, _ name: String) -> [String] {
    (0..<count).flatMap { index -> [String] in
      let entry = self[index]
      return [
        place(of: entry.slot, rows) == UInt32(index) ? nil : "a row of \(name) knows its place",
        index == 0 || self[(index - 1) / 4].deadline <= entry.deadline ? nil : "\(name) is a heap",
        entry.deadline <= deadline(of: entry.slot, in: rows) ? nil : "an entry of \(name) is not late",
      ].compactMap { $0 }
    }
  }
}
