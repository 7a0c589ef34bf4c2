import Synchronization

extension Loop {
  /// The counters of a loop since it was made.
  ///
  /// Each counter is exact. Two counters of one snapshot may differ by a turn.
  public struct Statistics: Sendable, Hashable {
    /// Turns, those of nested runs included.
    public var turns: UInt64 = 0
    /// Waits that could sleep.
    public var sleeps: UInt64 = 0
    /// Waits that only polled.
    public var polls: UInt64 = 0
    /// Sleeps ended by `wakeUp`, `stop`, a post or a change from another thread.
    public var wakeupsByPost: UInt64 = 0
    /// Sleeps ended by a ready descriptor.
    public var wakeupsByDescriptor: UInt64 = 0
    /// Sleeps ended by a timer.
    public var wakeupsByTimer: UInt64 = 0
    /// Sleeps ended by the time limit of the run.
    public var wakeupsByTimeout: UInt64 = 0
    /// Sleeps ended by the main dispatch queue.
    public var wakeupsByMainQueue: UInt64 = 0
    /// Early returns of the kernel after which the loop continued to sleep.
    public var spuriousWakeups: UInt64 = 0
    /// Spins before a precise timer's date, and spins before a sleep.
    public var spins: UInt64 = 0
    /// Spins that the loop skipped, and slept instead, because the budget was spent.
    public var spinsDenied: UInt64 = 0
    /// The time spent spinning.
    public var timeSpinning: Duration = .zero
    /// The time spent asleep while ``Loop/timesSleep`` was set. Nil unless it is set or a sleep was measured.
    public var timeAsleep: Duration?
    /// Calls of observers' handlers.
    public var observerCallouts: UInt64 = 0
    /// Calls of timers' and timeouts' handlers.
    public var timerCallouts: UInt64 = 0
    /// Calls of signalled sources' `perform`.
    public var sourceCallouts: UInt64 = 0
    /// Calls of descriptor sources' handlers.
    public var descriptorCallouts: UInt64 = 0
    /// Blocks that were run.
    public var blockCallouts: UInt64 = 0
    /// Turns in which the loop ran the main dispatch queue.
    public var mainQueueCallouts: UInt64 = 0
    /// Jobs of actors and tasks that were run.
    public var jobCallouts: UInt64 = 0
    /// Grid points of timers that passed without a fire.
    public var missedTicks: UInt64 = 0
  }
}

extension Counters {
  private var timeAsleep: Duration? {
    let nanoseconds = nanosecondsAsleep.load(ordering: .relaxed)
    return nanoseconds > 0 || timesSleep.load(ordering: .relaxed) ? .nanoseconds(Int64(nanoseconds)) : nil
  }

  var snapshot: Loop.Statistics {
    Loop.Statistics(
      turns: turns.load(ordering: .relaxed),
      sleeps: sleeps.load(ordering: .relaxed),
      polls: polls.load(ordering: .relaxed),
      wakeupsByPost: wakeupsByPost.load(ordering: .relaxed),
      wakeupsByDescriptor: wakeupsByDescriptor.load(ordering: .relaxed),
      wakeupsByTimer: wakeupsByTimer.load(ordering: .relaxed),
      wakeupsByTimeout: wakeupsByTimeout.load(ordering: .relaxed),
      wakeupsByMainQueue: wakeupsByMainQueue.load(ordering: .relaxed),
      spuriousWakeups: spuriousWakeups.load(ordering: .relaxed),
      spins: spins.load(ordering: .relaxed),
      spinsDenied: spinsDenied.load(ordering: .relaxed),
      timeSpinning: .nanoseconds(Int64(nanosecondsSpinning.load(ordering: .relaxed))),
      timeAsleep: timeAsleep,
      observerCallouts: observerCallouts.load(ordering: .relaxed),
      timerCallouts: timerCallouts.load(ordering: .relaxed),
      sourceCallouts: sourceCallouts.load(ordering: .relaxed),
      descriptorCallouts: descriptorCallouts.load(ordering: .relaxed),
      blockCallouts: blockCallouts.load(ordering: .relaxed),
      mainQueueCallouts: mainQueueCallouts.load(ordering: .relaxed),
      jobCallouts: jobCallouts.load(ordering: .relaxed),
      missedTicks: missedTicks.load(ordering: .relaxed))
  }
}
