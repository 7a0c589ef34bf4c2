import Synchronization

/// The structures behind membership: what joins and leaves a mode's indices.
extension LoopCore {
  /// Enters the item into the structures of the modes in `mask`. The item is this loop's.
  func install(_ item: Loop.Item, in mask: UInt64) {
    assertOwnThread()
    let token = slots.insert(item)
    let joined = mask & ~slots[token].installed
    slots[token].installed |= joined
    switch item.kind {
    case .observer:
      let observer = downcast(item, to: Loop.Observer.self)
      forEachMode(joined) { slots[token].number = $0.observers.insert(observer) }
    case .timer:
      forEachMode(joined) { $0.itemCount += 1 }
      slots[token].pending |= joined
      enqueueAfterJoining(downcast(item, to: Loop.Timer.self), token, joined)
      rearm(joined)
    case .attachment:
      forEachMode(joined) { $0.itemCount += 1 }
      if downcast(item, to: SourceAttachment.self).source.isSignalled { enqueueSignal(of: token) }
    case .descriptor:
      forEachMode(joined) {
        $0.itemCount += 1
        if item.order != 0 { $0.orderedDescriptorCount += 1 }
      }
      markDirty(token)
    case .source:
      preconditionFailure("A source belongs to a loop through an attachment.")
    }
  }

  /// Takes the item out of the structures of the modes in `mask`, and evicts it if nothing keeps it here. The item is
  /// this loop's. Calls out, in its last step.
  ///
  /// - Parameter isCommon: Whether it stays in the common-mode item set, and so in the slot table.
  /// - Returns: The item if it gave up its slot: the caller lets go of it, which may call out.
  func uninstall(_ item: Loop.Item, from mask: UInt64, isCommon: Bool) -> Loop.Item? {
    assertOwnThread()
    guard let token = slots.token(of: item) else {
      if !isCommon { unbind(item) }
      return nil
    }
    let left = mask & slots[token].installed
    let fallen = leave(left, item, token)
    let evicted = slots[token].installed == 0 && !isCommon ? evict(token) : nil
    // Last: closures die of it, and may do anything to this item, too.
    fallen.giveUp()
    return evicted
  }

  /// - Returns: Sources of the same descriptor that turned out to have lost their file.
  private func leave(_ left: UInt64, _ item: Loop.Item, _ token: Token) -> [FallenSource] {
    assertOwnThread()
    var fallen: [FallenSource] = []
    switch item.kind {
    case .observer:
      let number = slots[token].number
      forEachMode(left) { $0.observers.remove(downcast(item, to: Loop.Observer.self), number: number) }
      slots[token].installed &= ~left
    case .timer:
      let timer = downcast(item, to: Loop.Timer.self)
      noteDeparture(of: timer, token, from: left)
      forEachMode(left) { $0.itemCount -= 1 }
      slots[token].installed &= ~left
      if left != 0 { invalidateEntries(of: timer, token, alsoIn: left) }
      rearm(left)
    case .attachment:
      forEachMode(left) { $0.itemCount -= 1 }
      slots[token].installed &= ~left
    case .descriptor:
      slots[token].installed &= ~left
      forEachMode(left) {
        $0.itemCount -= 1
        if item.order != 0 { $0.orderedDescriptorCount -= 1 }
        fallen += wait.unwatch(downcast(item, to: Loop.DescriptorSource.self), token, in: $0, slots)
      }
    case .source:
      break
    }
    return fallen
  }

  /// Ends an item's residence: it leaves every list, gives up its slot, and in the last line is free for another loop.
  private func evict(_ token: Token) -> Loop.Item {
    assertOwnThread()
    let pending = slots[token].pending
    let item = slots.vacate(token)
    switch item.kind {
    case .timer: if !firing.isEmpty { firing.removeAll { $0.token == token } }
    case .attachment: forEachMode(pending) { $0.signalled.noteStale(in: slots) }
    case .descriptor: forEachMode(pending) { $0.dirtyDescriptors.noteStale(in: slots) }
    case .observer, .source: break
    }
    unbind(item)
    return item
  }

  /// Frees an item that has no slot here for another loop, if it is in no mode and not common.
  private func unbind(_ item: Loop.Item) {
    assertOwnThread()
    mailbox.withLock { _ in item.unbindIfHomeless() }
    // Not before: whoever invalidates it from here on finds it free, and closes it.
    if item.kind == .descriptor { downcast(item, to: Loop.DescriptorSource.self).closeIfFree() }
  }

  /// Lets go of an item that was evicted: now, or once no callout of it can be under way. Calls out.
  func letGo(ofEvicted item: Loop.Item) {
    assertOwnThread()
    if depth == 0 { letGo(of: item) } else { slots.retire(item) }
  }

  /// 12. retire: lets go of removed items that are in no callout. Calls out.
  @inline(__always)
  func retire() {
    assertOwnThread()
    if slots.hasRetired { releaseRetired() }
  }

  @inline(never)
  private func releaseRetired() {
    assertOwnThread()
    // Their closures may own anything, so they die after the table is consistent again.
    for item in slots.takeRetired({ isCalling($0) }) { letGo(of: item) }
  }

  private func letGo(of item: Loop.Item) {
    assertOwnThread()
    if item.kind == .attachment {
      let attachment = downcast(item, to: SourceAttachment.self)
      attachment.source.dropIfHomeless(attachment)
    }
    // Without a slot since it was evicted; the table's hold ends here, and another loop's table has its own.
    item.unholdHandlers()
  }

  /// Whether a callout of the item is under way on this loop, in this run or in one around it.
  @inline(__always)
  func isCalling(_ item: Loop.Item) -> Bool {
    assertOwnThread()
    return frames.isCalling(ObjectIdentifier(item))
  }

  /// Whether the item is this loop's still, after a callout. Then its slot is one of this loop's.
  func isOwner(of item: Loop.Item) -> Bool {
    item.withOwner { $0 === loop }
  }

  /// A mode joins the common set: every common item joins it. Sources are told of it after the mail.
  func joinCommon(_ index: Int) {
    assertOwnThread()
    let mode = modeState(index)
    mode.isCommon = true
    var joining: [Loop.Item] = []
    mailbox.withLock { _ in
      for (item, _) in slots.all where item.isCommon && item.modes.load(ordering: .relaxed) & mode.bit == 0 {
        item.modes.bitwiseOr(mode.bit, ordering: .sequentiallyConsistent)
        joining.append(item)
      }
    }
    for item in joining {
      install(item, in: mode.bit)
      if item.kind == .attachment {
        afterMail.append(.tellSchedule(downcast(item, to: SourceAttachment.self), mode: index))
      }
    }
  }

  /// A source was signalled. Its attachment is this loop's for good; installed or not.
  @inline(__always)
  func noteSignal(of attachment: SourceAttachment) {
    assertOwnThread()
    if let token = slots.token(of: attachment) { enqueueSignal(of: token) }
  }

  /// Puts a source on the signalled list of each of its modes.
  private func enqueueSignal(of token: Token) {
    assertOwnThread()
    let missing = slots[token].installed & ~slots[token].pending
    slots[token].pending |= missing
    forEachMode(missing) { $0.signalled.append(token) }
  }

  /// Has the watches of a descriptor source brought up to date before the next wait of each of its modes.
  func markDirty(_ token: Token) {
    assertOwnThread()
    let missing = slots[token].installed & ~slots[token].pending
    slots[token].pending |= missing
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
