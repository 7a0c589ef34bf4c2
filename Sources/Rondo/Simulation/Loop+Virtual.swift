import Synchronization

/// Loops in virtual time, for `RondoTesting`.
extension Loop {
  /// A loop that waits by script, of the calling thread or of a new one.
  ///
  /// - Parameter onWake: Ends a sleep, also one that `sleepsOutside()` has begun. Any thread, under any lock of the caller's.
  package static func makeVirtual(
    _ script: any WaitScript, of thread: NewThread? = nil, onWake: @escaping @Sendable () -> Void = {}
  ) -> Loop {
    let wait = ScriptedWait(script)
    let loop = Loop(thread?.record ?? .current, isMain: false, Wakeup(descriptor: -1, onWake: onWake), .scripted(wait))
    wait.core = loop.core
    return loop
  }

  /// Has `loop` stand in for the thread's own while `body` runs; its items are invalidated afterwards.
  package static func withVirtual<Result>(_ loop: Loop, _ body: () throws -> Result) rethrows -> Result {
    try standingIn(loop) {
      defer { loop.tearDown() }
      return try body()
    }
  }

  /// The same, for a loop that goes on afterwards.
  package static func standingIn<Result>(_ loop: Loop, _ body: () throws -> Result) rethrows -> Result {
    let record = ThreadRecord.current
    let outer = record.standIn(loop)
    defer { _ = record.standIn(outer) }
    return try body()
  }

  /// Ends a loop that waits by script, and invalidates its items.
  package func endVirtual() { tearDown() }

  /// Counts the loop as asleep after a run: its `onWake` is called at the first post, or change by its own thread.
  ///
  /// - Returns: False if something has been posted.
  package func sleepsOutside() -> Bool { core.wakeup.prepareToSleep(isOutside: true) == .sleep }

  /// Ends that sleep: the loop's thread is about to run it, or code of it.
  package func returnFromOutside() { _ = core.wakeup.wokeTaking(.outside) }

  /// Has its `onWake` called for every post of another thread that would end a sleep, also while it is awake.
  package func overhear() { _ = core.wakeup.post(.overheard) }

  /// How often the loop has called out, but for observers, which come with every turn.
  package var callouts: UInt64 { core.counters.callouts }

  /// How often it has called observers.
  package var observerCallouts: UInt64 { core.counters.observerCallouts.load(ordering: .relaxed) }

  /// Whether there is something that was posted to it, and that it has not looked at.
  package var isPostedTo: Bool { core.wakeup.has([.mail, .signals, .wake, .stop]) }

  /// Whether jobs wait that a run in the mode would serve. The loop's thread.
  package func hasJobs(in mode: Mode) -> Bool {
    guard let index = mailbox.withLock({ $0.modes.index(of: mode) }) else { return false }
    return core.hasJobs(in: core.modeState(index))
  }

  /// Whether the loop waits by script.
  package var isVirtual: Bool { core.wait.kernel == nil }
}
