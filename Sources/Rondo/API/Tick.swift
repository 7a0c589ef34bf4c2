extension Loop.Timer {
  /// One fire of a timer.
  public struct Tick: Sendable {
    /// The timer that fired.
    public let timer: Loop.Timer
    /// The grid point this fire is for, CLOCK_MONOTONIC nanoseconds.
    package let scheduledAt: Instant
    /// When the turn began to serve timers.
    package let firedAt: Instant
    /// How many grid points passed without a fire since the last fire.
    ///
    /// The loop was busy then, or did not run.
    public let missed: Int

    /// The grid point of this fire.
    public var scheduled: SuspendingClock.Instant { scheduledAt.suspending }
    /// The date at which the loop served the timer.
    public var actual: SuspendingClock.Instant { firedAt.suspending }
    /// `actual - scheduled`; never negative unless you called `fire()`.
    public var lateness: Duration { .nanoseconds(firedAt.nanoseconds - scheduledAt.nanoseconds) }

    /// The tick, with an older one that was not taken among the missed.
    package func counting(_ older: Self) -> Self {
      Self(timer: timer, scheduledAt: scheduledAt, firedAt: firedAt, missed: missed + older.missed + 1)
    }
  }
}
