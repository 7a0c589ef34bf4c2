import Synchronization

/// 7. arm, sleep, collect, where a foreign loop of the thread sleeps for both.
extension LoopCore {
  /// Whether an upper floor has named a foreign loop. A relaxed load.
  @inline(__always)
  var hasForeignLoop: Bool { unsafe foreign.load(ordering: .relaxed) != nil }

  /// That loop.
  var foreignLoop: (any ForeignLoop)? {
    assertOwnThread()
    return unsafe foreign.load(ordering: .acquiring)?._withUnsafeGuaranteedRef { $0.loop }
  }

  /// Waits as `waitForEvents` does, in the foreign loop's wait. Calls out.
  ///
  /// - Returns: False if there is no foreign loop at present.
  @inline(never)
  func waitInForeign(_ frame: RunFrame) -> Bool {
    assertOwnThread()
    guard let foreign = foreignLoop, foreign.isPresent(in: frame.mode.name!) else { return false }
    let polls = frame.turn.polls || wakes.isWoken || isStopped || !frame.ready.isEmpty || isEmpty(frame.mode)
    if polls || !sleep(frame, in: foreign) { poll(frame, in: foreign) }
    // The foreign loop serves the main dispatch queue as well, and leaves the edge that it made.
    if frame.turn.isMainQueueReady && !MainQueue.isReady { frame.turn.isMainQueueReady = false }
    return true
  }

  /// A loop that never sleeps must not starve the other one. Calls out.
  private func poll(_ frame: RunFrame, in foreign: any ForeignLoop) {
    // First, so that the foreign loop does not hear of what this turn is going to serve.
    poll(frame)
    wait(frame, in: foreign, sleeps: false)
    forgetClock()
  }

  private func wait(_ frame: RunFrame, in foreign: any ForeignLoop, sleeps: Bool) {
    if foreign.wait(in: frame.mode.name!, sleeps: sleeps, isTold: !frame.turn.polls) {
      frame.turn.hasHandledSource = true
    }
  }

  /// Calls out: the foreign loop serves its items in the sleep. So the turn goes round, whatever has ended the sleep.
  ///
  /// - Returns: False if there is no sleep to begin.
  private func sleep(_ frame: RunFrame, in foreign: any ForeignLoop) -> Bool {
    updateWatches(frame.mode)
    // A turn that tells of a sleep has had its time by now. What the watches have called may have left nothing to wait for.
    forgetClock()
    guard let plan = planSleep(in: frame.mode, until: frame.run.deadline), !isEmpty(frame.mode), !wakes.isWoken
    else { return false }
    if plan.alarm < plan.deadline && plan.alarm <= now {
      spin(frame, until: plan.deadline)
      return true
    }
    wait(frame, in: foreign, sleeps: true)
    poll(frame)
    frame.turn.hasSlept = true
    let isAtAlarm = plan.alarm < plan.deadline && plan.alarm <= now && now < plan.deadline
    if isAtAlarm { spinPlan.learn(lateness: now.nanoseconds - plan.alarm.nanoseconds) }
    if !endsSleep(frame, plan.deadline), !isAtAlarm, !frame.turn.hasHandledSource { counters.spuriousWakeups.count() }
    return true
  }

  /// A sleep in the mode as it would begin now; nil if its end has come.
  private func planSleep(in mode: ModeState, until limit: Instant) -> Sleep? {
    let deadline = min(limit, nextTimerWake(in: mode))
    guard deadline == .distantFuture || deadline > now else { return nil }
    return Sleep(deadline: deadline, alarm: hasPrecise(in: mode) ? alarm(before: deadline, in: mode) : deadline)
  }

  /// See `Loop.prepareForeignSleep(in:isForRun:isTold:)`. Calls nothing of the user's: the loops' turns do.
  func prepareForeignSleep(in name: Loop.Mode, isForRun: Bool, isTold: Bool) -> ForeignSleepAnswer {
    assertOwnThread()
    forgetClock()
    absorbPosts()
    guard let index = index(of: name), let kernel = wait.kernel else { return .busy }
    let mode = modeState(index)
    guard mode.dirtyDescriptors.isEmpty, mode.carriedDescriptors.isEmpty, mode.signalled.isEmpty,
      !hasBlocks(in: mode), !hasJobs(in: mode), !isForRun || !(wakes.isWoken || isStopped),
      let plan = planSleep(in: mode, until: isForRun ? frames.innermostDeadline : .distantFuture),
      plan.alarm == plan.deadline || plan.alarm > now
    else { return .busy }
    if !isTold, mode.observers.activities.contains(.beforeWaiting) { return .untold }
    // A request to stop is for runs of this loop. The foreign one sleeps for itself, and it is kept for the next.
    let request = isForRun ? [] : wakeup.take(.stopRequest)
    let phase = pulse.snapshot.phase
    let servesMainQueue = servesMainQueue(in: mode)
    guard let sleep = announceSleep(plan, mode, servesMainQueue: servesMainQueue, isOutside: false) else {
      if !request.isEmpty { wakeup.post(request) }
      return .busy
    }
    let epoll = kernel.choose(mode, servesMainQueue: servesMainQueue)
    return .asleep(ForeignSleep(descriptor: epoll, sleep: sleep, request: request, phase: phase))
  }
}
