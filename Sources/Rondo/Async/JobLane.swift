import Synchronization

/// One way for jobs into a loop: those of its actors, or those of tasks that prefer it, in some of its modes.
///
/// An actor's job and a task's are run by different calls of the runtime, and what is enqueued does not tell which it
/// is. So each kind has a lane. Run as the other kind, a task would go through the queue again at each call between
/// functions of the same isolation, because the runtime compares executors by identity.
///
/// Actors' lanes are what `UnownedSerialExecutor` stands for; tasks name the `Loop` or `Loop.Executor` itself.
@safe package final class JobLane: SerialExecutor, @unchecked Sendable {
  // Unchecked because of `core` and `group`, which only the loop's thread touches; other threads reach the core's
  // mailbox, wakeup and `DetachedJobQueue`, which take care of themselves.

  /// *constant*
  let core: LoopCore
  /// *constant*
  private let thread: ThreadRecord
  /// *constant* The jobs that are served in the lane's modes.
  let group: JobGroup
  /// Whether it lives as long as the loop: its jobs need not keep it.
  var isLoopsOwn: Bool { group.isLoopsOwn }
  /// *constant* once set. What tasks call the executor; nil for the lane of actors.
  @safe @exclusivity(unchecked) private(set) var preference: UnownedTaskExecutor?
  /// *constant* once set. What actors call the executor; nil for the lane itself.
  @safe @exclusivity(unchecked) private var identity: UnownedSerialExecutor?
  /// *constant* once set. Who gets the jobs once the loop has ended; nil for threads of the concurrency runtime.
  @safe @exclusivity(unchecked) fileprivate(set) var heir: (@Sendable (UnownedJob) -> Void)?

  init(core: LoopCore, thread: ThreadRecord, group: JobGroup) {
    self.core = core
    self.thread = thread
    self.group = group
  }

  /// Makes it the lane of tasks that prefer `executor`, which owns it.
  func serveTasks(preferring executor: some TaskExecutor) {
    unsafe preference = UnownedTaskExecutor(ordinary: executor)
  }

  /// Makes it the lane of actors whose executor is `executor`, which outlives it.
  func serveActors(of executor: some SerialExecutor) {
    unsafe identity = UnownedSerialExecutor(ordinary: executor)
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    enqueue(UnownedJob(job))
  }

  /// Queues a job for the loop's thread, and wakes it. Any thread. O(1), no allocation once the queues have grown.
  package func enqueue(_ job: UnownedJob) {
    if !thread.isOfThisProcess { ThreadRecord.failAfterFork() }
    if core.hasMailListener { core.reportJob(job) }
    let job = QueuedJob(job, by: self)
    if thread.isCurrent, !core.hasOrphanedJobs {
      // What others enqueued before comes first. Quietly: a task may be made, or resumed, under any lock.
      _ = core.applyMailForLater()
      core.enqueue(job)
      core.wakeFromOwnThread()
      core.relayJobs()
      return
    }
    var relay: JobRelay?
    var owed = WakeProtocol.PostAction.nothing
    let isAccepted = core.mailbox.withLock { state in
      if core.hasOrphanedJobs { return false }
      if core.runningMode.load(ordering: .relaxed) < 0 { relay = core.jobRelay }
      state.mail.jobs.append(job)
      // A poster that finds a job there does not announce its own: the first job's poster has. It does so inside the
      // lock. After that the job may have run and freed its actor, this lane and the loop, unless a write is owed.
      if state.mail.jobs.count == 1 { owed = core.wakeup.announce([.mail, .wake]) }
      return true
    }
    if !isAccepted { core.detachedJobs!.enqueue(job) }
    if owed == .write { core.wakeup.write() }
    relay?()
  }

  /// Runs a job of the lane to its next suspension. Calls out.
  @inline(__always)
  func run(_ job: UnownedJob) {
    if let preference {
      unsafe job.runSynchronously(on: preference)
    } else {
      unsafe job.runSynchronously(on: identity ?? asUnownedSerialExecutor())
    }
  }

  package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    unsafe UnownedSerialExecutor(ordinary: self)
  }

  /// Whether its loop takes what is posted, and timers. Any thread.
  package var isOpen: Bool { core.mailbox.life == .open }

  /// Whether what the calling thread does excludes every job of the loop.
  var isolatesCurrentThread: Bool {
    core.hasOrphanedJobs ? core.detachedJobs!.isServed(byCurrentThreadOf: thread) : thread.isCurrent
  }

  package func isIsolatingCurrentContext() -> Bool? {
    isolatesCurrentThread
  }

  package func checkIsolated() {
    require(
      isolatesCurrentThread,
      "This code belongs on the loop of \(thread). Await a function of its actor, or use loop.perform { }.")
  }

  package func isSameExclusiveExecutionContext(other: JobLane) -> Bool {
    excludes(other)
  }

  /// Whether no job of one runs while a job of the other does.
  func excludes(_ other: JobLane) -> Bool {
    if core === other.core { return true }
    // The loops of one thread, as long as it serves both.
    return thread === other.thread && !core.hasOrphanedJobs && !other.core.hasOrphanedJobs
  }
}

