/// A scope of virtual time as one of its threads has it: `RondoTesting` makes it. *that thread*
package protocol VirtualScope: AnyObject {
  /// Whether what the thread does in the scope is the main actor's.
  var hasMainActor: Bool { get }
  /// The main loop of the simulated process whose thread it is; nil for a thread that is a simulated process's main one.
  var mainLoop: Loop? { get }
  /// How many processors the simulated machine has; nil outside of simulations.
  var processorCount: Int? { get }

  /// Has the simulated process start a thread; nil if the thread is to run in real time.
  func makeThread(named name: String) -> (any VirtualThread)?

  /// Returns when `condition` is true, as other threads of the process make it.
  func wait(until condition: () -> Bool)
}

/// A thread of a simulated process: real, but running only when the simulation has it run.
package protocol VirtualThread: AnyObject, Sendable {
  /// Makes the thread's loop, before it starts.
  func makeLoop(of thread: NewThread) -> Loop

  /// The thread is about to start.
  ///
  /// - Parameter end: Has it end without its blocks. Any thread.
  func begin(end: @escaping @Sendable () -> Void)

  /// Runs all that the thread does. The thread itself.
  func run(_ life: () -> Void)

  /// Whether all of that has been done, or the thread could not be started. Any thread.
  var hasEnded: Bool { get }

  /// The system has no thread for it.
  func forgo()
}

/// A thread that is yet to start, for the one who makes its loop.
package struct NewThread {
  let record: ThreadRecord
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
