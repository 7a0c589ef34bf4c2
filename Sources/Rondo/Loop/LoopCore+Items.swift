import Synchronization

/// The structures behind membership: what joins and leaves a mode's indices.
extension LoopCore {
  func install(_ item: Loop.Item, in mask: UInt64) {
    slots.insert(item)
    let joined = mask & ~item.installed
    item.installed |= joined
    switch item.kind {
    case .observer:
      let observer = downcast(item, to: Loop.Observer.self)
      forEachMode(joined) { $0.insert(observer) }
    case .timer:
      let timer = downcast(item, to: Loop.Timer.self)
      forEachMode(joined) { $0.itemCount += 1 }
      timer.unqueued |= joined
      enqueue(timer)
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

  /// - Parameter isCommon: Whether it stays in the common-mode item set, and so in the slot table.
  /// - Parameter unbinds: Whether the item has yet to be freed for another loop.
  func uninstall(_ item: Loop.Item, from mask: UInt64, isCommon: Bool, unbinds: Bool = false) {
    let left = mask & item.installed
    item.installed &= ~left
    switch item.kind {
    case .observer:
      forEachMode(left) { $0.remove(downcast(item, to: Loop.Observer.self)) }
    case .timer:
      forEachMode(left) { $0.itemCount -= 1 }
      if left != 0 { invalidateEntries(of: downcast(item, to: Loop.Timer.self), alsoIn: left) }
      rearm(left)
    case .attachment:
      let attachment = downcast(item, to: SourceAttachment.self)
      forEachMode(left) {
        $0.itemCount -= 1
        if attachment.queued & $0.bit != 0 {
          unsafe $0.signalled.removeAll { unsafe $0.takeUnretainedValue() === attachment }
        }
      }
      attachment.queued &= ~left
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
    if unbinds { mailbox.withLock { _ in item.unbindIfHomeless() } }
    if item.installed == 0, item.slot >= 0, !isCommon { release(item) }
  }

  /// The item has left its last mode.
  private func release(_ item: Loop.Item) {
    slots.remove(item)
    if item.kind == .descriptor, !item.isValid { downcast(item, to: Loop.DescriptorSource.self).closeIfAsked() }
    if depth == 0 { letGo(of: item) } else { slots.retire(item) }
  }

  /// 12. retire: lets go of removed items that are in no callout.
  @inline(__always)
  func retire() {
    if slots.hasRetired { releaseRetired() }
  }

  @inline(never)
  private func releaseRetired() {
    // Their closures may own anything, so they die after the table is consistent again.
    for item in slots.takeRetired() { letGo(of: item) }
  }

  private func letGo(of item: Loop.Item) {
    if item.kind == .attachment {
      let attachment = downcast(item, to: SourceAttachment.self)
      attachment.source.dropIfHomeless(attachment)
    }
    item.unholdHandlers()
  }

  /// A mode joins the common set: every common item joins it.
  func joinCommon(_ index: Int) {
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
        downcast(item, to: SourceAttachment.self).source.tellSchedule(loop, loop.names(of: mode.bit))
      }
    }
  }

  /// Puts the attachment on the signalled list of each of its modes.
  func enqueueSignal(of attachment: SourceAttachment) {
    let missing = attachment.installed & ~attachment.queued
    attachment.queued |= missing
    forEachMode(missing) { unsafe $0.signalled.append(.passUnretained(attachment)) }
  }

  /// Has the watches of a descriptor source brought up to date before the next wait of each of its modes.
  func markDirty(_ source: Loop.DescriptorSource) {
    let missing = source.installed & ~source.dirty
    source.dirty |= missing
    forEachMode(missing) {
      $0.dirtyDescriptors.append(source)
      // To serve in order of arrival, the kernel has to know at once whose arrivals count.
      if servesOneEventPerTurn { updateWatches($0) }
    }
  }

  @inline(__always)
  func forEachMode(_ mask: UInt64, _ body: (ModeState) -> Void) {
    var rest = mask
    while rest != 0 {
      body(modeState(rest.trailingZeroBitCount))
      rest &= rest - 1
    }
  }
}

// MARK: - Timers

extension LoopCore {
  /// Gives the timer an entry in each mode that lacks one.
  func enqueue(_ timer: Loop.Timer) {
    guard timer.callouts == 0 else { return }
    timer.stamp = nextStamp()
    let modes = timer.unqueued & timer.installed
    timer.unqueued = 0
    forEachMode(modes) { $0.timers.insert(timer, in: slots) }
  }

  /// Makes every entry of the timer stale.
  func invalidateEntries(of timer: Loop.Timer, alsoIn left: UInt64 = 0) {
    let queued = (timer.installed | left) & ~timer.unqueued
    slots.renewVersion(of: timer)
    timer.unqueued = timer.installed
    forEachMode(queued) { $0.timers.noteStale(in: slots) }
    if timer.installed != 0 { enqueue(timer) }
  }

  /// The modes will arm anew, for a timer that is not in its callout: until then a timer in its callout that is in
  /// several modes is due in the others. See `__CFArmNextTimerInMode`.
  @inline(__always)
  private func rearm(_ modes: UInt64) {
    if !firing.isEmpty { for timer in firing { timer.unqueued |= timer.installed & modes } }
  }

  /// The timer's date, interval or tolerance was set.
  ///
  /// - Parameter mayBeSooner: Whether its entries in the heaps may be too late now, or in the wrong heap.
  func reschedule(_ timer: Loop.Timer, mayBeSooner: Bool) {
    rearm(timer.installed)
    guard timer.installed != 0, timer.callouts == 0 else { return }
    if mayBeSooner {
      invalidateEntries(of: timer)
    } else {
      // Entries are lower bounds: they are re-seated when they reach the top.
      timer.stamp = nextStamp()
    }
  }

  /// After a fire: the next date of a repeating timer, the end of a one-shot.
  func finishFire(of timer: Loop.Timer, fired: Instant) {
    guard timer.isValid else { return }
    guard timer.schedule.interval > 0 else {
      timer.invalidate()
      return
    }
    timer.moveOn(from: fired, now: wait.now)
    guard timer.installed != 0, timer.callouts == 0 else { return }
    if timer.schedule.effectiveTolerance == 0 {
      enqueue(timer)
    } else {
      // Its entry by hard deadline is still in the heap and must not come alive again.
      invalidateEntries(of: timer)
    }
  }
}
