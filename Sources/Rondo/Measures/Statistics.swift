import Synchronization

extension Loop {
  /// What a loop has done since it was made. A snapshot; each figure is exact, together they may be a turn apart.
  public struct Statistics: Sendable, Hashable {
    /// Turns, nested ones included.
    public var turns: UInt64 = 0
    /// Waits that could sleep.
    public var sleeps: UInt64 = 0
    /// Waits that only looked.
    public var polls: UInt64 = 0
    /// Sleeps ended by `wakeUp`, `stop`, a post or a change from another thread.
    public var wakeupsByPost: UInt64 = 0
    /// Sleeps ended by a ready descriptor.
    public var wakeupsByDescriptor: UInt64 = 0
    /// Sleeps ended by a timer.
    public var wakeupsByTimer: UInt64 = 0
    /// Sleeps ended by the end of the run's time.
    public var wakeupsByTimeout: UInt64 = 0
    /// Sleeps ended by the main dispatch queue.
    public var wakeupsByMainQueue: UInt64 = 0
    /// Early returns of the kernel that the loop slept on after.
    public var spuriousWakeups: UInt64 = 0
    /// Approaches to a precise timer's date that the loop spun, and spins before a sleep.
    public var spins: UInt64 = 0
    /// Approaches to a precise timer's date, and moments before a sleep, that were slept. The budget was used up.
    public var spinsDenied: UInt64 = 0
    /// Time spent spinning.
    public var timeSpinning: Duration = .zero
    /// Time spent asleep while ``Loop/timesSleep`` was set. Nil unless it is set or a sleep has been timed.
    public var timeAsleep: Duration?
    public var observerCallouts: UInt64 = 0
    public var timerCallouts: UInt64 = 0
    public var sourceCallouts: UInt64 = 0
    public var descriptorCallouts: UInt64 = 0
    public var blockCallouts: UInt64 = 0
    public var mainQueueCallouts: UInt64 = 0
    /// Jobs of actors and tasks that were run.
    public var jobCallouts: UInt64 = 0
    /// Grid points of timers that passed without a fire.
    public var missedTicks: UInt64 = 0
  }
}

/// The counters behind `Loop.Statistics`.
///
/// One writer, the loop's thread, with plain relaxed stores; any thread may read.
final class Counters: Sendable {
  let turns = Atomic<UInt64>(0)
  let sleeps = Atomic<UInt64>(0)
  let polls = Atomic<UInt64>(0)
  let wakeupsByPost = Atomic<UInt64>(0)
  let wakeupsByDescriptor = Atomic<UInt64>(0)
  let wakeupsByTimer = Atomic<UInt64>(0)
  let wakeupsByTimeout = Atomic<UInt64>(0)
  let wakeupsByMainQueue = Atomic<UInt64>(0)
  let spuriousWakeups = Atomic<UInt64>(0)
  let spins = Atomic<UInt64>(0)
  let spinsDenied = Atomic<UInt64>(0)
  let nanosecondsSpinning = Atomic<UInt64>(0)
  let nanosecondsAsleep = Atomic<UInt64>(0)
  /// *atomic*, written by any thread. Whether sleeps are timed.
  let timesSleep = Atomic<Bool>(false)
  /// *atomic*, written by any thread, and never false again. Whether sleeps are timed, or a probe is told of them.
  let watchesSleep = Atomic<Bool>(false)
  let observerCallouts = Atomic<UInt64>(0)
  let timerCallouts = Atomic<UInt64>(0)
  let sourceCallouts = Atomic<UInt64>(0)
  let descriptorCallouts = Atomic<UInt64>(0)
  let blockCallouts = Atomic<UInt64>(0)
  let mainQueueCallouts = Atomic<UInt64>(0)
  let jobCallouts = Atomic<UInt64>(0)
  let missedTicks = Atomic<UInt64>(0)

  /// All but those of observers. The loop's own thread.
  var callouts: UInt64 {
    timerCallouts.load(ordering: .relaxed) + sourceCallouts.load(ordering: .relaxed)
      + descriptorCallouts.load(ordering: .relaxed) + blockCallouts.load(ordering: .relaxed)
      + mainQueueCallouts.load(ordering: .relaxed) + jobCallouts.load(ordering: .relaxed)
  }

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

extension Atomic where Value == UInt64 {
  /// Adds, for a counter that only one thread writes: a load and a store, no locked instruction.
  @inline(__always)
  func count(_ amount: UInt64 = 1) {
    store(load(ordering: .relaxed) &+ amount, ordering: .relaxed)
  }
}
