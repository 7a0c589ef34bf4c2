/// 10. Ready descriptors.
extension LoopCore {
  /// 10. Calls the sources of the whole ready batch by order, or the first alone under `returnAfterSourceHandled`.
  @inline(__always)
  func callReadySources(_ frame: RunFrame) {
    assertOwnThread()
    if !frame.ready.isEmpty { callSourcesPresent(frame) }
  }

  @inline(never)
  private func callSourcesPresent(_ frame: RunFrame) {
    assertOwnThread()
    if frame.turn.keepsDescriptorsBack { return dropReadyDescriptors(frame, from: 0) }
    counters.pulse.enter(.descriptors)
    if frame.run.returnsAfterSourceHandled {
      chooseDescriptor(frame)
    } else if frame.mode.orderedDescriptorCount > 0 {
      frame.ready.sort { (slots.item($0.token)?.order ?? 0, 0) }
    }
    while frame.turn.nextReady < frame.ready.count {
      let index = frame.turn.nextReady
      // A nested run has waited since: the kernel will report level-triggered readiness again, unless it is over.
      if waitCount != frame.turn.waitsWhenCollected { return dropReadyDescriptors(frame, from: index) }
      let record = frame.ready[index]
      frame.turn.nextReady = index + 1
      guard let item = unsafe slots.borrowed(record.token) else { continue }
      let isCalled = unsafe item._withUnsafeGuaranteedRef {
        call(downcast($0, to: Loop.DescriptorSource.self), record.readiness, frame)
      }
      if isCalled && frame.run.returnsAfterSourceHandled { return dropReadyDescriptors(frame, from: index + 1) }
    }
  }

  /// Of equal order, the one that has waited longest comes first: this run calls one alone, and the kernel lists those that
  /// stay ready in the same order each time.
  private func chooseDescriptor(_ frame: RunFrame) {
    if frame.ready.count > 1 {
      frame.ready.sort { record in
        slots.item(record.token).map { ($0.order, slots[record.token].number) } ?? (0, 0)
      }
    }
  }

  /// A nested run of the same mode must find what the kernel reports once, and enclosing runs have not passed on yet.
  func returnReadyDescriptors(to mode: ModeState) {
    assertOwnThread()
    for outer in frames where outer.mode === mode {
      outer.ready.removeAll(from: outer.turn.nextReady, where: isCarried(by: mode))
      // The nested run waits by the same set.
      outer.ready.keep()
    }
  }

  /// Has the mode's next wait begin with a record that the kernel will not repeat by itself.
  private func isCarried(by mode: ModeState) -> (ReadyDescriptor) -> Bool {
    { record in
      guard self.isEdge(record) else { return false }
      mode.carriedDescriptors.append(record)
      return true
    }
  }

  /// Whether the kernel will not repeat it by itself.
  private func isEdge(_ record: ReadyDescriptor) -> Bool {
    guard let item = slots.item(record.token) else { return false }
    let source = downcast(item, to: Loop.DescriptorSource.self)
    return source.trigger == .edge || source.enabled == .closed
  }

  /// - Returns: Whether the source was called.
  @inline(__always)
  private func call(
    _ source: Loop.DescriptorSource, _ collected: Loop.DescriptorSource.Readiness, _ frame: RunFrame
  ) -> Bool {
    assertOwnThread()
    guard source.belongs(to: frame.mode.bit), source.isValid else { return false }
    let readiness = wantedReadiness(collected, source)
    guard !readiness.isEmpty else { return false }
    calloutsToTrust -= 1
    if calloutsToTrust == 0, !verify(source, frame) { return false }
    if frame.run.returnsAfterSourceHandled, let token = slots.token(of: source) { slots[token].number = waitCount }
    counters.descriptorCallouts.count()
    frame.calling = ObjectIdentifier(source)
    if hasDelegate { callOutRecorded(source, readiness) } else { callOutDescriptorSource(source, readiness) }
    frame.calling = nil
    frame.turn.hasHandledSource = true
    return true
  }

  /// Whether the number of a ready source still stands for its file; one that does not ends. Calls out.
  ///
  /// The kernel goes on to report a closed descriptor while a duplicate of it is open, as in a child: a level-triggered
  /// source would be called in every turn from then on. One fstat(2) in so many callouts finds out.
  @inline(never)
  private func verify(_ source: Loop.DescriptorSource, _ frame: RunFrame) -> Bool {
    assertOwnThread()
    calloutsToTrust = Self.calloutsBetweenLooks
    if source.hasItsFile { return true }
    // As in its own callout, the loop keeps it until the turn is over.
    frame.calling = ObjectIdentifier(source)
    source.invalidate(because: .descriptorClosed)
    frame.calling = nil
    return false
  }

  /// A prime, so that sources which are ready in every turn are all looked at, whatever their number. Chosen.
  static let calloutsBetweenLooks = 1_021

  /// What of the collected readiness the source asked for.
  @inline(__always)
  private func wantedReadiness(
    _ collected: Loop.DescriptorSource.Readiness, _ source: Loop.DescriptorSource
  ) -> Loop.DescriptorSource.Readiness {
    assertOwnThread()
    let enabled = source.enabled
    let readiness = collected.intersection(enabled)
    if readiness.isEmpty && enabled == .closed && source.hasHungUp { return .closed }
    return readiness
  }

  /// Leaves collected descriptors for a later turn.
  func dropReadyDescriptors(_ frame: RunFrame, from start: Int) {
    assertOwnThread()
    guard start < frame.ready.count else { return }
    frame.ready.removeAll(from: start, where: isCarried(by: frame.mode))
    frame.ready.removeAll(from: start)
  }
}
