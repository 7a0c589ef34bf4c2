import Synchronization

/// 7. arm, sleep, collect, where a foreign loop of the thread sleeps for both.
extension LoopCore {
  /// The foreign loop, if an upper floor has named one.
  @inline(__always)
  var foreignLoop: (any ForeignLoop)? {
    assertOwnThread()
    return hasForeign.load(ordering: .relaxed) ? namedForeignLoop : nil
  }

  @inline(never)
  private var namedForeignLoop: (any ForeignLoop)? {
    assertOwnThread()
    if foreign == nil {
      foreign = mailbox.withLock { $0.foreign }
      wait.tellWhenClosing(foreign)
    }
    return foreign
  }

  /// Waits as `waitForEvents` does, in the foreign loop's wait. Calls out.
  ///
  /// - Returns: False if there is no foreign loop at present.
  @inline(never)
  func waitInForeign(_ frame: RunFrame) -> Bool {
    assertOwnThread()
    guard let foreign = foreignLoop, foreign.isPresent(in: frame.mode.name!) else { return false }
    let polls = frame.turn.polls || wakes.isWoken || isStopped || !frame.ready.isEmpty || isEmpty(frame.mode)
    if !polls { updateWatches(frame.mode) }
    if depth == announcementDepth, !frame.turn.polls { foreignSleepNews = .told }
    let deadline = polls ? Instant.distantPast : min(frame.run.deadline, nextTimerWake(in: frame.mode))
    // What the watches have called may have left nothing to wait for.
    if deadline != .distantFuture && deadline <= now || isEmpty(frame.mode) || wakes.isWoken {
      look(frame, in: foreign)
    } else {
      sleep(frame, in: foreign, until: deadline)
    }
    dropServedMainQueue(frame)
    return true
  }

  /// A loop that never sleeps must not starve the other one. Calls out.
  private func look(_ frame: RunFrame, in foreign: any ForeignLoop) {
    assertOwnThread()
    // First, so that the foreign loop does not hear of what this turn is going to serve.
    look(frame)
    if foreign.look(in: frame.mode.name!) { frame.turn.hasHandledSource = true }
    forgetClock()
  }

  /// Calls out: the foreign loop serves its items in the sleep. So the turn goes round, whatever has ended the sleep.
  private func sleep(_ frame: RunFrame, in foreign: any ForeignLoop, until deadline: Instant) {
    assertOwnThread()
    let alarm = hasPrecise(in: frame.mode) ? alarm(before: deadline, in: frame.mode) : deadline
    if alarm < deadline && alarm <= now { return spin(frame, until: deadline) }
    if foreign.sleep(in: frame.mode.name!) { frame.turn.hasHandledSource = true }
    look(frame)
    frame.turn.hasSlept = true
    let isAtAlarm = alarm < deadline && alarm <= now && now < deadline
    if isAtAlarm { spinPlan.learn(lateness: now.nanoseconds - alarm.nanoseconds) }
    if !endsSleep(frame, deadline), !isAtAlarm, !frame.turn.hasHandledSource { counters.spuriousWakeups.count() }
  }

  /// Whether the run never sleeps.
  ///
  /// A turn that stands for a foreign loop's sleep does not, either, but is told as one that does.
  @inline(__always)
  func isNonblocking(_ frame: RunFrame) -> Bool {
    assertOwnThread()
    return frame.run.isInstant && depth != announcementDepth
  }

  /// The foreign loop serves the main dispatch queue as well, and leaves the edge that it made.
  private func dropServedMainQueue(_ frame: RunFrame) {
    assertOwnThread()
    if frame.turn.isMainQueueReady && !MainQueue.isReady { frame.turn.isMainQueueReady = false }
  }

  /// See `Loop.prepareForeignSleep(in:isForRun:)`. Calls nothing of the user's: the loops' turns do.
  func prepareForeignSleep(in name: Loop.Mode, isForRun: Bool) -> CInt? {
    assertOwnThread()
    forgetClock()
    absorbPosts()
    guard let index = index(of: name), let kernel = wait.kernel else { return nil }
    let mode = modeState(index)
    guard mode.dirtyDescriptors.isEmpty, mode.carriedDescriptors.isEmpty, mode.signalled.isEmpty,
      !hasBlocks(in: mode), !hasJobs(in: mode), !isForRun || !(wakes.isWoken || isStopped)
    else { return nil }
    let limit = isForRun ? frames.innermostDeadline : .distantFuture
    let deadline = min(limit, nextTimerWake(in: mode))
    guard deadline == .distantFuture || deadline > now else { return nil }
    let alarm = hasPrecise(in: mode) ? alarm(before: deadline, in: mode) : deadline
    guard alarm == deadline || alarm > now else { return nil }
    if !isForRun, foreignSleepNews != .told, mode.observers.activities.contains(.beforeWaiting) {
      foreignSleepNews = .due
      return nil
    }
    // A request to stop is for runs of this loop. The foreign one sleeps for itself, and it is kept for the next.
    let request = isForRun ? [] : wakeup.take(.stopRequest)
    let phase = pulse.snapshot.phase
    let sleep = announceSleep(
      Sleep(deadline: deadline, alarm: alarm), mode, servesMainQueue: servesMainQueue(in: mode), isOutside: false)
    guard let sleep else {
      if !request.isEmpty { wakeup.post(request) }
      return nil
    }
    foreignSleep = ForeignSleep(sleep: sleep, request: request, phase: phase)
    return kernel.choose(mode, servesMainQueue: servesMainQueue(in: mode))
  }

  /// See `Loop.endForeignSleep()`. What was posted is the next turn's to apply.
  func endForeignSleep() {
    assertOwnThread()
    guard let foreign = foreignSleep.take() else { return }
    _ = endSleep(foreign.sleep, taking: [], foreign.phase)
    foreignSleepNews = .none
    if !foreign.request.isEmpty { wakeup.post(foreign.request) }
  }

  /// The loop ends: the foreign one is on its own.
  func leaveForeign() {
    assertOwnThread()
    let foreign = foreignLoop
    mailbox.withLock { $0.foreign = nil }
    hasForeign.store(false, ordering: .relaxed)
    self.foreign = nil
    wait.tellWhenClosing(nil)
    foreign?.end()
  }
}

/// What observers know of the sleep that a foreign loop is about to begin for itself.
enum ForeignSleepNews {
  case none
  /// Nothing else keeps it from sleeping. Its next turn for this loop stands for the sleep.
  case due
  case told
}

/// A sleep in a foreign loop's wait: what it interrupted.
struct ForeignSleep {
  let sleep: Sleep
  /// What was posted for later runs.
  let request: WakeProtocol.Bits
  let phase: Loop.Heartbeat.Phase
}
