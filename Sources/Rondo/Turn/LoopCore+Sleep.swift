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
    if frame.turn.isQuiet, !has(.foreign) {
      if frame.turn.polls || wakes.isWoken || wakes.isStopped { poll(frame) } else { sleep(frame) }
    } else {
      beginWait(frame)
      if !waitsElsewhere(frame), !waitsWithoutSleep(frame) { sleep(frame) }
    }
    endWait(frame)
  }

  /// Asks the kernel what is ready: the one place where records come from, with the wait that they come from. Nothing is
  /// called out between.
  ///
  /// - Returns: False if no event will ever come.
  @_transparent
  func collect(_ frame: RunFrame, until deadline: Instant, blocks: Bool) -> Bool {
    waitCount &+= 1
    // A nested run's wait makes the enclosing turn's records stale; the count shows that.
    frame.turn.waitsWhenCollected = waitCount
    let carriedCount = frame.ready.count
    if carriedCount > 0 { frame.ready.keep() }
    let isAlive = wait.wait(frame, until: deadline, blocks: blocks)
    if carriedCount > 0 { mergeRepeated(frame, carriedCount) }
    return isAlive
  }

  /// Whether a foreign loop of the thread has waited for both.
  @inline(__always)
  private func waitsElsewhere(_ frame: RunFrame) -> Bool {
    has(.foreign) && !skipsPoll(frame) && waitInForeign(frame)
  }

  /// Calls out, and then begins with what earlier turns have collected and not passed on.
  @inline(__always)
  func beginWait(_ frame: RunFrame) {
    applyMailAndTakePosts()
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
    if frame.turn.isMainQueueReady { agenda.insert(.mainQueue) }
    if agenda.contains(.oneEvent) { oneEvent!.choose(frame, in: self) } else { wakes.waitEnded() }
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
    applyMailAndTakePosts()
  }
}

/// 7. The sleep: one way in and one way out, whatever passes the time in between.
///
/// The kernel, a script, a guest's host and a foreign loop pass the time. `announceSleep` is the last step before it, and
/// `endSleep` the first one after it. Nothing between the two calls out.
extension LoopCore {
  /// Sleeps, and sleeps on if the kernel returned for nothing that concerns this run.
  @inline(__always)
  func sleep(_ frame: RunFrame) {
    while !sleepOnce(frame) {}
  }

  /// - Returns: Whether something that concerns the run has come.
  private func sleepOnce(_ frame: RunFrame) -> Bool {
    switch prepareSleep(frame, host: nil) {
    case .again: return false
    case .over: return true
    case .announced(let sleep):
      frame.turn.isExhausted = !collect(frame, until: sleep.alarm, blocks: true)
      return finishSleep(frame, sleep)
    }
  }

  /// What came of preparing a sleep.
  enum Preparation {
    case announced(Sleep)
    /// Something may be there to do; it has been collected.
    case over
    /// Something has happened that does not concern the run.
    case again
  }

  /// Prepares the sleep of a run: its watches, its deadline, a spin in its place.
  ///
  /// Calls out before the sleep is announced: watches that the kernel refuses, and mail.
  ///
  /// - Parameter host: The guest whose host is to sleep. It does not spin on its host's time.
  @inline(__always)
  func prepareSleep(_ frame: RunFrame, host guest: Guest?) -> Preparation {
    updateWatches(frame.mode)
    let deadline = min(frame.run.deadline, nextTimerWake(in: frame.mode))
    // A refused descriptor may have been the last item, and a task may wait to hear of it.
    guard deadline == .distantFuture || deadline > now, !isEmpty(frame.mode), !wakes.isWoken else {
      poll(frame)
      return .over
    }
    var alarm = deadline
    if let guest {
      if guest.owesPoll, collectsAnything(guest) { return .over }
    } else if has(.spin) || isPosted, let ended = spinBeforeSleep(frame, &alarm) {
      return ended
    }
    let sleep = Sleep(deadline: deadline, alarm: alarm)
    if let sleep = announceSleep(
      sleep, frame.mode, servesMainQueue: frame.run.servesMainQueue, isOutside: guest != nil)
    {
      if sleep.isWatched { reportSleep() }
      return .announced(sleep)
    }
    return takePostsBeforeSleep(frame)
  }

  /// Something has been posted. Calls out.
  @inline(never)
  private func takePostsBeforeSleep(_ frame: RunFrame) -> Preparation {
    applyMailAndTakePosts()
    if !wakes.isWoken, !isStopped { return .again }
    poll(frame)
    return .over
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
    counters.pulse.enter(.waiting)
    counters.sleeps.count()
    var sleep = sleep
    if has(.watchedSleep) {
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
    counters.pulse.enter(phase)
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
    if sleep.isWatched { reportWake(frame, sleep.alarm) }
    frame.turn.hasSlept = true
    let posted = endSleep(sleep, taking: [.mail, .signals, .wake, .stop], .observers)
    if !posted.isEmpty { apply(afterSleep: posted) }
    if frame.turn.isExhausted { return true }
    let isAtAlarm = sleep.alarm < sleep.deadline && learnLateness(sleep.alarm)
    if endsSleep(frame, sleep.deadline) { return true }
    if !isAtAlarm { counters.spuriousWakeups.count() }
    return false
  }

  /// Whether something that concerns the run is there; counts what.
  @inline(__always)
  func endsSleep(_ frame: RunFrame, _ deadline: Instant) -> Bool {
    if frame.ready.isEmpty { return endsSleepUnready(frame, deadline) }
    counters.wakeupsByDescriptor.count()
    return true
  }

  @inline(never)
  private func endsSleepUnready(_ frame: RunFrame, _ deadline: Instant) -> Bool {
    if frame.turn.isMainQueueReady {
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
    let dates = timers.nextDates(in: mode)
    mode.publishFireDate(dates.fire)
    return dates.wake
  }
}
