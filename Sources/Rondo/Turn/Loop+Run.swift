// THE HEART: a run is entry, turns, exit. The numbers are the documentation's (HowALoopRuns).

extension LoopCore {
  /// One run in one mode. Calls out.
  func runTurns(_ frame: RunFrame, until limit: RunLimit) -> Loop.RunResult {
    assertOwnThread()
    var result = enter(frame, limit)
    while result == nil {
      if approachWait(frame) { passWait(frame, isOver: false) }
      result = endTurn(frame)
    }
    leave(frame)
    return result!
  }

  // A guest's run, in `LoopCore+Guest.swift`, has the same parts: between the first half of a turn and the second it
  // returns to its host.

  /// The beginning of a run. Calls out.
  ///
  /// - Returns: Why it is over, if it is over without a turn.
  @inline(__always)
  func enter(_ frame: RunFrame, _ limit: RunLimit) -> Loop.RunResult? {
    tellObservers(.entry, frame)  // 0 entry observers
    startClock(frame, limit)
    // A stop in an entry observer, or one requested before the run, ends it without a turn.
    absorbPosts()
    return isStopped ? .stopped : nil
  }

  /// A turn up to its wait. Calls out.
  ///
  /// - Returns: Whether there is something to wait for.
  @inline(__always)
  func approachWait(_ frame: RunFrame) -> Bool {
    beginTurn(frame)
    applyMail()  // 1 apply mail
    tellObservers(.beforeTimers, frame)  // 2
    tellObservers(.beforeSources, frame)  // 3
    serveWork(frame)  // 4 blocks, jobs
    performSignalledSources(frame)  // 5 signalled sources
    if frame.turn.hasHandledSource { drainBlocks(frame) }
    if isEmpty(frame.mode) { return false }
    decideWhetherToPoll(frame)
    if !frame.turn.polls { tellObservers(.beforeWaiting, frame) }  // 6
    return true
  }

  /// A turn's wait, and what comes of it. Calls out.
  ///
  /// `@inline(__always)` does not suffice: the optimizer still makes a function of it, at twenty instructions a turn.
  ///
  /// - Parameter isOver: The wait was a host's.
  @_transparent
  func passWait(_ frame: RunFrame, isOver: Bool) {
    if !isOver { waitForEvents(frame) }  // 7 arm, sleep, collect
    if !frame.turn.polls { tellObservers(.afterWaiting, frame) }  // 8
    fireDueTimers(frame)  // 9 due timers
    tellReadyDescriptors(frame)  // 10 ready descriptors
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
    tellObservers(.exit, frame)  // 13 exit observers
  }

  /// The run's time begins when its entry observers have been told.
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
    absorbPosts()
    wakes.beginTurn()
    frame.beginTurn()
  }

  /// A turn that handled something does not sleep, and neither does one that was given no time, or one that finds jobs
  /// or the main queue waiting. The queue is asked only where observers could tell the difference, and where its work is owed.
  @inline(__always)
  private func decideWhetherToPoll(_ frame: RunFrame) {
    frame.turn.polls = frame.turn.hasHandledSource || frame.run.isInstant || mayHaveWork && hasJobs(in: frame.mode)
    guard frame.run.servesMainQueue else { return }
    let isWatched = !frame.mode.observers.activities.isDisjoint(with: [.beforeWaiting, .afterWaiting])
    let wasOwed = owesMainQueue
    if wasOwed || (!frame.turn.followsMainQueue && (isWatched || servesOneEventPerTurn)) {
      owesMainQueue = MainQueue.isReady
      if owesMainQueue {
        frame.turn.isMainQueueReady = true
        frame.turn.polls = true
        frame.turn.keepsDescriptorsBack = wasOwed && frame.run.returnsAfterSourceHandled
      }
    }
  }

  /// 12. decide: why the run is over, or nil for another turn.
  @inline(__always)
  private func decide(_ frame: RunFrame) -> Loop.RunResult? {
    wakes.keep()
    absorbPosts()
    let run = frame.run
    if frame.turn.hasHandledSource && run.returnsAfterSourceHandled { return .handledSource }
    if run.isInstant || (run.deadline != .distantFuture && run.deadline <= wait.now) { return .timedOut }
    if isStopped || frame.turn.isExhausted { return .stopped }
    applyMail()
    return isEmpty(frame.mode) ? .finished : nil
  }
}
