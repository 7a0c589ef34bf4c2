import Synchronization

/// A sleep: until when, and since when. *loop thread*
struct Sleep {
  /// The run's end or its next timer's date.
  let deadline: Instant
  /// What the timerfd is armed for: the deadline, or a moment before it that leaves the rest to a spin.
  let alarm: Instant
  /// Sleeps are timed, or a delegate may be called.
  var isWatched = false
  /// When the sleep began, if sleeps are timed; `.distantPast` otherwise.
  var start = Instant.distantPast
}

/// 7. arm, sleep, collect.
extension LoopCore {
  /// Sleeps until something happens, or polls, and collects what is ready into the frame.
  ///
  /// Calls out: applying mail does, and watches that are refused, and a foreign loop of the thread. A run nested in that
  /// waits for itself, so readiness is collected, stamped and merged in one step, `collect(_:until:blocks:)`.
  @_transparent
  func waitForEvents(_ frame: RunFrame) {
    beginWait(frame)
    if !waitsElsewhere(frame), !waitsWithoutSleep(frame) { sleep(frame) }
    endWait(frame)
  }

  /// Asks the kernel what is ready: the one place where records come from, with the wait that they come from. Nothing is
  /// called out between.
  @inline(__always)
  func collect(_ frame: RunFrame, until deadline: Instant, blocks: Bool) -> WaitOutcome {
    waitCount &+= 1
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
    hasForeignLoop && !skipsPoll(frame) && waitInForeign(frame)
  }

  /// Calls out, and then begins with what earlier turns have collected and not told.
  @inline(__always)
  func beginWait(_ frame: RunFrame) {
    heedPosts()
    takeCarriedDescriptors(frame)
  }

