import Synchronization

/// What a foreign loop of the same thread asks of this one. The loop's own thread, but for `join`.
extension Loop {
  /// Has the loop sleep in the wait of `foreign` from its next wait on, whenever that is present. Any thread; permanent.
  package func join(_ foreign: any ForeignLoop) {
    let box = unsafe Unmanaged.passRetained(ForeignBox(foreign))
    // The loop's end waits for the lock, and then finds whom to tell.
    let isFirst = mailbox.withLock { _ in
      guard mailbox.life == .open else { return false }
      return unsafe core.foreign.compareExchange(expected: nil, desired: box, ordering: .releasing).exchanged
    }
    core.note(.foreign)
    if !isFirst { unsafe box.release() }
  }

  /// The epoll set that a sleep in `mode` waits by; nil if it has none.
  ///
  /// - Parameter beforeClosing: Hears from now on of each epoll set of the loop that is about to be closed.
  package func waitDescriptor(of mode: Mode, beforeClosing: @escaping (CInt) -> Void) -> CInt? {
    guard let kernel = core.wait.kernel, let index = core.index(of: mode) else { return nil }
    let state = core.modeState(index)
    kernel.beforeClosing = beforeClosing
    return kernel.choose(state.index, servesMainQueue: core.servesMainQueue(in: state))
  }

  /// Arms the timerfd for what `mode` waits for, and says that the loop sleeps: posters ring from here on.
  ///
  /// - Parameters:
  ///   - isForRun: Whether the innermost run sleeps; otherwise the foreign loop runs for itself.
  ///   - isTold: Whether observers have heard of the sleep.
  package func prepareForeignSleep(in mode: Mode, isForRun: Bool, isTold: Bool) -> ForeignSleepAnswer {
    core.prepareForeignSleep(in: mode, isForRun: isForRun, isTold: isTold)
  }

  /// The foreign wait is over. What was posted is the next turn's to apply.
  package func endForeignSleep(_ foreign: ForeignSleep) {
    _ = core.endSleep(foreign.sleep, taking: [], foreign.phase)
    if !foreign.request.isEmpty { wakeup.post(foreign.request) }
  }

  /// One turn of `mode` that only polls, within a run of the foreign loop. A stop is none of its business. Calls out.
  ///
  /// - Parameter tellsOfSleep: Whether observers hear of a sleep, the foreign loop's next one, if the turn serves nothing.
  /// - Returns: Whether anything but observers was called.
  package func serveForeignTurn(in mode: Mode, tellsOfSleep: Bool) -> Bool {
    let callouts = core.counters.callouts
    core.foreignTurns += 1
    let request = wakeup.take(.stopRequest)
    // A run that is given any time at all counts as one that sleeps, and this time has passed before its wait.
    serveOneTurn(in: mode, for: tellsOfSleep ? .nanoseconds(1) : .zero)
    core.foreignTurns -= 1
    if !request.isEmpty { wakeup.post(request) }
    return core.counters.callouts != callouts
  }

  @available(*, noasync)
  private func serveOneTurn(in mode: Mode, for duration: Duration) {
    run(in: mode, for: duration)
  }

  /// Whether nothing is in `mode`, the foreign loop's mode of that name included, and no poster has left mail.
  package func isVacant(_ mode: Mode) -> Bool {
    guard !wakeup.has([.mail, .signals]) else { return false }
    // A mode that the loop has given back has nothing.
    return core.index(of: mode).map { core.isEmpty(core.modeState($0)) } ?? true
  }

  /// Whether a turn that a foreign loop's run gave this loop is under way. The loop's own thread.
  package var isInForeignTurn: Bool { core.foreignTurns > 0 }
}
