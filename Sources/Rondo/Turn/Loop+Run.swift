// THE HEART: a run is entry, turns, exit. The numbers are the documentation's (HowALoopRuns).

extension LoopCore {
  /// One run in one mode. Calls out.
  func runTurns(_ frame: RunFrame, until limit: RunLimit) -> Loop.RunResult {
    assertOwnThread()
    var result = enter(frame, limit)
    while result == nil {
      if firstHalf(frame) { secondHalf(frame, hostWaited: false) }
      result = endTurn(frame)
    }
    leave(frame)
    return result!
  }

  // A guest's run, in `LoopCore+Guest.swift`, has the same parts: between the first half of a turn and the second it
  // returns to its host. They are transparent because the optimizer makes functions of them otherwise, which cost twenty
  // instructions a turn each.

  /// The beginning of a run. Calls out.
  ///
  /// - Returns: Why it is over, if it is over without a turn.
  @inline(__always)
  func enter(_ frame: RunFrame, _ limit: RunLimit) -> Loop.RunResult? {
    callObservers(.entry, frame)  // 0 entry observers
    startClock(frame, limit)
    // A stop in an entry observer, or one requested before the run, ends it without a turn.
    takePosts()
    return isStopped ? .stopped : nil
  }

  /// A turn up to its wait. Calls out.
  ///
  /// - Returns: Whether there is something to wait for.
  @_transparent
  func firstHalf(_ frame: RunFrame) -> Bool {
    beginTurn(frame)
    if isQuiet(frame.mode) {
      frame.turn.isQuiet = true
      frame.turn.polls = frame.run.isInstant
      return true
    }
    applyMail()  // 1 apply mail
    callObservers(.beforeTimers, frame)  // 2
    callObservers(.beforeSources, frame)  // 3
    serveWork(frame)  // 4 blocks, jobs
    performSignalledSources(frame)  // 5 signalled sources
    if frame.turn.hasHandledSource { drainBlocks(frame) }
    if isEmpty(frame.mode) { return false }
    decideWhetherToPoll(frame)
    if !frame.turn.polls { callObservers(.beforeWaiting, frame) }  // 6
    return true
  }

  /// A turn's wait, and what comes of it. Calls out.
  ///
  /// - Parameter hostWaited: The wait was a host's.
  @_transparent
  func secondHalf(_ frame: RunFrame, hostWaited: Bool) {
    if !hostWaited { waitForEvents(frame) }  // 7 arm, sleep, collect
    if !frame.turn.polls { callObservers(.afterWaiting, frame) }  // 8
    fireDueTimers(frame)  // 9 due timers
    callReadySources(frame)  // 10 ready descriptors
    serveMainQueue(frame)  // 11 main dispatch queue, blocks, jobs
    serveWork(frame)
  }

  /// The end of a turn.
  ///
  /// - Returns: Why the run is over; nil for another turn.
  @inline(__always)
  func endTurn(_ frame: RunFrame) -> Loop.RunResult? {
    retire()  // 12 retire; decide
    let result = decide(frame)
    assertInvariants()
    return result
  }

  /// The end of a run. Calls out.
  @inline(__always)
  func leave(_ frame: RunFrame) {
    callObservers(.exit, frame)  // 13 exit observers
  }

  /// The run's time begins after its entry observers.
  @inline(__always)
  private func startClock(_ frame: RunFrame, _ limit: RunLimit) {
    forgetClock()
    switch limit {
    case .forever: break
    // One turn that only polls needs no clock.
    case .duration(let nanoseconds): frame.run.deadline = nanoseconds > 0 ? now.advanced(by: nanoseconds) : .distantPast
    case .until(let instant): frame.run.deadline = instant > now ? instant : .distantPast
    }
  }

  @inline(__always)
  private func beginTurn(_ frame: RunFrame) {
    counters.turns.count()
    takePosts()
    wakes.beginTurn()
    frame.beginTurn()
  }

  /// A turn that handled something does not sleep, and neither does one that was given no time, or one that finds jobs
  /// or the main queue waiting. The queue is asked, one poll(2), only if an observer would see a sleep, or if work is left from the last turn.
  @inline(__always)
  private func decideWhetherToPoll(_ frame: RunFrame) {
    frame.turn.polls =
      frame.turn.hasHandledSource || frame.run.isInstant || agenda.contains(.work) && hasJobs(in: frame.mode)
    guard frame.run.servesMainQueue else { return }
    let isWatched = !frame.mode.observers.activities.isDisjoint(with: [.beforeWaiting, .afterWaiting])
    let wasOwed = agenda.contains(.mainQueue)
    if wasOwed || (!frame.turn.followsMainQueue && (isWatched || servesOneEventPerTurn)) {
      let isReady = MainQueue.isReady
      agenda.note(.mainQueue, isReady)
      if isReady {
        frame.turn.isMainQueueReady = true
        frame.turn.polls = true
        frame.turn.keepsDescriptorsBack = wasOwed && frame.run.returnsAfterSourceHandled
      }
    }
  }

  /// 12. decide: why the run is over, or nil for another turn.
  @inline(__always)
  private func decide(_ frame: RunFrame) -> Loop.RunResult? {
    wakes.carryOver()
    takePosts()
    let run = frame.run
    if frame.turn.hasHandledSource && run.returnsAfterSourceHandled { return .handledSource }
    if run.deadline != .distantFuture && (run.isInstant || run.deadline <= wait.now) { return .timedOut }
    if isStopped || frame.turn.isExhausted { return .stopped }
    applyMail()
    return isEmpty(frame.mode) ? .finished : nil
  }
}
