/// What the products above the core need of a loop.
extension Loop {
  /// The object of this type that an upper floor keeps with the loop, made on first use. Any thread.
  ///
  /// The loop lets go of it in the last line of its end, so that whatever its end calls finds it. A loop that has ended
  /// keeps none, but for the main thread's: that one stays, and is asked for by others.
  package func companion<Object: AnyObject>(_ make: () -> Object) -> Object {
    if let found: Object = mailbox.withLock({ $0.companion() }) { return found }
    let made = make()
    return mailbox.withLock { state in
      if let found: Object = state.companion() { return found }
      if mailbox.life != .ended || thread.isMain { state.companions.append(made) }
      return made
    }
  }

  /// Takes one operation from the budget of the job that runs. Any thread.
  ///
  /// - Returns: False if the budget is spent: the task yields before the operation. Nil outside the loop's jobs.
  package func takeOperation() -> Bool? {
    guard isCurrent, core.isServingJob else { return nil }
    core.operationsLeft -= 1
    return core.operationsLeft >= 0
  }

  /// Takes from the budget of the job that runs what an operation cost that moved so many bytes. Any thread.
  @inline(__always)
  package func payForBytes(_ count: Int) {
    // To copy so many takes longer than the call itself.
    if count >= 16_384 { payForOperations(count / 16_384) }
  }

  private func payForOperations(_ count: Int) {
    if isCurrent, core.isServingJob { core.operationsLeft -= count }
  }

  /// Whether the loop has ended with its thread. Any thread.
  package var hasEnded: Bool { mailbox.life == .ended }

  /// The calling thread's loop, made on first use, for a caller that can be told that there are no descriptors for it.
  @available(*, noasync)
  package static func makeCurrent() throws(DescriptorShortage) -> Loop {
    let thread = ThreadRecord.current
    if let loop = thread.virtualLoop { return loop }
    return try thread.makeOwnLoop()
  }

  /// The same for the main thread's, from any thread.
  package static func makeMain() throws(DescriptorShortage) -> Loop {
    try ThreadRecord.main.makeOwnLoop()
  }

  /// Whether a host of this thread runs the loop by an `Embedding`.
  package var isEmbedded: Bool { core.guest != nil }

  /// Whether a host of this thread would have to run the loop: it is embedded, and in none of its callouts.
  package var isLeftToHost: Bool {
    guard let guest = core.guest else { return false }
    return guest.stage != .serving
  }

  /// Makes the mode, if the loop does not know it, and has it stay. The loop's own thread.
  package func makeMode(_ mode: Mode) {
    core.makeRoom(for: mode)
    mailbox.withLock { state in state.modes.pin(1 << UInt64(state.modes.makeIndex(of: mode))) }
  }

  /// Whether a run of `mode` would return at once, because nothing is in it. The loop's own thread.
  package func isFinished(_ mode: Mode) -> Bool {
    core.applyMail()
    guard let index = core.index(of: mode) else { return true }
    return core.isEmpty(core.modeState(index))
  }

  /// Whether an item is in a mode of the loop, or in its common set. Any thread.
  package func holds(_ item: Item) -> Bool {
    guard let seat = item.registration(in: self) else { return false }
    return seat.whileIn(self) { !seat.isUnregistered } ?? false
  }

  /// Reads the loop's clock again, for the phase under way as well. The loop's own thread.
  package func readClock() -> Instant {
    core.forgetClock()
    return core.now
  }

  /// Whether the innermost run never sleeps. The loop's own thread.
  package var isOnlyLooking: Bool { core.frames.innermostDeadline == .distantPast }

  /// Whether the innermost run ends with the turn under way: it was stopped, or returns when a source was handled. The
  /// loop's own thread.
  package var endsAfterCallout: Bool {
    core.isStopped || core.frames.first { _ in true }?.run.returnsAfterSourceHandled ?? false
  }

  /// Whether an item is in the mode that runs. The loop's own thread.
  package func serves(_ item: Item) -> Bool {
    guard let mode = core.frames.innermostMode, let item = item.registration(in: self) else { return false }
    return item.whileIn(self) { item.belongs(to: 1 << UInt64(mode)) } ?? false
  }

  /// Whether a turn that a foreign loop's run gave this loop is under way. The loop's own thread.
  package var isInForeignTurn: Bool { core.foreignTurns > 0 }

  /// How many runs are under way, one nested in the other. The loop's own thread.
  package var depth: Int {
    core.assertOwnThread()
    return core.depth
  }

  /// Whether the run that ended last had been stopped, also where it returned `.handledSource` or `.timedOut`. The
  /// loop's own thread.
  package var hasStoppedLastRun: Bool {
    core.assertOwnThread()
    return core.wasStopped
  }

  /// Whether this is no forked child of the process that made the loop. Any thread.
  package var isOfThisProcess: Bool { thread.isOfThisProcess }

  /// Whether the process that made the loop is the forked child of one that used loops. Any thread.
  package var isOfForkedChild: Bool { thread.generation > 0 }

  /// Whether the loop's thread is the main one, also of a loop in virtual time. Any thread.
  package var isOfMainThread: Bool { thread.isMain }

  /// Tells the calling thread's present loop from every other one that lives; 0 if there is none. Takes no lock.
  package static var identityOfCurrent: UInt {
    UInt(bitPattern: unsafe ThreadRecord.loopAddress)
  }

  /// Whether the loop waits by script.
  package var isVirtual: Bool { core.wait.kernel == nil }
}

extension Loop.Item {
  /// Whether the item belongs to a loop at present. Any thread.
  package final var isInLoop: Bool { loop != nil }

  /// The loop the item is in at present; of a source, its first. Any thread.
  package final var home: Loop? { loop }
}

extension MailboxState {
  fileprivate func companion<Object: AnyObject>() -> Object? {
    for object in companions { if let found = object as? Object { return found } }
    return nil
  }
}

extension Loop.Embedding {
  /// Whether a turn is under way, in one of whose callouts the caller must be. The loop's thread.
  package var isInTurn: Bool { guest.stage == .serving }

  /// Whether it has ended. The loop's thread, or when that is gone.
  package var hasEnded: Bool { guest.stage == .ended }
}
