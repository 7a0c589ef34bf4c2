/// Loops in virtual time, for `RondoTesting`.
extension Loop {
  /// A loop of the calling thread that waits by script.
  package static func makeVirtual(_ script: any WaitScript) -> Loop {
    let wait = ScriptedWait(script)
    let loop = Loop(ThreadRecord.current, isMain: false, Wakeup(descriptor: -1), .scripted(wait))
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

  /// Whether there is something that was posted to it, and that it has not looked at.
  package var isPostedTo: Bool { core.wakeup.has([.mail, .signals, .wake, .stop]) }

  /// Whether the loop waits by script.
  package var isVirtual: Bool { core.wait.kernel == nil }
}
