import Synchronization

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
  let pulse = Pulse()
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
}

extension Atomic where Value == UInt64 {
  /// Adds, for a counter that only one thread writes: a load and a store, no locked instruction.
  @inline(__always)
  func count(_ amount: UInt64 = 1) {
    store(load(ordering: .relaxed) &+ amount, ordering: .relaxed)
  }
}
