extension Loop {
  /// The loop's time as a clock for tasks. Any thread.
  ///
  /// Each sleep is a timer of the loop in the common modes. A loop in virtual time returns a virtual clock of the same
  /// type, so code that takes a clock can be tested with it.
  public var clock: Clock { Clock(loop: self) }

  /// Reads a loop's time, and sleeps by the loop's timers.
  ///
  /// The instants are those of `SuspendingClock`, which stops while the machine is suspended. In virtual time, they are
  /// the loop's own.
  public struct Clock: _Concurrency.Clock {
    /// An instant of CLOCK_MONOTONIC, or of virtual time.
    public typealias Instant = SuspendingClock.Instant

    /// The loop whose timers wake the sleepers, while it runs in a common mode.
    package let loop: Loop

    /// The loop's time. Any thread.
    public var now: Instant { loop.now.suspending }

    /// One nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Suspends the task until `deadline`, and never less. Returns immediately if `deadline` has passed.
    ///
    /// Stays on the caller's actor. Cancelling the task ends the sleep immediately and removes its timer from the loop.
    /// O(log n).
    ///
    /// - Parameter tolerance: How much later the sleep may end so that the loop can share wakeups; nil for zero. Not
    ///   negative.
    /// - Throws: `CancellationError`, or `Loop.EndError` if the loop's thread ends or has ended.
    public nonisolated(nonsending) func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
      try await sleep(until: Rondo.Instant(deadline), tolerance: tolerance)
    }

    /// Suspends the task for `duration`; see `sleep(until:tolerance:)`.
    public nonisolated(nonsending) func sleep(for duration: Duration, tolerance: Duration? = nil) async throws {
      try await sleep(until: loop.now.advanced(by: duration.saturatingNanoseconds), tolerance: tolerance)
    }

    private enum Outcome {
      case slept, cancelled, loopEnded
    }

    private nonisolated(nonsending) func sleep(until deadline: Rondo.Instant, tolerance: Duration?) async throws {
      try Task.checkCancellation()
      if deadline <= loop.now { return }
      let sleep = Suspension<Outcome> { _ in .loopEnded }
      let timer = DelegatingTimer(oneShotAt: deadline, tolerance: tolerance ?? .zero) { _ in sleep.end(.slept) }
      timer.delegate = sleep
      let outcome = await Waiter.wait(isolation: #isolation) { waiter in
        guard sleep.begin(waiter, holding: [timer]) else { return }
        if !loop.add(timer, to: .common) { sleep.end(.loopEnded) }
      } onCancel: {
        sleep.cancel(.cancelled)
      }
      switch outcome {
      case .slept: break
      case .cancelled: throw CancellationError()
      case .loopEnded: throw EndError()
      }
    }
  }

  /// The loop's thread has ended, or ends.
  public struct EndError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A sentence with the cause.
    public var description: String { "the loop's thread has ended" }
  }
}

extension Loop.Timer {
  /// A timer whose grid is on the clock of the loop it is meant for, whichever thread makes it.
  package convenience init(
    repeatingEvery interval: Duration, on loop: Loop, tolerance: Duration, handler: sending @escaping (Tick) -> Void
  ) {
    require(interval > .zero, "Ticks need an interval of at least 1 ns, not \(interval).")
    self.init(
      Schedule(
        fireDate: Schedule.date(after: interval, from: loop.now), interval: Schedule.validInterval(interval),
        tolerance: Schedule.validTolerance(tolerance)),
      order: 0, Label(fileID: #fileID, line: #line), handler: handler)
  }

  /// A timer whose date is the clock's of the loop it is meant for, whichever thread makes it.
  convenience init(oneShotAt date: Instant, tolerance: Duration, handler: sending @escaping (Tick) -> Void) {
    self.init(
      Schedule(
        fireDate: Schedule.date(at: date), interval: 0,
        tolerance: Schedule.validTolerance(tolerance, of: "A sleep")),
      order: 0, Label(fileID: #fileID, line: #line), handler: handler)
  }
}
