#if compiler(>=6.3) && compiler(<6.4) && !RONDO_UNTRIED_COMPILER

  @_spi(ExperimentalScheduling) public import _Concurrency
  internal import CLinux

  // `Task.sleep` and the clocks of the standard library ask the executor that the task prefers to end their sleeps.

  /// Sleeps of tasks that prefer the loop are timers of it, in the common modes.
  @_spi(ExperimentalScheduling)
  extension Loop: SchedulingExecutor {
    /// Queues a job after `delay` on `clock`. Any thread. The concurrency runtime calls it.
    public func enqueue<C: _Concurrency.Clock>(
      _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C
    ) {
      unsafe lanes.takeUnretainedValue().tasks.enqueue(job, after: delay, tolerance: tolerance, clock: clock)
    }

    /// Queues a job when `clock` shows `instant`. Any thread. The concurrency runtime calls it.
    public func enqueue<C: _Concurrency.Clock>(
      _ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C
    ) {
      unsafe lanes.takeUnretainedValue().tasks.enqueue(job, at: instant, tolerance: tolerance, clock: clock)
    }
  }

  /// Sleeps of tasks that prefer the executor are timers of its loop, in its modes.
  @_spi(ExperimentalScheduling)
  extension Loop.Executor: SchedulingExecutor {
    /// Queues a job after `delay` on `clock`. Any thread. The concurrency runtime calls it.
    package func enqueue<C: _Concurrency.Clock>(
      _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C
    ) {
      taskLane.enqueue(job, after: delay, tolerance: tolerance, clock: clock)
    }

    /// Queues a job when `clock` shows `instant`. Any thread. The concurrency runtime calls it.
    package func enqueue<C: _Concurrency.Clock>(
      _ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C
    ) {
      taskLane.enqueue(job, at: instant, tolerance: tolerance, clock: clock)
    }
  }

  extension JobLane: SchedulingExecutor {
    package func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C
    ) {
      let job = UnownedJob(job)
      guard ClockKind(clock) != nil, let delay = delay as? Duration else {
        return enqueue(job, at: clock.now.advanced(by: delay), tolerance, unknown: clock)
      }
      let date = core.wait.now.advanced(by: delay.saturatingNanoseconds)
      JobSleep.begin(job, by: self, at: date, tolerance: tolerance as? Duration ?? .zero)
    }

    package func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C
    ) {
      let job = UnownedJob(job)
      guard let date = date(of: instant, clock) else { return enqueue(job, at: instant, tolerance, unknown: clock) }
      JobSleep.begin(job, by: self, at: date, tolerance: tolerance as? Duration ?? .zero)
    }

    /// What the loop's clock shows when `clock` shows `instant`; nil if the loop does not know the clock.
    private func date<C: Clock>(of instant: C.Instant, _ clock: C) -> Instant? {
      guard let kind = ClockKind(clock) else { return nil }
      if let loop = kind.loop, loop.core === core {
        return Instant(instant as! SuspendingClock.Instant)
      }
      if case .scripted = core.wait {
        let left = (clock.now.duration(to: instant) as! Duration).saturatingNanoseconds
        // What is the loop's is not looked at by a thread that runs its jobs after its end.
        let more = !core.hasOrphanedJobs && isolatesCurrentThread ? core.realTimeOfJob() : 0
        return core.wait.now.advanced(by: Self.roundest(from: left, upTo: more))
      }
      switch kind {
      case .continuous:
        let suspended = rondo_boottime_now() - rondo_monotonic_now()
        return Instant(instant as! ContinuousClock.Instant, suspended: suspended)
      case .suspending, .loops: return Instant(instant as! SuspendingClock.Instant)
      }
    }

    /// The duration that a task meant, which has read a real clock at some time in its job and added that: of those that it
    /// may have been, the one of the largest unit.
    private static func roundest(from left: Int64, upTo more: Int64) -> Int64 {
      guard left > 0, left < Schedule.longest else { return left }
      func multiple(of unit: Int64) -> Int64 { (left + unit - 1) / unit * unit }
      // An hour, a minute, and ten seconds to ten nanoseconds.
      var unit: Int64 = 3_600_000_000_000
      while unit > 1 {
        if multiple(of: unit) <= left + more { return multiple(of: unit) }
        unit = unit > 60_000_000_000 ? 60_000_000_000 : unit > 10_000_000_000 ? 10_000_000_000 : unit / 10
      }
      return left
    }

    /// A clock that is not the loop's has its own way to sleep.
    private func enqueue<C: Clock>(_ job: UnownedJob, at instant: C.Instant, _ tolerance: C.Duration?, unknown clock: C)
    {
      Task.detached {
        try? await clock.sleep(until: instant, tolerance: tolerance)
        self.enqueue(job)
      }
    }
  }

  /// The clocks that a loop's timers can stand for.
  private enum ClockKind {
    case continuous, suspending
    case loops(Loop)

    init?(_ clock: some Clock) {
      if clock is ContinuousClock {
        self = .continuous
      } else if clock is SuspendingClock {
        self = .suspending
      } else if let clock = clock as? Loop.Clock {
        self = .loops(clock.loop)
      } else {
        return nil
      }
    }

    var loop: Loop? {
      if case .loops(let loop) = self { loop } else { nil }
    }
  }

#endif
