/// The entry points of a run; the run itself is in `Loop+Run.swift`.
extension Loop {
  /// Runs the default mode until it is stopped or empty. The loop's own thread. See CFRunLoopRun.
  @available(*, noasync, message: "Running a loop blocks its thread. Call it from a synchronous function.")
  @discardableResult
  public func run() -> RunResult {
    run(in: .default)
  }

  /// Runs `mode` without a time limit. The loop's own thread.
  @available(*, noasync, message: "Running a loop blocks its thread. Call it from a synchronous function.")
  @discardableResult
  public func run(in mode: Mode, returnAfterSourceHandled: Bool = false) -> RunResult {
    runOnce(in: mode, limit: .forever, returnAfterSourceHandled)
  }

  /// Runs `mode` for `duration`, measured after the entry observers. The loop's own thread.
  ///
  /// Zero or less makes one turn that only polls. The loop checks the time at the end of each turn, and does not
  /// interrupt a handler. See CFRunLoopRunInMode.
  @available(*, noasync, message: "Running a loop blocks its thread. Call it from a synchronous function.")
  @discardableResult
  public func run(
    in mode: Mode = .default, for duration: Duration, returnAfterSourceHandled: Bool = false
  ) -> RunResult {
    runOnce(in: mode, limit: .duration(duration.saturatingNanoseconds), returnAfterSourceHandled)
  }

  /// Runs `mode` until `instant`. The loop's own thread.
  ///
  /// A past instant makes one turn that only polls. The loop checks the time at the end of each turn, and does not
  /// interrupt a handler.
  @available(*, noasync, message: "Running a loop blocks its thread. Call it from a synchronous function.")
  @discardableResult
  public func run(
    in mode: Mode = .default, until instant: SuspendingClock.Instant, returnAfterSourceHandled: Bool = false
  ) -> RunResult {
    runOnce(in: mode, limit: .until(Instant(instant)), returnAfterSourceHandled)
  }

  @inline(__always)
  private func runOnce(in mode: Mode, limit: RunLimit, _ returnAfterSourceHandled: Bool) -> RunResult {
    checkProcess()
    require(
      thread.isCurrent,
      "This loop belongs to \(thread), and only that thread can run it. Use Loop.current, or post with perform { }.")
    require(
      mode == .default || mode != .common, "'.common' stands for the common modes and cannot be run. Run one of them.")
    return core.run(mode, limit: limit, returnsAfterSourceHandled: returnAfterSourceHandled)
  }
}

extension LoopCore {
  /// One run: nothing at all if the mode does not exist or is empty.
  @inline(__always)
  fileprivate func run(_ name: Loop.Mode, limit: RunLimit, returnsAfterSourceHandled: Bool) -> Loop.RunResult {
    assertOwnThread()
    // What was posted until now is meant for the run that is about to be interrupted, if any.
    takePosts()
    // A guest's own thread finds mail whenever it is its host's.
    if applyMail() { checkWhoRuns() }
    guard let index = index(of: name) else {
      if Hint.isOn { loop.hintAtUnknownMode(name) }
      return .finished
    }
    // The loop keeps its modes, and they their frames.
    return unsafe Unmanaged.passUnretained(modeState(index))._withUnsafeGuaranteedRef { mode in
      let waits = waitCount
      if case .duration(let time) = limit, time <= 0, findsNothing(in: mode) { return .timedOut }
      if isEmpty(mode) { return .finished }
      let looks = waitCount &- waits
      return unsafe mode.frameForRun()._withUnsafeGuaranteedRef { frame in
        let result = run(frame, limit: limit, returnsAfterSourceHandled: returnsAfterSourceHandled)
        if looks > 0, waitCount &- waits == looks { carryWhatWasFound(frame) }
        return result
      }
    }
  }

  /// A run that only looks, where nothing waits, and finds nothing: it calls nothing, so it needs no frame.
  ///
  /// What a turn asks step by step is asked at once. If there is anything, the turn is made, and takes what this look has
  /// left for its wait.
  @inline(__always)
  func findsNothing(in mode: ModeState) -> Bool {
    guard looksOnly(in: mode) else { return false }
    waitCount &+= 1
    guard wait.findsNothing(in: mode, servesMainQueue: servesMainQueue(in: mode)), !wakeup.has(.all) else {
      return false
    }
    counters.turns.count()
    counters.polls.count()
    counters.pulse.rest()
    wasStopped = false
    assertInvariants()
    return true
  }

  /// The run was stopped before its wait: of what the look has left for that, the kernel repeats all but edges.
  @inline(never)
  func carryWhatWasFound(_ frame: RunFrame) {
    if wait.kernel == nil { return }
    frame.begin(frame.run)
    _ = collect(frame, until: .distantPast, blocks: false)
    forgetClock()
    if frame.turn.isMainQueueReady { agenda.insert(.mainQueue) }
    dropReadyDescriptors(frame, from: 0)
  }

  /// Whether nothing waits for a turn of the mode but what the kernel may know, and the loop serves it for itself alone.
  @inline(__always)
  private func looksOnly(in mode: ModeState) -> Bool {
    guard depth == 0, isQuiet(mode), mode.agenda.isEmpty, mode.wasRun, !mode.hasOthers,
      !has([.foreign, .delegate, .relay, .guest])
    else {
      return false
    }
    if timers[mode.own].isEmpty { return true }
    forgetClock()
    return !timers[mode.own].mayHaveDue(now)
  }

  /// One run in its frame.
  @inline(__always)
  private func run(_ frame: RunFrame, limit: RunLimit, returnsAfterSourceHandled: Bool) -> Loop.RunResult {
    assertOwnThread()
    let mode = frame.mode
    if depth > 0 {
      returnDueTimers(to: mode)
      returnReadyDescriptors(to: mode)
    }
    pushFrame(frame, returnsAfterSourceHandled: returnsAfterSourceHandled)
    let result = has(.foreign) ? runBesideForeign(frame, until: limit) : runTurns(frame, until: limit)
    popFrame(frame)
    // A turn within a foreign loop's run is no run that a caller asked to stop.
    if depth == foreignTurns {
      if result == .stopped { _ = wakeup.take(.stopRequest) }
      // What left in the exit observers, or with the last mail, need not wait for another run.
      retire()
    } else {
      // A stop that came too late for this run was not meant for the one around it.
      _ = wakeup.take(.stop)
    }
    return result
  }
}

extension Wait {
  /// Looks whether anything is ready in the mode, and leaves it for the next wait. False in virtual time.
  @inline(__always)
  fileprivate func findsNothing(in mode: ModeState, servesMainQueue: Bool) -> Bool {
    switch self {
    case .kernel(let kernel): kernel.findsNothing(in: mode.index, servesMainQueue: servesMainQueue)
    case .scripted: false
    }
  }
}
