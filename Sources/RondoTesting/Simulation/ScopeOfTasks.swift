internal import Rondo

/// Where the tasks of one scope of virtual time run that prefer no loop, and the main actor's. *the scope's thread*
///
/// A task stays with the loop on which it began. What begins where no loop stands in, as in a simulation's action, goes to
/// the loop that stood in last.
final class ScopeOfTasks: VirtualScope {
  let hasMainActor: Bool
  /// By the place of a task in memory, which another one takes when it has ended.
  private var homes: [UInt: Home] = [:]
  private var last: Loop?

  private struct Home {
    let number: UInt32
    let loop: Loop
  }

  init() { hasMainActor = Loop.scope?.hasMainActor ?? ScopeExecutors.haveMainActor }

  /// The scope of the calling thread.
  static var current: ScopeOfTasks? { Loop.scope as? ScopeOfTasks }

  /// The lanes for a job that is enqueued on the scope's thread; nil if nothing of the scope can run it.
  func lanes(for job: UnownedJob) -> ScopeLanes? {
    if let standIn = Loop.standIn { last = standIn }
    guard let last else { return nil }
    // A job of the runtime's own, such as one that ends a sleep, is where it was enqueued: it is over when it has run.
    guard let number = RuntimeInsides.number(of: job) else { return ScopeLanes.of(last) }
    let place = RuntimeInsides.place(of: job)
    if let home = homes[place], home.number == number { return ScopeLanes.of(home.loop) }
    homes[place] = Home(number: number, loop: last)
    return ScopeLanes.of(last)
  }
}

/// How jobs that prefer no loop, and the main actor's, come into a loop in virtual time. It goes with the loop.
final class ScopeLanes: Sendable {
  let main: JobLane
  let others: JobLane

  private init(_ lanes: (actors: JobLane, tasks: JobLane)) { (main, others) = lanes }

  /// - Returns: Nil if the loop has ended: other threads run its jobs.
  static func of(_ loop: Loop) -> ScopeLanes? {
    loop.hasOrphanedJobs ? nil : loop.companion { ScopeLanes(ScopeExecutors.lanes(of: loop)) }
  }
}
