public import Rondo

#if compiler(>=6.3) && compiler(<6.4) && !RONDO_UNTRIED_COMPILER

  extension Loop {
    /// Runs tasks without a preference, and default actors, on this loop too.
    ///
    /// Call it on `Loop.main`, in the first line of main. Tasks that were enqueued before stay on the runtime's
    /// threads. The change is permanent.
    ///
    /// The program then has no thread that it did not start. A call between the main actor and other code costs at most
    /// a turn of the loop, not a change of threads. **Blocking code then blocks everything**: a nonisolated function
    /// that reads a file, waits for a lock or computes for a second delays the main actor and every timer, descriptor
    /// and task. Code that waits for another task without `await` waits without end. Use a `LoopThread` for such work.
    @MainActor public func adoptAllTasks() {
      require(
        isAdoptive,
        "Tasks without a preference can be adopted by Loop.main only. Others name a loop as their preference.")
      MainExecutors.adoptAllTasks()
    }

    private var isAdoptive: Bool { self === Loop.main }
  }

#else

  extension Loop {
    /// Changes nothing, because Rondo was not tested with this compiler. Tasks without a preference stay on the
    /// runtime's threads.
    @available(*, deprecated, message: "Rondo was not tried with this compiler, and cannot adopt its tasks.")
    @MainActor public func adoptAllTasks() {}
  }

#endif
