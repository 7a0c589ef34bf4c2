import Synchronization

/// 7. arm, sleep, collect.
extension LoopCore {
  /// Sleeps until something happens, or looks, and collects what is ready into the frame. No user code runs.
  func waitForEvents(_ frame: RunFrame) {
    frame.ready.empty()
    applyMail()
    absorbPosts()
    takeCarriedDescriptors(frame)
    let carriedCount = frame.ready.count
    if skipsLooking(frame) {
      forgetClock()
    } else if frame.turn.polls || wakes.isWoken || wakes.isStopped || !frame.ready.isEmpty || isEmpty(frame.mode) {
      look(frame)
    } else {
      sleep(frame)
    }
    if frame.turn.isMainQueueReady { owesMainQueue = true }
    if carriedCount > 0 { mergeRepeated(frame, carriedCount) }
    // A nested run's wait makes the enclosing turn's records stale; the count tells.
    frame.turn.waitsWhenCollected = waitCount
    if let oneEvent { oneEvent.choose(frame, in: self) } else { wakes.spend() }
  }

  /// A turn that follows a sleep and handled what woke it need not ask the kernel again: the next turn will. So a
  /// wakeup with a signalled source costs one wait, not two. CFRunLoop looks.
  @inline(__always)
  private func skipsLooking(_ frame: RunFrame) -> Bool {
    frame.turn.followsSleep && frame.turn.hasHandledSource && frame.ready.isEmpty && !frame.run.isInstant
  }

  private func look(_ frame: RunFrame) {
    updateWatches(frame.mode)
    counters.polls.count()
    waitCount += 1
    _ = wait.wait(frame, until: .distantPast, blocks: false)
    forgetClock()
    applyMail()
    absorbPosts()
  }

  /// Sleeps, and sleeps on if the kernel returned for nothing that concerns this run.
  private func sleep(_ frame: RunFrame) {
    while true {
      updateWatches(frame.mode)
      let deadline = min(frame.run.deadline, nextTimerWake(in: frame.mode))
      // A refused descriptor may have been the last item, and a task may wait to hear of it.
      guard deadline == .distantFuture || deadline > now, !isEmpty(frame.mode), !wakes.isWoken else {
        return look(frame)
      }
      let alarm = frame.mode.timers.hasPrecise ? alarm(before: deadline, in: frame.mode) : deadline
      if alarm < deadline && alarm <= now {
        spin(frame, until: deadline)
        if noteWakeReason(frame, deadline) { return }
        continue
      }
      wait.choose(frame)
      switch wakeup.prepareToSleep() {
      case .stayAwake:
        applyMail()
        absorbPosts()
        if wakes.isWoken || isStopped { return look(frame) }
        continue
      case .sleep:
        break
      }
      let before = counters.timesSleep.load(ordering: .relaxed) ? wait.now : nil
      pulse.enter(.waiting)
      counters.sleeps.count()
      waitCount += 1
      let outcome = wait.wait(frame, until: alarm, blocks: true)
      frame.turn.hasSlept = true
      pulse.enter(.observers)
      forgetClock()
      if let before { counters.nanosecondsAsleep.count(UInt64(max(0, now.nanoseconds - before.nanoseconds))) }
      absorbAfterSleep()
      if outcome == .exhausted {
        frame.turn.isExhausted = true
        return
      }
      if alarm < deadline && alarm <= now { spinPlan.learn(lateness: now.nanoseconds - alarm.nanoseconds) }
      if noteWakeReason(frame, deadline, isExpected: alarm < deadline && alarm <= now) { return }
    }
  }

  /// When a timer of the mode needs the loop awake; other threads may ask for its date meanwhile.
  @inline(__always)
  private func nextTimerWake(in mode: ModeState) -> Instant {
    let dates = nextDates(in: mode)
    mode.publishFireDate(dates.fire)
    return dates.wake
  }

  /// When queued timers and timeouts of the mode next concern the loop.
  @inline(__always)
  func nextDates(in mode: ModeState) -> TimerDates {
    let dates = mode.timers.nextDates(in: slots)
    return hasTimeouts(in: mode) ? .earlier(dates, nextTimeoutDates(in: mode)) : dates
  }

  /// Counts what ended the sleep; false if nothing did.
  ///
  /// - Parameter isExpected: The sleep ended by plan, before the deadline.
  private func noteWakeReason(_ frame: RunFrame, _ deadline: Instant, isExpected: Bool = false) -> Bool {
    if !frame.ready.isEmpty {
      counters.wakeupsByDescriptor.count()
    } else if frame.turn.isMainQueueReady {
      counters.wakeupsByMainQueue.count()
    } else if wakes.isWoken || isStopped {
      counters.wakeupsByPost.count()
    } else if deadline != .distantFuture, deadline <= now {
      if deadline == frame.run.deadline { counters.wakeupsByTimeout.count() } else { counters.wakeupsByTimer.count() }
    } else {
      if !isExpected { counters.spuriousWakeups.count() }
      return false
    }
    return true
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
    frame.mode.carriedDescriptors.removeAll(keepingCapacity: true)
  }

  /// Carried readiness that the kernel has reported anew is told once.
  private func mergeRepeated(_ frame: RunFrame, _ carriedCount: Int) {
    for index in 0..<carriedCount {
      let token = frame.ready[index].token
      guard let repeated = frame.ready[carriedCount...].firstIndex(where: { $0.token == token }) else { continue }
      frame.ready[index].readiness.formUnion(frame.ready[repeated].readiness)
      frame.ready.remove(at: repeated)
    }
  }
}
