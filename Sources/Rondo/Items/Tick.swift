extension Loop.Timer {
  /// What a timer's callout learns about its fire.
  public struct Tick: Sendable {
    /// The timer that fired.
    public let timer: Loop.Timer
    /// The grid point this fire is for, CLOCK_MONOTONIC nanoseconds.
    package let scheduledAt: Instant
    /// When the turn began to serve timers.
    package let firedAt: Instant
    /// How many grid points have passed without a fire since the last one. The loop was busy, or not running.
    public let missed: Int

    /// The grid point this fire is for.
    public var scheduled: SuspendingClock.Instant { scheduledAt.suspending }
    /// When the loop came to serve it.
    public var actual: SuspendingClock.Instant { firedAt.suspending }
    /// `actual - scheduled`; never negative unless the timer was fired by hand.
    public var lateness: Duration { .nanoseconds(firedAt.nanoseconds - scheduledAt.nanoseconds) }
  }
}
