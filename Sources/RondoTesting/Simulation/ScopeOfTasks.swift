internal import Rondo

/// Where the tasks of one scope of virtual time run that prefer no loop, and the main actor's. *the scope's threads*
///
/// A task stays with the loop on which it began. What begins where no loop stands in, as in a simulation's action, goes to
/// the loop that stood in last.
final class ScopeOfTasks: VirtualScope {
  /// The thread that has it; nil for the one that the scope began on.
  let thread: StartedThread?
  weak let simulation: Simulation?
  private let tasks: TaskHomes

  /// The scope of the calling thread, which begins.
  init(of simulation: Simulation? = nil) {
    thread = nil
    self.simulation = simulation
    tasks = TaskHomes(hasMainActor: Loop.scope?.hasMainActor ?? ScopeExecutors.haveMainActor)
  }

  /// The same scope for a thread that code in it has started.
  init(of thread: StartedThread, in scope: ScopeOfTasks) {
    (self.thread, simulation, tasks) = (thread, scope.simulation, scope.tasks)
  }

  /// The scope of the calling thread.
  static var current: ScopeOfTasks? { Loop.scope as? ScopeOfTasks }

  /// Whether the main actor is in virtual time.
  var reachesMainActor: Bool { tasks.hasMainActor }
  var hasMainActor: Bool { thread == nil && tasks.hasMainActor }
  var mainLoop: Loop? { thread?.host.loop }
  var processorCount: Int? { simulation == nil ? nil : Host.processorCount }

  /// The host whose code the calling thread runs; nil for code of the test.
  var host: Host? { thread?.host ?? simulation?.present }

  func makeThread(named name: String) -> (any VirtualThread)? { host?.makeThread(named: name, in: self) }

  func wait(until condition: () -> Bool) { simulation?.wait(until: condition) }

  /// Waits until it is the calling thread's turn.
  ///
  /// - Returns: The thread, if code in the scope has started it.
  @discardableResult
  func takeTurn() -> StartedThread? {
    if let thread { thread.takeTurn() } else { simulation?.takeTurn() }
    return thread
  }

  /// The lanes for a job that is enqueued on a thread of the scope; nil if nothing of the scope can run it.
  func lanes(for job: UnownedJob) -> ScopeLanes? {
    takeTurn()
    return tasks.home(of: job).flatMap(ScopeLanes.of)
  }

  /// The lane for a job of the main actor.
  func mainLane(for job: UnownedJob) -> JobLane? {
    takeTurn()
    guard let home = tasks.home(of: job) else { return nil }
    return ScopeLanes.of(simulation?.mainLoop(of: home) ?? home)?.main
  }
}

/// On which loop each task of a scope began. *the scope's threads, one at a time*
private final class TaskHomes {
  let hasMainActor: Bool
  /// By the place of a task in memory, which another one takes when it has ended.
  @safe @exclusivity(unchecked) private var homes: [UInt: Home] = [:]
  @safe @exclusivity(unchecked) private var last: Loop?

  private struct Home {
    let number: UInt32
    let loop: Loop
  }

  init(hasMainActor: Bool) { self.hasMainActor = hasMainActor }

  func home(of job: UnownedJob) -> Loop? {
    if let standIn = Loop.standIn { last = standIn }
    guard let last else { return nil }
    // A job of the runtime's own, such as one that ends a sleep, is where it was enqueued: it is over when it has run.
    guard let number = RuntimeInsides.number(of: job) else { return last }
    let place = RuntimeInsides.place(of: job)
    if let home = homes[place], home.number == number { return home.loop }
    homes[place] = Home(number: number, loop: last)
    return last
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