/// The lanes of a loop's actors and of the tasks that prefer it, made when the first of them names the loop.
final class JobLanes {
  /// *constant*
  let actors: JobLane
  /// *constant*
  let tasks: JobLane

  init(of loop: Loop) {
    let group = JobGroup(ModeSet(modes: 0, isCommon: true), isLoopsOwn: true)
    actors = JobLane(core: loop.core, thread: loop.thread, group: group)
    tasks = JobLane(core: loop.core, thread: loop.thread, group: group)
    tasks.serveTasks(preferring: loop)
  }
}

extension Loop {
  /// How jobs of the loop's actors come in.
  package var actorLane: JobLane { unsafe lanes._withUnsafeGuaranteedRef { $0.actors } }

  /// Makes a lane for tasks that prefer `executor`, which keeps it.
  package func makeLane(forTasksOf executor: some TaskExecutor) -> JobLane {
    let lane = JobLane(core: core, thread: thread, group: actorLane.group)
    lane.serveTasks(preferring: executor)
    return lane
  }

  /// Makes the two lanes of a scope of virtual time: for actors of one executor, and for tasks of another. The
  /// caller keeps them as long as the loop.
  ///
  /// - Parameter heir: Gets the actors' jobs once the loop has ended.
  package func makeLanes(
    forActorsOf actors: some SerialExecutor, heir: @escaping @Sendable (UnownedJob) -> Void,
    forTasksOf tasks: some TaskExecutor
  ) -> (actors: JobLane, tasks: JobLane) {
    let lane = JobLane(core: core, thread: thread, group: actorLane.group)
    lane.serveActors(of: actors)
    lane.heir = heir
    return (lane, makeLane(forTasksOf: tasks))
  }

  /// Any thread. They live as long as the loop.
  @inline(__always)
  var lanes: Unmanaged<JobLanes> { unsafe lanesMade.load(ordering: .acquiring) ?? makeLanes() }

  @inline(never)
  private func makeLanes() -> Unmanaged<JobLanes> {
    let made = unsafe Unmanaged.passRetained(JobLanes(of: self))
    let (isFirst, found) = unsafe lanesMade.compareExchange(
      expected: nil, desired: made, ordering: .acquiringAndReleasing)
    if isFirst { return unsafe made }
    unsafe made.release()
    return unsafe found!
  }
}

/// The jobs of a loop that are served in the same modes. *loop thread*
final class JobGroup {
  /// *constant*
  let modes: ModeSet
  /// *constant* Whether it is the one for the common modes, which lives as long as the loop.
  let isLoopsOwn: Bool
  @safe @exclusivity(unchecked) var queue = JobQueue()

  init(_ modes: ModeSet, isLoopsOwn: Bool = false) {
    self.modes = modes
    self.isLoopsOwn = isLoopsOwn
  }
}
