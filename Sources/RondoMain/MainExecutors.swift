#if compiler(>=6.3) && compiler(<6.4) && !RONDO_UNTRIED_COMPILER

  @_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) internal import _Concurrency
  internal import CLinux
  internal import Rondo

  /// The executors that the concurrency runtime gets in place of its own.
  ///
  /// The main executor is the lane of the main loop's actors, so that the main actor and those are one executor, and a
  /// call between them is a call.
  enum MainExecutors {
    /// Makes the main loop the main actor's. The main thread, before `main`: once code of the main actor has been enqueued
    /// elsewhere, it is too late. A second time changes nothing.
    ///
    /// - Parameter mainQueue: Calls a function later on the main dispatch queue, which serves the main actor whenever
    ///   the main loop is not run.
    static func install(mainQueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
      // A library that another thread loads is too late: the main actor is in use.
      guard rondo_is_main_thread() != 0, unsafe !isInstalled else { return }
      unsafe isInstalled = true
      // The main thread knows its loop from here on, so a question for it reads one word.
      let loop = Loop.current
      let relay = MainRelay(loop, mainQueue)
      loop.leaveJobs { relay.ask() }
      unsafe ExecutorsInPlace.mainLoopHasMainActor = true
      // Those of virtual time leave to the main loop what is none of theirs.
      if unsafe !ExecutorsInPlace.areOfVirtualTime { _createExecutors(factory: MainLoopAndPool.self) }
    }

    /// *main thread*
    nonisolated(unsafe) private static var isInstalled = false

    /// Makes the main loop the executor of tasks without a preference as well. The main thread.
    static func adoptAllTasks() {
      require(
        unsafe isInstalled && Loop.main.isCurrent,
        "Loop.main.adoptAllTasks() belongs on the main thread of a program that was started with RondoMain in it.")
      _createExecutors(factory: MainLoopAlone.self)
    }
  }

  /// The main actor on the main loop, everything else on the runtime's threads.
  private enum MainLoopAndPool: ExecutorFactory {
    static var mainExecutor: any MainExecutor { Loop.main.actorLane }
    static var defaultExecutor: any TaskExecutor { PlatformExecutorFactory.defaultExecutor }
  }

  /// Everything on the main loop.
  private enum MainLoopAlone: ExecutorFactory {
    static var mainExecutor: any MainExecutor { Loop.main.actorLane }
    static var defaultExecutor: any TaskExecutor { Adopter.shared }
  }

  extension JobLane: MainExecutor {
    /// Runs the main loop until it is stopped. The runtime calls it when an async main is first suspended, and ends the
    /// process with status 0 when it returns.
    package func run() {
      Loop.main.run()
    }

    package func stop() {
      Loop.main.stop()
    }
  }

  /// Tasks without a preference, on the main loop; on the runtime's threads once its thread has ended.
  private final class Adopter: TaskExecutor, SchedulingExecutor, @unchecked Sendable {
    // Unchecked because of `lane`, which is constant once set.

    static let shared = Adopter()

    private let loop = Loop.main
    private var lane: JobLane!

    private init() { lane = loop.makeLane(forTasksOf: self) }

    func enqueue(_ job: consuming ExecutorJob) {
      // What the orphanage runs, it runs by tasks without a preference.
      if loop.hasOrphanedJobs { return PlatformExecutorFactory.defaultExecutor.enqueue(job) }
      lane.enqueue(UnownedJob(job))
    }

    func enqueue<C: Clock>(_ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C) {
      lane.enqueue(job, after: delay, tolerance: tolerance, clock: clock)
    }

    func enqueue<C: Clock>(_ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C) {
      lane.enqueue(job, at: instant, tolerance: tolerance, clock: clock)
    }
  }

#endif
