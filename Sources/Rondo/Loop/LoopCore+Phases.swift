import Synchronization

/// The steps of the turn that call out. Each takes one thing at a time, checks it again right before its callout, and
/// holds nothing across it but copies.
extension LoopCore {
  /// 0, 2, 3, 6, 8, 13. Calls out.
  @inline(__always)
  func tellObservers(_ activity: Loop.Activity, _ frame: RunFrame) {
    if frame.mode.activities.contains(activity) { tellObserversPresent(activity, frame) }
  }

  @inline(never)
  private func tellObserversPresent(_ activity: Loop.Activity, _ frame: RunFrame) {
    applyMail()
    pulse.enter(.observers)
    let bit = frame.mode.bit
    for entry in frame.mode.observers where entry.activities.contains(activity) {
      let observer = entry.observer
      // One that is in its callout is skipped by the runs nested in it.
      guard observer.belongs(to: bit), observer.callouts == 0, observer.isValid else { continue }
      counters.observerCallouts.count()
      observer.callouts += 1
      callOutObserver(observer, activity)
      observer.callouts -= 1
      if !observer.repeats { observer.invalidate() }
    }
    // What is due is judged after the observers, who may have taken their time or set a timer to now.
    if activity == .afterWaiting { forgetClock() }
  }

  /// 4, 11. Runs the queued blocks that match the mode; blocks they queue wait for the next drain. Calls out.
  @inline(__always)
  func drainBlocks(_ frame: RunFrame) {
    applyMail()
    if !blocks.isEmpty { runBlocks(frame) }
  }

  @inline(never)
  private func runBlocks(_ frame: RunFrame) {
    pulse.enter(.blocks)
    swap(&frame.blocks, &blocks)
    var unmatched: [Block] = []
    for index in frame.blocks.indices {
      guard frame.blocks[index].runs(in: frame.mode) else {
        unmatched.append(frame.blocks[index])
        continue
      }
      guard let body = frame.blocks[index].body.take(), !discardsBlocks.load(ordering: .relaxed) else { continue }
      counters.blockCallouts.count()
      callOutBlock(body)
    }
    frame.blocks.removeAll(keepingCapacity: true)
    if !unmatched.isEmpty { blocks.insert(contentsOf: unmatched, at: 0) }
  }

  /// 5. Performs the signalled sources of the mode by order, then by time of signal. Calls out.
  @inline(__always)
  func performSignalledSources(_ frame: RunFrame) {
    if unsafe !frame.mode.signalled.isEmpty { performSourcesPresent(frame) }
  }

  @inline(never)
  private func performSourcesPresent(_ frame: RunFrame) {
    pulse.enter(.sources)
    let mode = frame.mode
    if unsafe mode.signalled.count == 1 { return performOnlySource(mode, frame) }
    // What is signalled from here on has its turn in the next turn, so entries that are served or gone leave first.
    unsafe mode.signalled.removeAll { unsafe !staysSignalled($0.takeUnretainedValue(), mode) }
    var attachments = unsafe mode.signalled.map { unsafe $0.takeUnretainedValue() }
    attachments.sort {
      ($0.order, $0.source.signalTicket.load(ordering: .relaxed))
        < ($1.order, $1.source.signalTicket.load(ordering: .relaxed))
    }
    for attachment in attachments {
      perform(standing(attachment), frame)
      if frame.hasHandledSource && frame.returnsAfterSourceHandled { break }
    }
  }

  /// The usual case. Calls out.
  @inline(__always)
  private func performOnlySource(_ mode: ModeState, _ frame: RunFrame) {
    let entry = unsafe mode.signalled[0]
    unsafe entry._withUnsafeGuaranteedRef { attachment in
      if staysSignalled(attachment, mode) {
        perform(attachment, frame)
        // Left alone if it was signalled in its callout, or others were.
        let isAlone = unsafe mode.signalled.count == 1
        if attachment.source.isSignalled || !isAlone || attachment.queued & mode.bit == 0 { return }
        attachment.queued &= ~mode.bit
      }
      unsafe mode.signalled.removeLast()
    }
  }

