import Synchronization

/// The structures behind membership: what joins and leaves a mode's indices.
extension LoopCore {
  /// Enters the item into the structures of the modes in `mask`. The item is this loop's.
  ///
  /// - Parameter isHeld: Whether its handlers are held for a slot that it gets.
  func install(_ item: Loop.Item, in mask: UInt64, isHeld: Bool = false) {
    assertOwnThread()
    if item.kind == .timer { return install(downcast(item, to: Loop.Timer.self), in: mask, isHeld: isHeld) }
    let token = slots.insert(item, isHeld: isHeld)
    let joined = mask & ~slots[token].installed
    slots[token].installed |= joined
    switch item.kind {
    case .observer:
      let observer = downcast(item, to: Loop.Observer.self)
      forEachMode(joined) { slots[token].number = $0.observers.insert(observer) }
    case .timer:
      break
    case .source:
      forEachMode(joined) { $0.itemCount += 1 }
      if downcast(item, to: Loop.Source.self).isSignalled { enqueueSignal(of: token) }
    case .descriptor:
      forEachMode(joined) {
        $0.itemCount += 1
        if item.order != 0 { $0.orderedDescriptorCount += 1 }
      }
      if joined == slots[token].installed { slots[token].number = 0 }
      markDirty(token)
    }
  }

  /// Takes the item, which has left the modes in `mask`, out of their structures, and evicts and frees it if nothing
  /// keeps it here. Under the item lock, of an item of this loop. Calls nothing of the user's.
  func uninstall(_ item: Loop.Item, from mask: UInt64) -> Departure {
    assertOwnThread()
    var departure = Departure(left: mask)
    if item.kind == .timer {
      departure.evicted = uninstall(downcast(item, to: Loop.Timer.self), from: mask)
    } else if let token = slots.token(of: item) {
      leave(mask & slots[token].installed, item, token)
      if slots[token].installed == 0, !item.isCommon { departure.evicted = releaseSlot(token) }
    } else {
      item.leaveLoopIfUnregistered()
    }
    return departure
  }

  /// Takes an item out of every mode and the common set, whatever mail says of it that has yet to be applied. Calls
  /// nothing of the user's.
  ///
  /// - Parameter loop: This one, whose reference the caller has.
  /// - Returns: Nil if it is not this loop's.
  @inline(__always)
  func releaseSlot(_ item: Loop.Item, from loop: Loop) -> Departure? {
    assertOwnThread()
    return item.whileIn(loop) { () -> Departure? in
      guard let left = item.leave(loop, .all) else { return nil }
      var departure = uninstall(item, from: .max)
      departure.left = left
      return departure
    } ?? nil
  }

  /// Takes an item out of the loop if it is still in it, whatever mail says of it. Calls out.
  func release(_ item: Loop.Item) {
    guard let departure = releaseSlot(item, from: loop) else { return }
    item.didLeaveLoop()
    departure.evicted?.unholdHandlers()
    callOutAfterMail()
  }

  private func leave(_ left: UInt64, _ item: Loop.Item, _ token: Token) {
    switch item.kind {
    case .observer:
      let number = slots[token].number
      forEachMode(left) { $0.observers.remove(downcast(item, to: Loop.Observer.self), number: number) }
      slots[token].installed &= ~left
    case .timer:
      break
    case .source:
      forEachMode(left) { $0.itemCount -= 1 }
      slots[token].installed &= ~left
    case .descriptor:
      slots[token].installed &= ~left
      forEachMode(left) {
        $0.itemCount -= 1
        if item.order != 0 { $0.orderedDescriptorCount -= 1 }
        let rejected = wait.unwatch(downcast(item, to: Loop.DescriptorSource.self), token, in: $0, slots)
        afterMail += rejected.map(AfterMail.invalidate)
      }
      let source = downcast(item, to: Loop.DescriptorSource.self)
      if source.isAboutToClose, let other = wait.kernel?.companion(of: source) { source.leaveClosing(to: other) }
    }
  }

