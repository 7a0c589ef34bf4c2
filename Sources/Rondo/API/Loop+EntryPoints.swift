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
    absorbPosts()
    // A guest's own thread finds mail whenever it is its host's.
    if applyMail() { checkWhoRuns() }
    guard let index = index(of: name) else {
      if Hint.isOn { loop.hintAtUnknownMode(name) }
      return .finished
    }
    // The loop keeps its modes, and they their frames.
    return unsafe Unmanaged.passUnretained(modeState(index))._withUnsafeGuaranteedRef { mode in
      if isEmpty(mode) { return .finished }
      return unsafe mode.frameForRun()._withUnsafeGuaranteedRef {
        run($0, limit: limit, returnsAfterSourceHandled: returnsAfterSourceHandled)
      }
    }
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
    let result = runTurns(frame, until: limit)
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
