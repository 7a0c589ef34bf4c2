import CBench

/// The work of a block: one of the C functions every subject calls, and its meter.
///
/// Two words, so that a block that captures it has memory of its own, as each call to a C loop's function has that takes
/// a callout and a context. Sendable because it is constant; its meter belongs to the loop's thread.
struct Work: @unchecked Sendable {
  let callout: @convention(c) (UnsafeMutableRawPointer?) -> Void
  let context: UnsafeMutableRawPointer?

  @inline(__always)
  func callAsFunction() { callout(context) }
}

/// What an item's handler calls: one of the C functions every subject calls, and its meter.
///
/// One object for as many items as there are, because that is what an item of a C loop gets: one pointer, `data` in
/// libuv, to what its owner has. A closure that captures one reference to an object, and nothing else, allocates
/// nothing; one that captured the two words themselves would have 32 bytes of its own, 48 of malloc's.
final class Call: Sendable {
  let work: Work

  init(callout: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void, context: UnsafeMutableRawPointer?) {
    work = Work(callout: callout, context: context)
  }

  @inline(__always)
  func callAsFunction() { work() }
}

/// A loop, open on the thread that opened it.
///
/// Everything belongs on that thread, except `post` and the wakes' `send`. Every ability has a default that declines.
protocol BenchLoop: AnyObject, Sendable {
  /// Whether there is a loop at all.
  var isLoop: Bool { get }

  /// Whether the loop has a wait of its own: a queue of Dispatch shares its process's.
  var isWaiting: Bool { get }

  /// Whether the loop sleeps on the thread that runs it, so that the kernel can be asked whether it does.
  var sleepsOnItsThread: Bool { get }

  /// Why it cannot be asked for a turn that does not sleep; nil when it can.
  var pollRefusal: Refusal? { get }

  /// Whether a wake is an item of the loop that stays, and not a block at a time.
  var hasSources: Bool { get }

  /// The largest number of descriptors it is given: nil for any.
  var watchLimit: Int? { get }

  /// The largest number of timers it is given: nil for any.
  var timerLimit: Int? { get }

  /// The largest number of timers that are fired in bulk: nil for any.
  var fireLimit: Int? { get }

  /// Runs until `stop`.
  func run()
  /// Ends the run. Called by callouts.
  func stop()
  /// One turn that does not sleep.
  func poll()
  /// Gives back what the loop holds.
  func close()

  /// A wake to a callout.
  func addWake(_ call: Call) throws(Refusal) -> any Wake
  /// A source that is signalled always: called in every turn.
  func addSignal(_ call: Call) throws(Refusal) -> any Member
  /// Tells that a descriptor is readable, level-triggered.
  func addWatch(_ descriptor: CInt, _ call: Call) throws(Refusal) -> any Member
  /// Is called before every sleep.
  func addObserver(_ call: Call) throws(Refusal) -> any Member

  /// Why it posts no blocks; nil when it does.
  var postRefusal: Refusal? { get }
  /// Posts as many blocks, one after the other. From any thread.
  func post(_ count: Int, _ work: Work)

  /// Makes timers that fire once and adds them.
  func addShots(_ dues: [Int64], _ call: Call) throws(Refusal) -> any ShotBank
  /// Makes timers that can be started any number of times, stopped at first.
  func makeTimers(_ count: Int, _ call: Call) throws(Refusal) -> any TimerBank
  /// Whether a repeating timer may be told how late it may be.
  var hasTolerance: Bool { get }
  /// Makes repeating timers and adds them.
  func addRepeats(_ dues: [Int64], every interval: Int64, tolerance: Int64, _ call: Call) throws(Refusal) -> any Member

  /// Puts idle items into each of two modes: as many sources and as many timers, together `count` in each.
  func fillModes(_ count: Int) throws(Refusal)
  /// One turn in one of the two modes that does not sleep.
  func poll(inMode index: Int)
}

extension BenchLoop {
  /// Throws unless so many descriptors are what the loop can be given.
  func checkWatchLimit(_ count: Int) throws(Refusal) {
    guard let watchLimit, count > watchLimit else { return }
    throw .cannot("left out beyond \(watchLimit): its time a turn grows with the number of descriptors")
  }
}

/// Something added to a loop.
protocol Member {
  func remove()
}

/// A wake to a callout of a loop.
protocol Wake: AnyObject, Sendable, Member {
  /// Wakes the loop. From any thread.
  func send()
}

/// Timers in bulk that fire once, each made by itself.
protocol ShotBank {
  /// Cancels and frees every timer, in the order given.
  mutating func cancel(_ order: [Int])
  /// Frees what is left, when all have fired or been cancelled.
  mutating func free()
}

/// Timers in bulk that can be started any number of times.
protocol TimerBank {
  /// Has each fire once at its due, stopped or not until now.
  func start(_ dues: [Int64])
  /// Stops every timer, in the order given.
  func stop(_ order: [Int])
  /// Gives the memory back, when all have fired or been stopped.
  func free()
}

extension BenchLoop {
  var isLoop: Bool { true }
  var isWaiting: Bool { true }
  var sleepsOnItsThread: Bool { true }
  var pollRefusal: Refusal? { nil }
  var postRefusal: Refusal? { nil }
  var hasSources: Bool { true }
  var watchLimit: Int? { nil }
  var timerLimit: Int? { nil }
  var fireLimit: Int? { nil }
  var hasTolerance: Bool { true }

  func poll() {}
  func close() {}

  func addWake(_ call: Call) throws(Refusal) -> any Wake { throw .cannot("has no wakeup") }
  func addSignal(_ call: Call) throws(Refusal) -> any Member { throw .cannot("has no signalled sources") }
  func addWatch(_ descriptor: CInt, _ call: Call) throws(Refusal) -> any Member {
    throw .cannot("watches no descriptors")
  }
  func addObserver(_ call: Call) throws(Refusal) -> any Member { throw .cannot("has no observers") }
  func post(_ count: Int, _ work: Work) {}
  func addShots(_ dues: [Int64], _ call: Call) throws(Refusal) -> any ShotBank {
    throw .cannot("keeps no timers in bulk")
  }
  func makeTimers(_ count: Int, _ call: Call) throws(Refusal) -> any TimerBank {
    throw .cannot("has no timers that can be started again")
  }
  func addRepeats(_ dues: [Int64], every interval: Int64, tolerance: Int64, _ call: Call) throws(Refusal) -> any Member
  {
    throw .cannot("keeps no timers in bulk")
  }
  func fillModes(_ count: Int) throws(Refusal) { throw .cannot("has no modes") }
  func poll(inMode index: Int) {}
}

/// Hands a loop to C callouts.
///
/// The callouts keep no count of it: whoever makes one keeps it while the loop runs.
final class LoopHandle: Sendable {
  let loop: any BenchLoop

  init(_ loop: any BenchLoop) {
    self.loop = loop
  }

  /// Ends the loop's run. The loop in it is this handle.
  var stopper: bench_stopper {
    bench_stopper(
      stop: { Unmanaged<LoopHandle>.fromOpaque($0!).takeUnretainedValue().loop.stop() },
      loop: Unmanaged.passUnretained(self).toOpaque())
  }
}

/// Hands a wake to C callouts, as `LoopHandle` does a loop.
final class WakeHandle: Sendable {
  let wake: any Wake

  init(_ wake: any Wake) {
    self.wake = wake
  }

  static let send: @convention(c) (UnsafeMutableRawPointer?) -> Void = {
    Unmanaged<WakeHandle>.fromOpaque($0!).takeUnretainedValue().wake.send()
  }
}
