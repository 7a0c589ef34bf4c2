import CLinux
import Synchronization

/// 7. arm, sleep, collect, where a foreign loop of the thread sleeps for both.
extension LoopCore {
  /// The foreign loop that an upper floor has named.
  var foreignLoop: (any ForeignLoop)? { foreignBox?.loop }

  private var foreignBox: ForeignBox? {
    assertOwnThread()
    return unsafe foreign.load(ordering: .acquiring)?._withUnsafeGuaranteedRef { $0 }
  }

  /// Waits as `waitForEvents` does, for both loops. Calls out.
  ///
  /// This loop is asked first, so that the foreign one does not hear of what this turn is going to serve. That one is
  /// entered for a sleep, and now and then while there is none.
  ///
  /// - Returns: False if there is no foreign loop at present.
  @inline(never)
  func waitInForeign(_ frame: RunFrame) -> Bool {
    assertOwnThread()
    guard let box = foreignBox, box.isKnownPresent || box.loop.isPresent(in: frame.mode.name!) else { return false }
    box.isKnownPresent = true
    if !frame.turn.polls { box.loop.sleepWasAnnounced() }
    let polls = frame.turn.polls || wakes.isWoken || isStopped || !frame.ready.isEmpty || isEmpty(frame.mode)
    if polls {
      poll(frame)
      serveNowAndThen(frame, box)
    } else {
      sleep(frame, box)
    }
    // The foreign loop serves the main dispatch queue as well, and leaves the edge that it made.
    if frame.turn.isMainQueueReady && !MainQueue.isReady { frame.turn.isMainQueueReady = false }
    return true
  }

  /// A run, within one of the foreign loop's if it may sleep. Calls out.
  @inline(never)
  func runBesideForeign(_ frame: RunFrame, until limit: RunLimit) -> Loop.RunResult {
    guard let box = foreignBox else { return runTurns(frame, until: limit) }
    // The answer is one run's: another may be in a mode that the foreign loop does not sleep in.
    box.isKnownPresent = false
    defer { box.isKnownPresent = false }
    if case .duration(let time) = limit, time <= 0 { return runTurns(frame, until: limit) }
    var result: Loop.RunResult?
    guard box.loop.enclose({ result = runTurns(frame, until: limit) }), let result else {
      return runTurns(frame, until: limit)
    }
    return result
  }

  /// Enters the foreign loop if it has not been for a while: a loop that never sleeps must not starve the other one.
  /// Calls out.
  private func serveNowAndThen(_ frame: RunFrame, _ box: ForeignBox) {
    if box.isDue(at: now) { wait(frame, in: box, sleeps: false) }
  }

  private func wait(_ frame: RunFrame, in box: ForeignBox, sleeps: Bool) {
    if box.loop.wait(in: frame.mode.name!, sleeps: sleeps) {
      frame.turn.hasHandledSource = true
    }
    forgetClock()
    box.wasServed(at: now)
  }

  /// Sleeps in the foreign loop's wait, unless something of this loop's is ready. Calls out: the foreign loop serves its
  /// items in the sleep. So the turn goes round, whatever has ended the sleep.
  private func sleep(_ frame: RunFrame, _ box: ForeignBox) {
    let hasLooked = box.looksFirst
    if hasLooked {
      poll(frame)
    } else {
      updateWatches(frame.mode)
      forgetClock()
    }
    // What the watches and the mail have called may have left nothing to wait for.
    guard let plan = planSleep(in: frame.mode, until: frame.run.deadline), !wakes.isWoken, !isStopped,
      !isEmpty(frame.mode)
    else {
      if !hasLooked { poll(frame) }
      return serveNowAndThen(frame, box)
    }
    box.looksFirst = !frame.ready.isEmpty || frame.turn.isMainQueueReady
    if box.looksFirst {
      counters.sleeps.count()
      frame.turn.hasSlept = true
      _ = endsSleep(frame, plan.deadline)
      return serveNowAndThen(frame, box)
    }
    if plan.alarm < plan.deadline && plan.alarm <= now { return spin(frame, until: plan.deadline) }
    let start = now
    if !box.isBusy || !sleepsBeside(frame, box.loop) { wait(frame, in: box, sleeps: true) }
    poll(frame)
    box.slept(now.nanoseconds - start.nanoseconds)
    frame.turn.hasSlept = true
    let isAtAlarm = plan.alarm < plan.deadline && plan.alarm <= now && now < plan.deadline
    if isAtAlarm { spinner.plan.learn(lateness: now.nanoseconds - plan.alarm.nanoseconds) }
    if !endsSleep(frame, plan.deadline), !isAtAlarm, !frame.turn.hasHandledSource { counters.spuriousWakeups.count() }
  }

  /// Sleeps for a moment outside of the foreign loop's wait, if that loop has nothing. Nothing is called out.
  ///
  /// - Returns: False if the sleep is to go on in that wait: the foreign loop may have something, or this one is not busy, and
  ///   what the foreign loop keeps for a sleep is due.
  private func sleepsBeside(_ frame: RunFrame, _ foreign: any ForeignLoop) -> Bool {
    let name = frame.mode.name!
    guard let other = foreign.descriptor(of: name) else { return false }
    guard case .asleep(let sleep) = prepareForeignSleep(in: name, isForRun: true, isTold: true) else { return true }
    let isForThis = rondo_sleep_for_either(sleep.descriptor, other, ForeignBox.mostMilliseconds) != 0
    _ = endSleep(sleep.sleep, taking: [], sleep.phase)
    return isForThis
  }

  /// A sleep in the mode as it would begin now; nil if its end has come.
  private func planSleep(in mode: ModeState, until limit: Instant) -> Sleep? {
    let deadline = min(limit, nextTimerWake(in: mode))
    guard deadline == .distantFuture || deadline > now else { return nil }
    return Sleep(deadline: deadline, alarm: timers.hasPrecise(in: mode) ? alarm(before: deadline, in: mode) : deadline)
  }

  /// See `Loop.prepareForeignSleep(in:isForRun:isTold:)`. Calls nothing of the user's: the loops' turns do.
  func prepareForeignSleep(in name: Loop.Mode, isForRun: Bool, isTold: Bool) -> ForeignSleepAnswer {
    assertOwnThread()
    forgetClock()
    takePosts()
    guard let index = index(of: name), let kernel = wait.kernel else { return .busy }
    let mode = modeState(index)
    guard mode.agenda.isDisjoint(with: [.dirty, .carried, .signalled]),
      !hasBlocks(in: mode), !hasJobs(in: mode), !isForRun || !(wakes.isWoken || isStopped),
      let plan = planSleep(in: mode, until: isForRun ? frames.innermostDeadline : .distantFuture),
      plan.alarm == plan.deadline || plan.alarm > now
    else { return .busy }
    if !isTold, mode.observers.activities.contains(.beforeWaiting) { return .untold }
    // A request to stop is for runs of this loop. The foreign one sleeps for itself, and it is kept for the next.
    let request = isForRun ? [] : wakeup.take(.stopRequest)
    let phase = counters.pulse.snapshot.phase
    let servesMainQueue = servesMainQueue(in: mode)
    guard let sleep = announceSleep(plan, mode, servesMainQueue: servesMainQueue, isOutside: false) else {
      if !request.isEmpty { wakeup.post(request) }
      return .busy
    }
    let epoll = kernel.choose(mode.index, servesMainQueue: servesMainQueue)
    return .asleep(ForeignSleep(descriptor: epoll, sleep: sleep, request: request, phase: phase))
  }
}
