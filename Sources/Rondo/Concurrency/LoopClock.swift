extension Loop {
  /// The loop's time, as a clock that tasks sleep by. Sleeping until one of its instants is a timer of the loop, in the
  /// common modes. Any thread.
  ///
  /// A loop in virtual time has a virtual clock of the same type, so what is given a clock can be tested with one.
  public var clock: Clock { Clock(loop: self) }

  /// Tells a loop's time and sleeps by its timers.
  ///
  /// The instants are `SuspendingClock`'s: time stands still while the machine is suspended. In virtual time, they
  /// are the loop's own.
  public struct Clock: _Concurrency.Clock {
    public typealias Instant = SuspendingClock.Instant

    /// The loop whose timers wake the sleepers, while it runs in a common mode.
    public let loop: Loop

    /// The loop's time. Any thread.
    public var now: Instant { loop.now.suspending }

    /// One nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Suspends the task until `deadline`; at once if it has passed. Never early.
    ///
    /// The caller's actor is not left. Cancellation ends it at once and takes the timer out of the loop. O(log n).
    ///
    /// - Parameter tolerance: How much later it may be so that wakeups are shared; nil for none. Not negative.
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
      let timer = FollowedTimer(oneShotAt: deadline, tolerance: tolerance ?? .zero) { _ in sleep.end(.slept) }
      timer.follower = sleep
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
    public var description: String { "the loop's thread has ended" }
  }
}

extension Loop.Timer {
  /// A timer whose date is the clock's of the loop it is meant for, whichever thread makes it.
  convenience init(oneShotAt date: Instant, tolerance: Duration, handler: sending @escaping (Tick) -> Void) {
    self.init(
      Schedule(
        fireDate: Schedule.date(at: date), interval: 0,
        tolerance: Schedule.validTolerance(tolerance, of: "A sleep")),
      order: 0, Label(fileID: #fileID, line: #line), handler: handler)
  }
}
