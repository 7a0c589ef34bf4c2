import Synchronization

/// The structures behind membership: what joins and leaves a mode's indices.
extension LoopCore {
  /// Enters the item into the structures of the modes in `mask`.
  func install(_ item: Loop.Item, in mask: UInt64) {
    assertOwnThread()
    slots.insert(item)
    let joined = mask & ~item.installed
    item.installed |= joined
    switch item.kind {
    case .observer:
      let observer = downcast(item, to: Loop.Observer.self)
      forEachMode(joined) { observer.number = $0.observers.insert(observer) }
    case .timer:
      let timer = downcast(item, to: Loop.Timer.self)
      forEachMode(joined) { $0.itemCount += 1 }
      timer.unqueued |= joined
      enqueueAfterJoining(timer, joined)
      rearm(joined)
    case .attachment:
      let attachment = downcast(item, to: SourceAttachment.self)
      forEachMode(joined) { $0.itemCount += 1 }
      if attachment.source.isSignalled { enqueueSignal(of: attachment) }
    case .descriptor:
      let source = downcast(item, to: Loop.DescriptorSource.self)
      forEachMode(joined) {
        $0.itemCount += 1
        if source.order != 0 { $0.orderedDescriptorCount += 1 }
      }
      markDirty(source)
    case .source:
      preconditionFailure("A source belongs to a loop through an attachment.")
    }
  }

  /// Takes the item out of the structures of the modes in `mask`, and evicts it if nothing keeps it here.
  ///
  /// - Parameter isCommon: Whether it stays in the common-mode item set, and so in the slot table.
  /// - Returns: Whether it gave up its slot: the caller lets go of it, which may call out.
  func uninstall(_ item: Loop.Item, from mask: UInt64, isCommon: Bool) -> Bool {
    assertOwnThread()
    let left = mask & item.installed
    if left != 0, item.kind == .timer { noteDeparture(of: downcast(item, to: Loop.Timer.self), from: left) }
    item.installed &= ~left
    switch item.kind {
    case .observer:
      let observer = downcast(item, to: Loop.Observer.self)
      forEachMode(left) { $0.observers.remove(observer, number: observer.number) }
    case .timer:
      forEachMode(left) { $0.itemCount -= 1 }
      if left != 0 { invalidateEntries(of: downcast(item, to: Loop.Timer.self), alsoIn: left) }
      rearm(left)
    case .attachment:
      forEachMode(left) { $0.itemCount -= 1 }
    case .descriptor:
      let source = downcast(item, to: Loop.DescriptorSource.self)
      forEachMode(left) {
        $0.itemCount -= 1
        if source.order != 0 { $0.orderedDescriptorCount -= 1 }
        wait.unwatch(source, in: $0)
      }
    case .source:
      break
    }
    return item.installed == 0 && !isCommon ? evict(item) : false
  }

  /// Ends the item's residence: it leaves every list, gives up its slot, and in the last line is free for another loop.
  ///
  /// Whatever a loop's thread keeps in an item is as new afterwards; until then no other loop can have it.
  ///
  /// - Returns: Whether it had a slot.
  private func evict(_ item: Loop.Item) -> Bool {
    assertOwnThread()
    let hadSlot = item.slot >= 0
    if hadSlot {
      slots.remove(item)
      switch item.kind {
      case .timer:
        let timer = downcast(item, to: Loop.Timer.self)
        if !firing.isEmpty { firing.removeAll { $0 === timer } }
        timer.unqueued = 0
        timer.loosened = 0
        timer.missed = 0
      case .attachment:
        let attachment = downcast(item, to: SourceAttachment.self)
        forEachMode(attachment.queued) { $0.signalled.noteStale(in: slots) }
        attachment.queued = 0
      case .descriptor:
        let source = downcast(item, to: Loop.DescriptorSource.self)
        forEachMode(source.dirty) { $0.dirtyDescriptors.noteStale(in: slots) }
        source.dirty = 0
      case .observer, .source:
        break
      }
    }
    mailbox.withLock { _ in item.unbindIfHomeless() }
    // Not before: whoever invalidates it from here on finds it free, and closes it.
    if item.kind == .descriptor { downcast(item, to: Loop.DescriptorSource.self).closeIfFree() }
    return hadSlot
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
    for level in 0..<depth where frames[level].calling == ObjectIdentifier(item) { return true }
    return false
  }

  /// Whether the item is this loop's still, after a callout. Then what it keeps for its loop's thread is this thread's.
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
      for item in slots.all where item.isCommon && item.modes.load(ordering: .relaxed) & mode.bit == 0 {
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

  /// Puts the attachment on the signalled list of each of its modes.
  func enqueueSignal(of attachment: SourceAttachment) {
    assertOwnThread()
    let missing = attachment.installed & ~attachment.queued
    attachment.queued |= missing
    forEachMode(missing) { $0.signalled.append(slots.token(of: attachment)) }
  }

  /// Has the watches of a descriptor source brought up to date before the next wait of each of its modes.
  func markDirty(_ source: Loop.DescriptorSource) {
    assertOwnThread()
    let missing = source.installed & ~source.dirty
    source.dirty |= missing
    forEachMode(missing) {
      $0.dirtyDescriptors.append(slots.token(of: source))
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
