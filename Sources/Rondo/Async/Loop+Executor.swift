/// Actors and tasks on the loop's thread.
///
/// An actor whose `unownedExecutor` is the loop's runs there, and so does a task that prefers it. Jobs are served in
/// the common modes, at most 256 at a time, higher priorities first, in order of enqueue within one; a run nested in a
/// job serves none. `loop.executor(in:)` is for other modes. A job's priority counts as it is when it is enqueued: the
/// runtime does not tell an executor that it has escalated the task of a waiting job.
///
/// A loop that is not running serves nothing. When its thread ends, what waits still runs there, and what comes later
/// runs one job at a time on the concurrency runtime's threads.
extension Loop: SerialExecutor, TaskExecutor {
  /// Queues a job of a task that prefers the loop. Any thread.
  ///
  /// The concurrency runtime calls it. O(1), without an allocation once the queues have grown. Costs one epoll_ctl(2)
  /// if the loop sleeps.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    unsafe lanes._withUnsafeGuaranteedRef { $0.tasks.enqueue(job) }
  }

  /// Returns the loop for an actor's `unownedExecutor`. The actor must keep the loop: the reference does not.
  public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    unsafe lanes._withUnsafeGuaranteedRef { unsafe $0.actors.asUnownedSerialExecutor() }
  }

  /// Whether the calling thread is the loop's. Any thread. After the loop's end, whether the thread runs a job of the
  /// loop.
  public func isIsolatingCurrentContext() -> Bool? {
    actorLane.isolatesCurrentThread
  }

  /// Traps unless the calling thread is the loop's. Any thread.
  public func checkIsolated() {
    actorLane.checkIsolated()
  }

  /// Whether jobs of the two loops never run at the same time. True for one loop, and for loops of one thread.
  public func isSameExclusiveExecutionContext(other: Loop) -> Bool {
    actorLane.excludes(other.actorLane)
  }

  /// Makes an executor whose jobs the loop serves in these modes only. Any thread.
  ///
  /// Keep the executor: each call makes another, and a hop from one to the other costs a job, even for the same modes.
  public func executor(in modes: Mode...) -> some SerialExecutor & TaskExecutor {
    Executor(self, modes)
  }

  /// Runs actors and tasks of a loop in some of its modes. It keeps the loop.
  package final class Executor: SerialExecutor, TaskExecutor {
    /// The loop that runs the executor's jobs.
    let loop: Loop
    /// *constant*
    private let actorLane: JobLane
    /// *constant*
    let taskLane: JobLane

    fileprivate init(_ loop: Loop, _ modes: [Mode]) {
      loop.checkProcess()
      require(!modes.isEmpty, "An executor needs a mode to serve its jobs in. Name one, or '.common'.")
      self.loop = loop
      let group = JobGroup(loop.mailbox.withLock { $0.workModes(modes, stays: true) })
      actorLane = JobLane(core: loop.core, thread: loop.thread, group: group)
      taskLane = JobLane(core: loop.core, thread: loop.thread, group: group)
      taskLane.serveTasks(preferring: self)
    }

    /// Queues a job of a task that prefers the executor. Any thread. The concurrency runtime calls it.
    package func enqueue(_ job: consuming ExecutorJob) {
      taskLane.enqueue(UnownedJob(job))
    }

    /// Returns the executor for an actor's `unownedExecutor`. The actor must keep the executor: the reference does not.
    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
      unsafe actorLane.asUnownedSerialExecutor()
    }

    /// Whether the calling thread is the loop's. Any thread. After the loop's end, whether the thread runs a job of the
    /// executor.
    package func isIsolatingCurrentContext() -> Bool? {
      actorLane.isolatesCurrentThread
    }

    /// Traps unless the calling thread is the loop's. Any thread.
    package func checkIsolated() {
      actorLane.checkIsolated()
    }

    /// Whether jobs of the two executors never run at the same time.
    package func isSameExclusiveExecutionContext(other: Executor) -> Bool {
      actorLane.excludes(other.actorLane)
    }
  }
}