  /// The attachment itself, or the one that took its place if its source left the loop and came back meanwhile.
  private func standing(_ attachment: SourceAttachment) -> SourceAttachment {
    attachment.installed != 0 ? attachment : attachment.source.attachment(in: loop) ?? attachment
  }

  @inline(__always)
  private func staysSignalled(_ attachment: SourceAttachment, _ mode: ModeState) -> Bool {
    let stays = attachment.source.isSignalled && attachment.installed & mode.bit != 0
    if !stays { attachment.queued &= ~mode.bit }
    return stays
  }

  @inline(__always)
  private func perform(_ attachment: SourceAttachment, _ frame: RunFrame) {
    // Being installed is what keeps the handler: a source that left and was added again has yet to be.
    guard attachment.installed & attachment.modes.load(ordering: .relaxed) & frame.mode.bit != 0,
      attachment.source.isValid, attachment.source.takeSignal()
    else { return }
    counters.sourceCallouts.count()
    attachment.callouts += 1
    frame.isPerformingSource = true
    callOutSource(attachment.source)
    frame.isPerformingSource = false
    attachment.callouts -= 1
    frame.hasHandledSource = true
  }

  /// 9. Fires every timer of the mode whose date had passed when the wait ended. Calls out.
  @inline(__always)
  func fireDueTimers(_ frame: RunFrame) {
    guard frame.servesTimers, !frame.mode.timers.isEmpty else { return }
    let limit = now
    frame.mode.timers.collectDue(limit, in: slots, into: &frame.due)
    if !frame.due.isEmpty { fireCollectedTimers(frame, limit) }
  }

  @inline(never)
  private func fireCollectedTimers(_ frame: RunFrame, _ limit: Instant) {
    pulse.enter(.timers)
    frame.nextDue = 0
    while frame.nextDue < frame.due.count {
      let due = frame.due[frame.nextDue]
      frame.nextDue += 1
      guard let item = unsafe slots.borrowed(due.token) else { continue }
      unsafe item._withUnsafeGuaranteedRef { fire(downcast($0, to: Loop.Timer.self), in: frame.mode, limit) }
    }
    frame.due.removeAll(keepingCapacity: true)
  }

  @inline(__always)
  private func fire(_ timer: Loop.Timer, in mode: ModeState, _ limit: Instant) {
    guard timer.belongs(to: mode.bit), timer.isValid, timer.callouts == 0 else { return }
    let date = timer.schedule.fireDate
    guard date <= limit || date <= wait.now else {
      // Put off by an earlier callout of this turn.
      enqueue(timer)
      return
    }
    counters.timerCallouts.count()
    let missed = timer.missed
    if missed > 0 { counters.missedTicks.count(UInt64(missed)) }
    timer.missed = 0
    let isInSeveralModes = timer.installed & (timer.installed &- 1) != 0
    if isInSeveralModes { firing.append(timer) }
    timer.callouts += 1
    callOutTimer(
      timer, Loop.Timer.Tick(timer: timer, scheduledAt: date, firedAt: max(date, limit), missed: Int(missed)))
    timer.callouts -= 1
    if isInSeveralModes { firing.removeLast() }
    finishFire(of: timer, fired: date)
  }

  /// A nested run of the same mode must find the due timers that enclosing runs have collected and not fired yet.
  ///
  /// They stay collected as well: what the nested run does not fire, the enclosing one does.
  func returnDueTimers(to mode: ModeState) {
    for outer in frames where outer.mode === mode {
      for due in outer.due.dropFirst(outer.nextDue) {
        if let item = slots.item(due.token) { enqueue(downcast(item, to: Loop.Timer.self)) }
      }
    }
  }

