#if compiler(>=6.3) && compiler(<6.4) && !RONDO_UNTRIED_COMPILER
  @_spi(ExperimentalCustomExecutors) internal import _Concurrency
#else
  #warning(
    """
    Rondo was not tried with this compiler, and does without the insides of its concurrency runtime. Tasks that prefer a \
    loop sleep by the runtime's timers. Async main stays where the runtime puts it: use LoopProgram for the main loop. \
    Records of jobs name no code.
    """)
#endif

/// What relies on the insides of the concurrency runtime, which another compiler may have changed.
///
/// It was tried with Swift 6.3. The same condition guards three other files; `-D RONDO_UNTRIED_COMPILER` makes it false,
/// so that what is done without can be tested. The insides are:
/// - the executor that a task prefers is asked to end its sleeps: `Loop+Scheduling.swift`, without it a task sleeps by the
///   runtime's timers and its job comes to the loop afterwards;
/// - the factory that makes the main actor's executor: RondoMain's `MainExecutors.swift`, without it the main loop is run
///   by `LoopProgram`, `Loop.runMain` or the program itself;
/// - a task is a job, at the same place, and `UnsafeCurrentTask` is a pointer to it: `current` and `cancelled(_:)`, without
///   them the timer of a cancelled sleep would stay until its date, and each wait of a server's task would have a handler
///   of cancellation;
/// - where a job keeps the code at which it goes on: `code(of:)`, without it records of jobs name no code.
///
/// libdispatch's two functions for run loops (CLinux/shim.h) and libevent's (CLibevent/shim.h) are weak symbols, and no
/// matter of the compiler.
package enum RuntimeInsides {
  #if compiler(>=6.3) && compiler(<6.4) && !RONDO_UNTRIED_COMPILER

    /// Whether the insides are used.
    package static let areKnown = true

    /// The task that the calling thread runs, by its place in memory; nil outside of tasks.
    package static var current: UInt? {
      let place = unsafe withUnsafeCurrentTask { task in unsafe unsafeBitCast(task, to: UInt.self) }
      return place == 0 ? nil : place
    }

    private static func isTask(_ job: UnownedJob) -> Bool {
      ExecutorJob(job).kind.rawValue == ExecutorJob.Kind.task.rawValue
    }

    /// The task that a job, which has yet to run, resumes, if it is one that was cancelled.
    static func cancelled(_ job: UnownedJob) -> UInt? {
      guard isTask(job) else { return nil }
      // A task is a job, at the same place, and lives as long as the job waits.
      let place = unsafe unsafeBitCast(job, to: UInt.self)
      return unsafe unsafeBitCast(place, to: UnsafeCurrentTask.self).isCancelled ? place : nil
    }

    /// Where a job is in memory: another one may be there later.
    package static func place(of job: UnownedJob) -> UInt { unsafe unsafeBitCast(job, to: UInt.self) }

    /// The lower half of a task's number; nil for a job that is no task's.
    package static func number(of job: UnownedJob) -> UInt32? {
      guard isTask(job) else { return nil }
      // A job is an object (16 bytes), two words for its executor, 32 bits of flags, and then that.
      return unsafe UnsafePointer<UInt32>(bitPattern: place(of: job) + 36)!.pointee
    }

    /// The code at which a job goes on; 0 if that is unknown.
    static func code(of job: UnownedJob) -> UInt {
      // A job is an object (16 bytes), two words for its executor, flags and number, two words more, and then that.
      let place = unsafe UnsafePointer<UInt>(bitPattern: unsafeBitCast(job, to: UInt.self) + 56)
      return unsafe place?.pointee ?? 0
    }

  #else

    package static let areKnown = false
    package static var current: UInt? { nil }
    static func cancelled(_ job: UnownedJob) -> UInt? { nil }
    package static func place(of job: UnownedJob) -> UInt { 0 }
    package static func number(of job: UnownedJob) -> UInt32? { nil }
    static func code(of job: UnownedJob) -> UInt { 0 }

  #endif
}
