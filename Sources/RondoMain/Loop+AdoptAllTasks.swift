public import Rondo

#if compiler(>=6.3) && compiler(<6.4) && !RONDO_UNTRIED_COMPILER

  extension Loop {
    /// Has tasks without a preference, and default actors, run on this loop too. On `Loop.main`, as the first line of
    /// main.
    ///
    /// The program then has no thread that it did not make, and a call between the main actor and anything else is a turn
    /// of the loop at most, not a change of threads. **Whatever blocks now blocks everything**: a nonisolated function that
    /// reads a file, waits for a lock or computes for a second holds up the main actor, every timer, every descriptor and
    /// every task meanwhile, and one that waits for another task by anything else than `await` waits for ever. Such work
    /// belongs on a `LoopThread`. Tasks that were enqueued before stay where they are, and it cannot be taken back.
    @MainActor public func adoptAllTasks() {
      contract(
        isAdoptive,
        "Tasks without a preference can be adopted by Loop.main only. Others name a loop as their preference.")
      MainExecutors.adoptAllTasks()
    }

    private var isAdoptive: Bool { self === Loop.main }
  }

#else

  extension Loop {
    /// Changes nothing: Rondo was not tried with this compiler. Tasks without a preference stay on the runtime's threads.
    @available(*, deprecated, message: "Rondo was not tried with this compiler, and cannot adopt its tasks.")
    @MainActor public func adoptAllTasks() {}
  }

#endif
