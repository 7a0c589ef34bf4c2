import Synchronization

/// 7. arm, sleep, collect.
extension LoopCore {
  /// Sleeps until something happens, or looks, and collects what is ready into the frame.
  ///
  /// Calls out: applying mail does, and watches that are refused, and a foreign loop of the thread. A run nested in that
  /// waits for itself, so readiness is collected, stamped and merged in one step, `collect(_:until:blocks:)`.
  func waitForEvents(_ frame: RunFrame) {
    beginWait(frame)
    if !waitsElsewhere(frame), !waitsWithoutSleep(frame) { sleep(frame) }
    endWait(frame)
  }

  /// Asks the kernel what is ready: the one place where records come from, with the wait that they come from. Nothing is
  /// called out between.
  @inline(__always)
  func collect(_ frame: RunFrame, until deadline: Instant, blocks: Bool) -> WaitOutcome {
    waitCount += 1
    // A nested run's wait makes the enclosing turn's records stale; the count tells.
    frame.turn.waitsWhenCollected = waitCount
    let carriedCount = frame.ready.count
    let outcome = wait.wait(frame, until: deadline, blocks: blocks)
    if carriedCount > 0 { mergeRepeated(frame, carriedCount) }
    return outcome
  }

  /// Whether a foreign loop of the thread has waited for both.
  @inline(__always)
  private func waitsElsewhere(_ frame: RunFrame) -> Bool {
    hasForeign.load(ordering: .relaxed) && !skipsLooking(frame) && waitInForeign(frame)
  }

  /// Calls out, and then begins with what earlier turns have collected and not told.
  @inline(__always)
  func beginWait(_ frame: RunFrame) {
    applyMail()
    absorbPosts()
    takeCarriedDescriptors(frame)
  }

  /// Whether the wait is no sleep, and is over.
  @inline(__always)
  func waitsWithoutSleep(_ frame: RunFrame) -> Bool {
    if skipsLooking(frame) {
      forgetClock()
    } else if frame.turn.polls || wakes.isWoken || wakes.isStopped || !frame.ready.isEmpty || isEmpty(frame.mode) {
      look(frame)
    } else {
      return false
    }
    return true
  }

  @inline(__always)
  func endWait(_ frame: RunFrame) {
    if frame.turn.isMainQueueReady { owesMainQueue = true }
    if let oneEvent { oneEvent.choose(frame, in: self) } else { wakes.spend() }
  }

  /// A turn that follows a sleep and handled what woke it need not ask the kernel again: the next turn will. So a
  /// wakeup with a signalled source costs one wait, not two. CFRunLoop looks.
  @inline(__always)
  private func skipsLooking(_ frame: RunFrame) -> Bool {
    frame.turn.followsSleep && frame.turn.hasHandledSource && frame.ready.isEmpty && !frame.run.isInstant
  }

  func look(_ frame: RunFrame) {
    updateWatches(frame.mode)
    counters.polls.count()
    _ = collect(frame, until: .distantPast, blocks: false)
    forgetClock()
    applyMail()
    absorbPosts()
  }

  /// Sleeps, and sleeps on if the kernel returned for nothing that concerns this run.
  private func sleep(_ frame: RunFrame) {
    while let sleep = prepareSleep(frame, host: nil) {
      frame.turn.isExhausted = collect(frame, until: sleep.alarm, blocks: true) == .exhausted
      if finishSleep(frame, sleep) { return }
    }
  }

  /// Asks the kernel for what descriptor sources want now, once for all their changes since the last wait.
  @inline(__always)
  func updateWatches(_ mode: ModeState) {
    if !mode.dirtyDescriptors.isEmpty { updateDirtyWatches(mode) }
    wait.mend(mode)
  }

  private func updateDirtyWatches(_ mode: ModeState) {
    // Invalidation of a refused source changes the list, so it is taken first.
    for token in mode.dirtyDescriptors.takeAll() {
      guard let item = slots.item(token) else { continue }
      let source = downcast(item, to: Loop.DescriptorSource.self)
      slots[token].pending &= ~mode.bit
      guard slots[token].installed & mode.bit != 0, source.isValid else { continue }
      wait.watch(source, token, in: mode, slots)
    }
  }

  /// Edge-triggered readiness that an earlier turn collected and did not tell comes first.
  @inline(__always)
  private func takeCarriedDescriptors(_ frame: RunFrame) {
    if frame.mode.carriedDescriptors.isEmpty { return }
    for record in frame.mode.carriedDescriptors {
      guard slots.holds(record.token), slots[record.token].installed & frame.mode.bit != 0 else { continue }
      frame.ready.append(record)
    }
    frame.mode.carriedDescriptors.empty()
  }

  /// Carried readiness that the kernel has reported anew is told once.
  private func mergeRepeated(_ frame: RunFrame, _ carriedCount: Int) {
    for index in 0..<carriedCount {
      let token = frame.ready[index].token
      var readiness = frame.ready[index].readiness
      frame.ready.removeAll(from: carriedCount) { repeated in
        guard repeated.token == token else { return false }
        readiness.formUnion(repeated.readiness)
        return true
      }
      frame.ready[index].readiness = readiness
    }
  }
}