  /// Ends an item's residence: it leaves every list, gives up its slot, and in the last line is free for another loop.
  ///
  /// - Returns: The item, unless it is kept because a callout of it is under way.
  private func releaseSlot(_ token: Token) -> Loop.Item? {
    assertOwnThread()
    let pending = slots[token].pending
    let item = slots.freeSlot(token)
    switch item.kind {
    case .source: forEachMode(pending) { $0.signalled.noteStale(in: slots) }
    case .descriptor: forEachMode(pending) { $0.dirtyDescriptors.noteStale(in: slots) }
    case .observer, .timer: break
    }
    return finishEviction(item)
  }

  /// Frees an item without a slot for another loop, in the last line.
  ///
  /// - Returns: The item, unless it is kept because a callout of it is under way.
  func finishEviction(_ item: Loop.Item) -> Loop.Item? {
    let isCalling = isCalling(item)
    if isCalling {
      slots.retire(item)
      agenda.insert(.retired)
    }
    item.leaveLoopIfUnregistered()
    return isCalling ? nil : item
  }

  /// Every item that has a slot.
  var allItems: [Loop.Item] {
    slots.all.map(\.item) + timers.all.compactMap { timers.timer($0.slot) }
  }

  /// The modes whose structures hold the item.
  func installedModes(of item: Loop.Item) -> UInt64 {
    if item.kind == .timer { return modes(of: downcast(item, to: Loop.Timer.self)) }
    return slots.token(of: item).map { slots[$0].installed } ?? 0
  }

  /// 12. retire: lets go of removed items that are in no callout. Calls out.
  @inline(__always)
  func retire() {
    assertOwnThread()
    if agenda.contains(.retired) { releaseRetired() }
  }

  @inline(never)
  private func releaseRetired() {
    assertOwnThread()
    // Their closures may own anything, so they die after the table is consistent again.
    let free = slots.takeRetired { isCalling($0) }
    agenda.note(.retired, slots.hasRetired)
    for item in free { item.unholdHandlers() }
  }

  /// Whether a callout of the item is under way on this loop, in this run or in one around it.
  @inline(__always)
  func isCalling(_ item: Loop.Item) -> Bool {
    assertOwnThread()
    return frames.isCalling(ObjectIdentifier(item))
  }

  /// A mode joins the common set: every common item joins it. Schedule handlers are called after the mail.
  func joinCommon(_ index: Int) {
    assertOwnThread()
    let mode = modeState(index)
    mode.isCommon = true
    listGroups(of: mode)
    for item in allItems {
      let joined = item.whileIn(loop) { item.isCommon ? item.join(mode.bit) : 0 } ?? 0
      if joined == 0 { continue }
      install(item, in: joined)
      if item.kind == .source {
        afterMail.append(.callSchedule(downcast(item, to: Loop.Source.self).primary, mode: index))
      }
    }
  }

  /// A source of this loop was signalled, installed or not.
  ///
  /// - Returns: Whether it is installed, and so kept.
  @inline(__always)
  @discardableResult
  func noteSignal(of source: Loop.Source) -> Bool {
    assertOwnThread()
    guard let token = slots.token(of: source) else { return false }
    enqueueSignal(of: token)
    return true
  }

  /// Puts a source on the signalled list of each of its modes.
  @inline(__always)
  private func enqueueSignal(of token: Token) {
    assertOwnThread()
    let missing = slots[token].installed & ~slots[token].pending
    if missing == 0 { return }
    slots[token].pending |= missing
    forEachMode(missing) { $0.signalled.append(token) }
  }

  /// Has the watches of a descriptor source brought up to date before the next wait of each of its modes.
  func markDirty(_ token: Token) {
    assertOwnThread()
    let missing = slots[token].installed & ~slots[token].pending
    slots[token].pending |= missing
    if missing != 0 { cancelHostSleep() }
    forEachMode(missing) {
      $0.dirtyDescriptors.append(token)
      // To serve in order of arrival, the kernel has to know at once whose arrivals count.
      if servesOneEventPerTurn { updateWatches($0) }
    }
  }

  @inline(__always)
  func forEachMode(_ mask: UInt64, _ body: (ModeState) -> Void) {
    assertOwnThread()
    var rest = mask
    while rest != 0 {
      body(modeState(rest.trailingZeroBitCount))
      rest &= rest - 1
    }
  }
}

/// What came of an item's leaving modes.
struct Departure {
  /// The modes it left.
  var left: UInt64 = 0
  /// The item if its slot is free and no callout of it is under way. The caller that gets it releases its handlers.
  var evicted: Loop.Item?
}
