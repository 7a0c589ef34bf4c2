import Synchronization

/// A guest's run: the turns of `Loop+Run.swift`, cut where they would sleep. Between two calls of its host the loop
/// counts as asleep, and the host sleeps for it.
extension LoopCore {
  /// How many turns begin in one call of the host. A signalled source takes one, and the next goes to sleep; what makes
  /// work for itself without end comes back to the host after two.
  private static let turnsAtATime = 2

  /// Goes on with the run until it would sleep, or the host should have its thread back. Calls out.
  ///
  /// - Returns: Why the run has ended, if it has.
  func serve(_ guest: Guest) -> Loop.RunResult? {
    assertOwnThread()
    let stage = guest.stage
    comeBack(guest)
    var result: Loop.RunResult?
    switch stage {
    case .resting:
      guard beginRun(guest) else {
        let isStopped = !wakeup.take(.stopRequest).isEmpty
        settle(guest)
        return isStopped ? .stopped : .finished
      }
      result = enter(guest.frame, .forever)
    case .asleep:
      guard endSleep(guest) else { return nil }
      result = finishTurn(guest)
    case .awake, .serving, .ended: break
    }
    var turns = 0
    while result == nil {
      guard turns < Self.turnsAtATime else {
        leaveWork(guest)
        return nil
      }
      turns += 1
      if firstHalf(guest.frame) {
        if fallAsleep(guest) { return nil }
        result = finishTurn(guest)
      } else {
        result = orEnding(guest, endTurn(guest.frame))
      }
    }
    endRun(guest, result!)
    return result
  }

  /// The rest of a turn whose wait is over. Calls out.
  private func finishTurn(_ guest: Guest) -> Loop.RunResult? {
    secondHalf(guest.frame, hostWaited: true)
    return orEnding(guest, endTurn(guest.frame))
  }

  private func orEnding(_ guest: Guest, _ result: Loop.RunResult?) -> Loop.RunResult? {
    result ?? (guest.isEnding ? .stopped : nil)
  }

  // MARK: - Runs

  /// - Returns: False if there is nothing to run for.
  private func beginRun(_ guest: Guest) -> Bool {
    // What was posted until now finds no run.
    takePosts()
    applyMail()
    if isEmpty(guest.frame.mode) { return false }
    pushFrame(guest.frame, returnsAfterSourceHandled: false)
    return true
  }

  /// Calls out.
  private func endRun(_ guest: Guest, _ result: Loop.RunResult) {
    leave(guest.frame)
    popFrame(guest.frame)
    if result == .stopped { _ = wakeup.take(.stopRequest) }
    retire()
    // The frame stays this run's.
    _ = unsafe guest.frame.mode.frameForRun()
    settle(guest)
  }

  /// After a run: has the host come back when there is one to begin. Calls out.
  private func settle(_ guest: Guest) {
    if guest.isEnding { return dismiss(guest) }
    while true {
      applyMail()
      takePosts()
      if !isEmpty(guest.frame.mode) || wakeup.has(.stopRequest) { break }
      // In an empty mode nothing is told that a later run would miss.
      if guest.owesPoll { collect(guest) }
      let frame = guest.frame
      guard announce(frame.mode, servesMainQueue: frame.run.servesMainQueue, until: .distantFuture, isOutside: true)
      else { continue }
      return goToHost(guest, .resting)
    }
    wakeup.returnToHostReadable()
    goToHost(guest, .resting)
  }

  // MARK: - The host's sleep

  /// 7. The guest's wait: arms and announces the host's sleep.
  ///
  /// - Returns: False if there is something to do at once, and is collected.
  private func fallAsleep(_ guest: Guest) -> Bool {
    assertOwnThread()
    let frame = guest.frame
    beginWait(frame)
    if !waitsWithoutSleep(frame), !guest.isEnding, goToSleep(guest) { return true }
    endWait(frame)
    return false
  }