  /// 10. Tells the whole ready batch by order, or the first under `returnAfterSourceHandled`. Calls out.
  @inline(__always)
  func tellReadyDescriptors(_ frame: RunFrame) {
    if !frame.ready.isEmpty { tellDescriptorsPresent(frame) }
  }

  @inline(never)
  private func tellDescriptorsPresent(_ frame: RunFrame) {
    pulse.enter(.descriptors)
    if frame.mode.orderedDescriptorCount > 0, frame.ready.count > 1, !servesOneEventPerTurn { sortReady(frame) }
    for index in frame.ready.indices {
      let record = frame.ready[index]
      // A nested run has waited since: level-triggered readiness will be told again, and may be over.
      if waitCount != frame.waitsWhenCollected { return dropReadyDescriptors(frame, from: index) }
      guard let item = unsafe slots.borrowed(record.token) else { continue }
      let isTold = unsafe item._withUnsafeGuaranteedRef {
        tell(downcast($0, to: Loop.DescriptorSource.self), record.readiness, frame)
      }
      if isTold && frame.returnsAfterSourceHandled { return dropReadyDescriptors(frame, from: index + 1) }
    }
  }

  /// - Returns: Whether the source was called.
  @inline(__always)
  private func tell(
    _ source: Loop.DescriptorSource, _ collected: Loop.DescriptorSource.Readiness, _ frame: RunFrame
  ) -> Bool {
    guard source.belongs(to: frame.mode.bit), source.isValid else { return false }
    let readiness = readinessToTell(collected, source)
    guard !readiness.isEmpty else { return false }
    counters.descriptorCallouts.count()
    source.callouts += 1
    callOutDescriptorSource(source, readiness)
    source.callouts -= 1
    frame.hasHandledSource = true
    return true
  }

  /// What of the collected readiness the source asked for.
  @inline(__always)
  private func readinessToTell(
    _ collected: Loop.DescriptorSource.Readiness, _ source: Loop.DescriptorSource
  ) -> Loop.DescriptorSource.Readiness {
    let enabled = source.enabled
    let readiness = collected.intersection(enabled)
    if readiness.isEmpty && enabled == .closed && source.hasHungUp { return .closed }
    return readiness
  }

  /// Leaves collected descriptors for a later turn. The kernel repeats the level-triggered ones by itself.
  func dropReadyDescriptors(_ frame: RunFrame, from start: Int) {
    guard start < frame.ready.count else { return }
    for record in frame.ready[start...] {
      guard let item = slots.item(record.token) else { continue }
      let source = downcast(item, to: Loop.DescriptorSource.self)
      guard source.trigger == .edge || source.enabled == .closed else { continue }
      if source.carried.isEmpty { frame.mode.carriedDescriptors.append(source) }
      source.carried.formUnion(record.readiness)
    }
    frame.ready.removeSubrange(start...)
  }

  private func sortReady(_ frame: RunFrame) {
    let order = { (record: ReadyDescriptor) in self.slots.item(record.token)?.order ?? 0 }
    let sorted = frame.ready.enumerated().sorted { (order($0.element), $0.offset) < (order($1.element), $1.offset) }
    for (place, record) in sorted.enumerated() { frame.ready[place] = record.element }
  }

  /// 11. Runs what the main dispatch queue holds, on the main loop in common modes, outermost. Calls out.
  @inline(__always)
  func serveMainQueue(_ frame: RunFrame) {
    if frame.isMainQueueReady && !isDrainingMainQueue { drainMainQueue(frame) }
  }

  @inline(never)
  private func drainMainQueue(_ frame: RunFrame) {
    // Under returnAfterSourceHandled the first source ends the turn, and the queue is still ready for the next.
    if frame.hasHandledSource && frame.returnsAfterSourceHandled && !frame.ready.isEmpty { return }
    pulse.enter(.mainQueue)
    counters.mainQueueCallouts.count()
    isDrainingMainQueue = true
    callOutMainQueue()
    isDrainingMainQueue = false
    frame.hasHandledSource = true
    frame.justServedMainQueue = true
  }
}
