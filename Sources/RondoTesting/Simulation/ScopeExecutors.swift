internal import Rondo

#if compiler(>=6.3) && compiler(<6.4) && !RONDO_UNTRIED_COMPILER

  @_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) internal import _Concurrency
  internal import CLinux
  internal import Dispatch

  /// The executors of a program with RondoTesting in it: what begins on the thread of a scope of virtual time stays there,
  /// and sleeps by its clock. Outside of scopes jobs run as they would without it.
  enum ScopeExecutors {
    /// Before `main`: another thread may ask for an executor at any time later.
    fileprivate static func install() {
      guard rondo_is_main_thread() != 0 else { return }
      unsafe ExecutorsInPlace.areOfVirtualTime = true
      _createExecutors(factory: Factory.self)
    }

    /// Whether the calling thread runs the main actor's code: it is the main thread, or serves the main dispatch queue.
    static var haveMainActor: Bool {
      rondo_is_main_thread() != 0 || DispatchQueue.getSpecific(key: mainQueueKey) != nil
    }

    /// A mark on the main queue, which any thread may serve once the main thread has ended.
    private static let mainQueueKey = {
      let key = DispatchSpecificKey<Void>()
      DispatchQueue.main.setSpecific(key: key, value: ())
      return key
    }()

    static func lanes(of loop: Loop) -> (actors: JobLane, tasks: JobLane) {
      loop.makeLanes(
        forActorsOf: MainDoor.shared, heir: { MainDoor.shared.enqueueOutside($0) }, forTasksOf: PoolDoor.shared)
    }
  }

  @section(".init_array") @used
  private let install: @convention(c) () -> Void = { ScopeExecutors.install() }

  private enum Factory: ExecutorFactory {
    static var mainExecutor: any MainExecutor { MainDoor.shared }
    static var defaultExecutor: any TaskExecutor { PoolDoor.shared }
  }

  /// The main actor's executor.
  private final class MainDoor: MainExecutor, SchedulingExecutor {
    static let shared = MainDoor()

    /// The main loop's, if it serves the main actor outside of scopes; else the main dispatch queue does.
    private static let mainLoopsLane: JobLane? = {
      guard unsafe ExecutorsInPlace.mainLoopHasMainActor else { return nil }
      return Loop.ofMainThread.makeLanes(forActorsOf: shared, heir: onMainQueue, forTasksOf: PoolDoor.shared).actors
    }()

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      if let lane = lane(for: job) { lane.enqueue(job) } else { enqueueOutside(job) }
    }

    func enqueueOutside(_ job: UnownedJob) {
      if let lane = Self.mainLoopsLane { lane.enqueue(job) } else { Self.onMainQueue(job) }
    }

    @Sendable private static func onMainQueue(_ job: UnownedJob) {
      DispatchQueue.main.async { unsafe job.runSynchronously(on: shared.asUnownedSerialExecutor()) }
    }

    private func lane(for job: UnownedJob) -> JobLane? {
      guard let scope = ScopeOfTasks.current else { return nil }
      require(
        scope.reachesMainActor,
        """
        Code in virtual time calls the main actor, which another thread runs, in its own time. Make the test @MainActor: the \
        main actor is in virtual time then, too.
        """)
      return scope.mainLane(for: job)
    }

    /// What ends a sleep by running the job: the lane; outside of scopes, the main loop's or the runtime's executor.
    private func sleeper(for job: UnownedJob) -> any SchedulingExecutor {
      lane(for: job).openOne ?? Self.mainLoopsLane ?? Platform.main
    }

    func enqueue<C: Clock>(_ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C) {
      let job = UnownedJob(job)
      sleeper(for: job).enqueue(ExecutorJob(job), after: delay, tolerance: tolerance, clock: clock)
    }

    func enqueue<C: Clock>(_ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C) {
      let job = UnownedJob(job)
      sleeper(for: job).enqueue(ExecutorJob(job), at: instant, tolerance: tolerance, clock: clock)
    }

    func isIsolatingCurrentContext() -> Bool? {
      // Nil has the runtime call `checkIsolated()`.
      ScopeOfTasks.current?.hasMainActor ?? false || ScopeExecutors.haveMainActor ? true : nil
    }

    func checkIsolated() { PlatformExecutorFactory.mainExecutor.checkIsolated() }

    func run() throws {
      if Self.mainLoopsLane != nil { Loop.main.run() } else { try PlatformExecutorFactory.mainExecutor.run() }
    }

    func stop() {
      if Self.mainLoopsLane != nil { Loop.main.stop() } else { PlatformExecutorFactory.mainExecutor.stop() }
    }
  }

  /// The executor of tasks without a preference, and of default actors.
  private final class PoolDoor: TaskExecutor, SchedulingExecutor {
    static let shared = PoolDoor()

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      if let lane = lane(for: job) {
        lane.enqueue(job)
      } else {
        PlatformExecutorFactory.defaultExecutor.enqueue(ExecutorJob(job))
      }
    }

    private func lane(for job: UnownedJob) -> JobLane? { ScopeOfTasks.current?.lanes(for: job)?.others }

    private func sleeper(for job: UnownedJob) -> any SchedulingExecutor { lane(for: job).openOne ?? Platform.pool }

    func enqueue<C: Clock>(_ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C) {
      let job = UnownedJob(job)
      sleeper(for: job).enqueue(ExecutorJob(job), after: delay, tolerance: tolerance, clock: clock)
    }

    func enqueue<C: Clock>(_ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C) {
      let job = UnownedJob(job)
      sleeper(for: job).enqueue(ExecutorJob(job), at: instant, tolerance: tolerance, clock: clock)
    }
  }

  extension JobLane? {
    /// A lane whose loop still takes timers: what sleeps at the loop's end does so outside.
    fileprivate var openOne: JobLane? { flatMap { $0.isOpen ? $0 : nil } }
  }

  /// The runtime's own executors, which end sleeps as well.
  private enum Platform {
    static let main = PlatformExecutorFactory.mainExecutor as! any SchedulingExecutor
    static let pool = PlatformExecutorFactory.defaultExecutor as! any SchedulingExecutor
  }

#else

  /// With a compiler that Rondo was not tried with, tasks that prefer no loop run on the runtime's threads.
  enum ScopeExecutors {
    static var haveMainActor: Bool { false }
    static func lanes(of loop: Loop) -> (actors: JobLane, tasks: JobLane) { (loop.actorLane, loop.actorLane) }
  }

#endif