  /// Whether the wait is no sleep, and is over.
  @inline(__always)
  func waitsWithoutSleep(_ frame: RunFrame) -> Bool {
    if skipsPoll(frame) {
      forgetClock()
    } else if frame.turn.polls || wakes.isWoken || wakes.isStopped || !frame.ready.isEmpty || isEmpty(frame.mode) {
      poll(frame)
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
  /// wakeup with a signalled source costs one wait, not two. CFRunLoop polls.
  @inline(__always)
  private func skipsPoll(_ frame: RunFrame) -> Bool {
    frame.turn.followsSleep && frame.turn.hasHandledSource && frame.ready.isEmpty && !frame.run.isInstant
  }

  @inline(never)
  func poll(_ frame: RunFrame) {
    updateWatches(frame.mode)
    counters.polls.count()
    _ = collect(frame, until: .distantPast, blocks: false)
    forgetClock()
    heedPosts()
  }

  /// Sleeps, and sleeps on if the kernel returned for nothing that concerns this run.
  private func sleep(_ frame: RunFrame) {
    while let sleep = prepareSleep(frame, host: nil) {
      frame.turn.isExhausted = collect(frame, until: sleep.alarm, blocks: true) == .exhausted
      if finishSleep(frame, sleep) { return }
    }
  }

  /// Asks the kernel for what descriptor sources want now, once for all their changes since the last wait. Calls out:
  /// sources that the kernel refuses end. Nothing is called out after the last look at what has changed.
  @inline(__always)
  func updateWatches(_ mode: ModeState) {
    if !mode.dirtyDescriptors.isEmpty || wait.mustPrepare(mode) { updateWatchesPresent(mode) }
  }

  @inline(never)
  private func updateWatchesPresent(_ mode: ModeState) {
    while true {
      for token in mode.dirtyDescriptors.takeAll() { updateWatch(token, in: mode) }
      guard let kernel = wait.kernel else { return }
      kernel.prepare(mode)
      let rejected = kernel.takeRejected()
      if rejected.isEmpty { return }
      for each in rejected {
        each.source.invalidate(because: each.reason)
        // Another thread may have invalidated it, its mail still unread. Left in, it would be rejected again and again.
        release(each.source)
      }
    }
  }

  private func updateWatch(_ token: Token, in mode: ModeState) {
    guard let item = slots.item(token) else { return }
    let source = downcast(item, to: Loop.DescriptorSource.self)
    slots[token].pending &= ~mode.bit
    guard slots[token].installed & mode.bit != 0, source.isValid else { return }
    wait.watch(source, token, in: mode, slots)
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

  /// Carried readiness that the kernel has reported again is told once.
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

/// 7. The sleep: one way in and one way out, whatever passes the time in between.
///
/// The kernel, a script, a guest's host and a foreign loop pass the time. `announceSleep` is the last step before it, and
/// `endSleep` the first one after it. Nothing between the two calls out.
extension LoopCore {
  /// Prepares the sleep of a run: its watches, its deadline, a spin in its place.
  ///
  /// Calls out before the sleep is announced: watches that the kernel refuses, and mail.
  ///
  /// - Parameter host: The guest whose host is to sleep. It does not spin on its host's time.
  /// - Returns: Nil if something may be there to do; it has then been collected.
  @inline(__always)
  func prepareSleep(_ frame: RunFrame, host guest: Guest?) -> Sleep? {
    while true {
      updateWatches(frame.mode)
      let deadline = min(frame.run.deadline, nextTimerWake(in: frame.mode))
      // A refused descriptor may have been the last item, and a task may wait to hear of it.
      guard deadline == .distantFuture || deadline > now, !isEmpty(frame.mode), !wakes.isWoken else {
        poll(frame)
        return nil
      }
      var alarm = deadline
      if let guest {
        if guest.owesPoll, collectsAnything(guest) { return nil }
      } else {
        if hasPrecise(in: frame.mode) {
          alarm = self.alarm(before: deadline, in: frame.mode)
          if alarm < deadline && alarm <= now {
            spin(frame, until: deadline)
            if endsSleep(frame, deadline) { return nil }
            counters.spuriousWakeups.count()
            continue
          }
        }
        if busyPollAllowance.load(ordering: .relaxed) > 0, spinForWakeup(frame, until: alarm, deadline) { return nil }
      }
      let sleep = Sleep(deadline: deadline, alarm: alarm)
      if let sleep = announceSleep(
        sleep, frame.mode, servesMainQueue: frame.run.servesMainQueue, isOutside: guest != nil)
      {
        if sleep.isWatched { tellSleep() }
        return sleep
      }
      heedPosts()
      if wakes.isWoken || isStopped {
        poll(frame)
        return nil
      }
    }
  }

  /// Announces a sleep to posters, which wake the loop from here on, and arms for its end.
  ///
  /// The order loses nothing. The epoll set is chosen before posters may write. The timerfd is armed last, so that no poll
  /// takes the edge of its date.
  ///
  /// - Returns: Nil if something has been posted.
  @inline(__always)
  func announceSleep(_ sleep: Sleep, _ mode: ModeState, servesMainQueue: Bool, isOutside: Bool) -> Sleep? {
    guard announce(mode, servesMainQueue: servesMainQueue, until: sleep.alarm, isOutside: isOutside) else { return nil }
    pulse.enter(.waiting)
    counters.sleeps.count()
    var sleep = sleep
    if counters.watchesSleep.load(ordering: .relaxed) {
      sleep.isWatched = true
      sleep.start = counters.timesSleep.load(ordering: .relaxed) ? wait.now : .distantPast
    }
    return sleep
  }

  /// The same outside of runs, where it is no sleep that is counted.
  @inline(__always)
  func announce(_ mode: ModeState, servesMainQueue: Bool, until alarm: Instant, isOutside: Bool) -> Bool {
    assertOwnThread()
    wait.choose(mode, servesMainQueue: servesMainQueue)
    guard wakeup.prepareToSleep(isOutside: isOutside) == .sleep else { return false }
    wait.arm(alarm)
    return true
  }

  /// The loop's thread is back: takes the announcement back, and `bits` of what was posted.
  @inline(__always)
  func endSleep(_ sleep: Sleep, taking bits: WakeProtocol.Bits, _ phase: Loop.Heartbeat.Phase) -> WakeProtocol.Bits {
    pulse.enter(phase)
    forgetClock()
    if sleep.isWatched { countSleep(since: sleep.start) }
    return wakeup.wokeTaking(bits)
  }

  @inline(never)
  private func countSleep(since start: Instant) {
    guard start != .distantPast else { return }
    counters.nanosecondsAsleep.count(UInt64(max(0, wait.now.nanoseconds - start.nanoseconds)))
  }

  /// Finishes the sleep of a run, after what is ready has been collected. Calls out: applies mail.
  ///
  /// Transparent because the optimizer makes a function of it otherwise: twenty instructions a sleep.
  ///
  /// - Returns: Whether something that concerns the run has ended the sleep; otherwise the run sleeps on.
  @_transparent
  func finishSleep(_ frame: RunFrame, _ sleep: Sleep) -> Bool {
    if sleep.isWatched { tellWake(frame, sleep.alarm) }
    frame.turn.hasSlept = true
    apply(afterSleep: endSleep(sleep, taking: [.mail, .signals, .wake, .stop], .observers))
    if frame.turn.isExhausted { return true }
    let isAtAlarm = sleep.alarm < sleep.deadline && sleep.alarm <= now
    if isAtAlarm { spinPlan.learn(lateness: now.nanoseconds - sleep.alarm.nanoseconds) }
    if endsSleep(frame, sleep.deadline) { return true }
    if !isAtAlarm { counters.spuriousWakeups.count() }
    return false
  }

  /// Whether something that concerns the run is there; counts what.
  @inline(__always)
  func endsSleep(_ frame: RunFrame, _ deadline: Instant) -> Bool {
    if !frame.ready.isEmpty {
      counters.wakeupsByDescriptor.count()
    } else if frame.turn.isMainQueueReady {
      counters.wakeupsByMainQueue.count()
    } else if wakes.isWoken || isStopped {
      counters.wakeupsByPost.count()
    } else if deadline != .distantFuture, deadline <= now {
      if deadline == frame.run.deadline { counters.wakeupsByTimeout.count() } else { counters.wakeupsByTimer.count() }
    } else {
      return false
    }
    return true
  }

  /// When a timer of the mode needs the loop awake. Publishes the fire date, for other threads to read.
  @inline(__always)
  func nextTimerWake(in mode: ModeState) -> Instant {
    let dates = nextDates(in: mode)
    mode.publishFireDate(dates.fire)
    return dates.wake
  }
}