  /// - Returns: False if something may be there to do; it has then been collected.
  private func goToSleep(_ guest: Guest) -> Bool {
    while true {
      switch prepareSleep(guest.frame, host: guest) {
      case .again: continue
      case .over: return false
      case .announced(let sleep):
        guest.sleep = sleep
        goToHost(guest, .asleep)
        return true
      }
    }
  }

  /// Collects what is ready. The host may have come for nothing, and goes on sleeping then.
  ///
  /// - Returns: Whether there is something to do.
  private func endSleep(_ guest: Guest) -> Bool {
    collect(guest)
    if !finishSleep(guest.frame, guest.sleep), goToSleep(guest) { return false }
    endWait(guest.frame)
    return true
  }

  /// Asks the kernel, which keeps the descriptor readable until it is asked.
  private func collect(_ guest: Guest) {
    guest.owesPoll = false
    _ = collect(guest.frame, until: .distantPast, blocks: false)
    forgetClock()
  }

  /// The same before a sleep.
  ///
  /// - Returns: Whether a descriptor or the main dispatch queue is ready.
  func collectsAnything(_ guest: Guest) -> Bool {
    collect(guest)
    return !guest.frame.ready.isEmpty || guest.frame.turn.isMainQueueReady
  }

  /// Returns to the host with its descriptor readable.
  private func leaveWork(_ guest: Guest) {
    // A nested run may have waited in another mode.
    wait.choose(guest.frame.mode, servesMainQueue: guest.frame.run.servesMainQueue)
    wakeup.returnToHostReadable()
    goToHost(guest, .awake)
  }

  /// The loop's thread is its host's from now on.
  private func goToHost(_ guest: Guest, _ stage: Guest.Stage) {
    guest.stage = stage
    guest.wakes = wakes
    wakes = WakeMemory()
  }

  private func comeBack(_ guest: Guest) {
    guest.owesPoll = true
    guest.stage = .serving
    // The host has taken time that this thread's clock has not seen.
    forgetClock()
    wakes = guest.wakes
    _ = wakeup.wokeTaking(.outside)
  }

  // MARK: - The loop's thread, at its host

  /// Has the host call if the loop counts as asleep: something was changed, on the loop's own thread.
  @inline(__always)
  func cancelHostSleep() {
    if wakeup.has(.outside) { wakeup.cancelSleep() }
  }

  /// Posts to the run that is in its host, on the loop's own thread. Without one it is as if the loop did not run.
  func postToGuest(_ bits: WakeProtocol.Bits) {
    guard wakeup.has(.outside) else { return }
    guard let guest else { return wakeup.cancelSleep() }  // A simulated loop, which has something to look at.
    if guest.stage != .resting { wakeup.post(bits) }
  }

  /// A guest's loop is run by its host, or in a callout of its own.
  func checkWhoRuns() {
    require(
      guest == nil || guest?.stage == .serving,
      "This loop is embedded: its host runs it by turn(). End the embedding before you run it, or run it in a callout.")
  }

  // MARK: - Beginning and end

  /// Makes the loop a guest in the mode. Nothing is called before the host's first call.
  ///
  /// - Returns: The descriptor to wait by.
  func beginGuest(in mode: ModeState) -> (Guest, CInt) {
    assertOwnThread()
    let guest = unsafe mode.frameForRun()._withUnsafeGuaranteedRef { Guest($0) }
    self.guest = guest
    let descriptor = wait.beginHosting(guest.frame)
    settle(guest)
    return (guest, descriptor)
  }

  /// Ends the run under way, and the loop is no guest any more. Inside of a turn, after that turn. Calls out.
  func endGuest() {
    assertOwnThread()
    guard let guest else { return }
    let stage = guest.stage
    guest.isEnding = true
    if stage == .serving { return }
    comeBack(guest)
    if stage == .resting { return dismiss(guest) }
    endRun(guest, .stopped)
  }

  private func dismiss(_ guest: Guest) {
    assertOwnThread()
    guest.stage = .ended
    guest.frame.mode.runEnded()
    wait.endHosting()
    self.guest = nil
  }
}
