/// A scope of virtual time on a thread, and the tasks that began in it: `RondoTesting` has it. *its thread*
package protocol VirtualScope: AnyObject {
  /// Whether what the thread does in the scope is the main actor's.
  var hasMainActor: Bool { get }
}

extension Loop {
  /// The scope of virtual time that the calling thread is in.
  package static var scope: (any VirtualScope)? { ThreadRecord.present { $0.scope } }

  /// The loop in virtual time that stands in for the calling thread's own.
  package static var standIn: Loop? { ThreadRecord.standIn }

  /// The main thread's own loop, also in virtual time. Any thread.
  package static var ofMainThread: Loop { ThreadRecord.main.ownLoop }

  /// Has the calling thread in a scope while `body` runs.
  package static func within<Result>(_ scope: any VirtualScope, _ body: () throws -> Result) rethrows -> Result {
    let record = ThreadRecord.current
    let outer = record.scope
    record.scope = scope
    defer { record.scope = outer }
    return try body()
  }
}

/// Whose executors the concurrency runtime has in place of its own. Both set before `main`.
package enum ExecutorsInPlace {
  /// Whether the main actor is the main loop's: RondoMain is in the program.
  nonisolated(unsafe) package static var mainLoopHasMainActor = false
  /// Whether they keep what begins in virtual time there: RondoTesting is in the program.
  nonisolated(unsafe) package static var areOfVirtualTime = false
}
