import Rondo

/// Timers that the operation owns, without a reference count of its own for each that it touches.
@safe class TimerOperation: TimedOperation {
  private let timers = UnsafeMutablePointer<Unmanaged<Loop.Timer>>.allocate(capacity: Operation.limit)

  /// Makes timers and adds them, each an hour away and later than the one before.
  final func add(_ count: Int) {
    for index in 0..<count {
      let timer = Loop.Timer(after: .seconds(3_600)) { [tally] _ in tally.call() }
      loop.add(timer)
      unsafe (timers + index).initialize(to: Unmanaged.passRetained(timer))
    }
  }

  /// Puts them off by another hour, in an order of its own.
  final func putOff(_ count: Int) {
    for index in 0..<count {
      unsafe timers[shuffled(index, count)]._withUnsafeGuaranteedRef { $0.setFireDate(after: .seconds(7_200)) }
    }
  }

  /// Cancels them in an order of its own, goes round once, and lets go of them.
  final func cancel(_ count: Int) {
    for index in 0..<count {
      unsafe timers[shuffled(index, count)]._withUnsafeGuaranteedRef { $0.invalidate() }
    }
    loop.run(for: .zero)
    for index in 0..<count { unsafe timers[index].release() }
  }

  /// A permutation: the factor is a prime that no count has.
  private func shuffled(_ index: Int, _ count: Int) -> Int { index * 7_919 % count }

  override func expectedCalls(_ count: Int) -> Int { 0 }
}

/// Timers made and added.
final class TimersAdded: TimerOperation {
  override func perform(_ count: Int) { add(count) }
  override func check(_ count: Int) { cancel(count) }
}

/// Timers put off.
final class TimersPutOff: TimerOperation {
  override func prepare(_ count: Int) { add(count) }
  override func perform(_ count: Int) { putOff(count) }
  override func check(_ count: Int) { cancel(count) }
}

/// Timers cancelled, and freed.
final class TimersCancelled: TimerOperation {
  override func prepare(_ count: Int) { add(count) }
  override func perform(_ count: Int) { cancel(count) }
}

/// One-shot timers fired in one turn, and freed: the loop has the last reference.
final class TimersFired: TimedOperation {
  override func prepare(_ count: Int) {
    for _ in 0..<count { loop.add(Loop.Timer(after: .zero) { [tally] _ in tally.call() }) }
  }

  override func perform(_ count: Int) {
    loop.run(for: .zero)
  }
}

/// Repeating timers fired in one turn.
final class TimersTicking: TimedOperation {
  private var timers: [Loop.Timer] = []

  override func prepare(_ count: Int) {
    while timers.count > count { timers.removeLast().invalidate() }
    while timers.count < count {
      let timer = Loop.Timer(every: .seconds(3600)) { [tally] _ in tally.call() }
      timers.append(timer)
      loop.add(timer)
    }
    for timer in timers { timer.setFireDate(after: .zero) }
    tally.calls = 0
  }

  override func perform(_ count: Int) {
    loop.run(for: .zero)
  }
}
