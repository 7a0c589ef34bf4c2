import Synchronization

/// What a foreign loop of the same thread asks of this one. The loop's own thread, but for `join`.
extension Loop {
  /// Has the loop sleep in the wait of `foreign` from its next wait on, whenever that is present. Any thread.
  package func join(_ foreign: any ForeignLoop) {
    mailbox.withLock { state in
      if mailbox.life == .open { state.foreign = foreign }
    }
    core.hasForeign.store(true, ordering: .relaxed)
  }

  /// Arms the timerfd for what `mode` waits for, and says that the loop sleeps: posters ring from here on.
  ///
  /// - Parameter isForRun: Whether the innermost run sleeps; otherwise the foreign loop runs for itself.
  /// - Returns: The epoll set to wait for; nil if there is something to do first.
  package func prepareForeignSleep(in mode: Mode, isForRun: Bool) -> CInt? {
    core.prepareForeignSleep(in: mode, isForRun: isForRun)
  }

  /// The foreign wait is over. After each `prepareForeignSleep` that returned an epoll set.
  package func endForeignSleep() {
    core.endForeignSleep()
  }

  /// One turn of `mode` that only looks, within a run of the foreign loop. A stop is none of its business. Calls out.
  ///
  /// If nothing but observers kept the foreign loop from sleeping, they are told of its sleep.
  ///
  /// - Returns: Whether anything but observers was called.
  package func serveForeignTurn(in mode: Mode) -> Bool {
    let callouts = core.counters.callouts
    let outer = core.announcementDepth
    core.announcementDepth = core.foreignSleepNews == .due ? core.depth + 1 : -1
    core.foreignTurns += 1
    let request = wakeup.take(.stopRequest)
    serveOneTurn(in: mode)
    core.foreignTurns -= 1
    core.announcementDepth = outer
    if !request.isEmpty { wakeup.post(request) }
    return core.counters.callouts != callouts
  }

  @available(*, noasync)
  private func serveOneTurn(in mode: Mode) {
    run(in: mode, for: .zero)
  }

  /// The epoll set that a sleep in `mode` waits by; nil if it has none.
  package func waitDescriptor(of mode: Mode) -> CInt? {
    guard let kernel = core.wait.kernel, let index = core.index(of: mode) else { return nil }
    let state = core.modeState(index)
    return kernel.choose(state, servesMainQueue: core.servesMainQueue(in: state))
  }

  /// Whether nothing is in `mode`, the foreign loop's mode of that name included, and no poster has left mail.
  package func isVacant(_ mode: Mode) -> Bool {
    guard !wakeup.has([.mail, .signals]), let index = core.index(of: mode) else { return false }
    return core.isEmpty(core.modeState(index))
  }

  /// Makes the mode, if this loop does not know it.
  package func makeMode(_ mode: Mode) {
    core.makeRoom(for: mode)
    mailbox.withLock { state in state.modes.pin(1 << UInt64(state.modes.makeIndex(of: mode))) }
  }

  /// Whether a host of this thread runs the loop by an `Embedding`.
  package var isEmbedded: Bool { core.guest != nil }

  /// Whether this is no forked child of the process that made the loop. Any thread.
  package var isOfThisProcess: Bool { thread.isOfThisProcess }

  /// Whether the process that made the loop is the forked child of one that used loops. Any thread.
  package var isOfForkedChild: Bool { thread.generation > 0 }
}
