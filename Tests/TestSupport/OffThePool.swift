#if canImport(Testing)
  internal import Dispatch
  internal import Rondo
  package import Testing

  /// Has tests run on threads of their own, beside those of the pool.
  ///
  /// The pool has as many threads as there are processors, and takes what comes first. A test that waits for a program
  /// or for time to pass keeps one of them from all others. One that waits for its turn in a serialized suite, or for its
  /// child, goes on after all others that have not begun; and as long as an exit test's child is not reaped, the thread
  /// with which Swift Testing looks for children spins.
  package struct OffThePool: SuiteTrait, TestTrait, TestScoping {
    package func provideScope(
      for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
      try await withTaskExecutorPreference(WaitingThreads.shared) { try await function() }
    }
  }

  extension Trait where Self == OffThePool {
    package static var offThePool: Self { OffThePool() }
  }

  /// A few threads, started when there is something to run. What came last is run first: mostly a test that goes on.
  private final class WaitingThreads: TaskExecutor {
    static let shared = WaitingThreads()
    private static let limit = 6

    private struct State {
      var jobs: [UnownedJob] = []
      var threadCount = 0
    }

    // The sanitizer does not see how the standard library's lock is handed over.
    private let state = Guarded(State())

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      let startsThread = state.withLock { state in
        state.jobs.append(job)
        guard state.threadCount < Self.limit else { return false }
        state.threadCount += 1
        return true
      }
      // A serial queue of its own is a thread of its own.
      if startsThread { DispatchQueue(label: "tests that wait").async { self.run() } }
    }

    private func run() {
      while let job = next() { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    private func next() -> UnownedJob? {
      state.withLock { state in
        guard state.jobs.isEmpty else { return state.jobs.removeLast() }
        state.threadCount -= 1
        return nil
      }
    }
  }
#endif
