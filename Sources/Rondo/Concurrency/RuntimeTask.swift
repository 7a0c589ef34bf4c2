#if compiler(>=6.3) && compiler(<6.4)
  @_spi(ExperimentalCustomExecutors) internal import _Concurrency
#endif

/// A task as the concurrency runtime knows it, by its place in memory.
enum RuntimeTask {
  /// The task that the calling thread runs; nil outside of tasks.
  static var current: UInt? {
    unsafe withUnsafeCurrentTask { task in unsafe task.map { unsafe unsafeBitCast($0, to: UInt.self) } }
  }

  /// The task that a job, which has yet to run, resumes, if it is one that was cancelled.
  static func cancelled(_ job: UnownedJob) -> UInt? {
    #if compiler(>=6.3) && compiler(<6.4)
      guard ExecutorJob(job).kind.rawValue == ExecutorJob.Kind.task.rawValue else { return nil }
      // A task is a job, at the same place, and lives as long as the job waits.
      let place = unsafe unsafeBitCast(job, to: UInt.self)
      return unsafe unsafeBitCast(place, to: UnsafeCurrentTask.self).isCancelled ? place : nil
    #else
      return nil
    #endif
  }
}
