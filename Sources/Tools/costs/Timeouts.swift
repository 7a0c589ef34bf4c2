import Rondo

/// Timeouts that the operation makes, each an hour away and later than the one before.
@safe class TimeoutOperation: TimedOperation {
  @safe @exclusivity(unchecked) private var timeouts: [Loop.Timeout] = []

  override init(_ loop: Loop) {
    super.init(loop)
    timeouts.reserveCapacity(Operation.limit)
  }

  final func make(_ count: Int) {
    for _ in 0..<count { timeouts.append(loop.makeTimeout(after: .seconds(3_600)) { [tally] in tally.call() }) }
  }

  final func putOff(_ count: Int) {
    for index in 0..<count { loop.arm(timeouts[index], after: .seconds(7_200)) }
  }

  final func disarm(_ count: Int) {
    for index in 0..<count { loop.disarm(timeouts[index]) }
  }

  final func discard(_ count: Int) {
    for index in 0..<count { loop.discard(timeouts[index]) }
  }

  final func forget() { timeouts.removeAll(keepingCapacity: true) }

  override func expectedCalls(_ count: Int) -> Int { 0 }
  override func check(_ count: Int) {
    super.check(count)
    discard(count)
    forget()
  }
}

/// Timeouts made and armed.
final class TimeoutsMade: TimeoutOperation {
  override func perform(_ count: Int) { make(count) }
}

/// Timeouts put off.
final class TimeoutsPutOff: TimeoutOperation {
  override func prepare(_ count: Int) { make(count) }
  override func perform(_ count: Int) { putOff(count) }
}

/// Timeouts disarmed.
final class TimeoutsDisarmed: TimeoutOperation {
  override func prepare(_ count: Int) { make(count) }
  override func perform(_ count: Int) { disarm(count) }
}

/// Timeouts discarded.
final class TimeoutsDiscarded: TimeoutOperation {
  override func prepare(_ count: Int) { make(count) }
  override func perform(_ count: Int) { discard(count) }
  override func check(_ count: Int) { forget() }
}

/// Timeouts fired in one turn; they are dormant then.
final class TimeoutsFired: TimedOperation {
  @safe @exclusivity(unchecked) private var timeouts: [Loop.Timeout] = []

  override func prepare(_ count: Int) {
    for _ in 0..<count { timeouts.append(loop.makeTimeout(after: .zero) { [tally] in tally.call() }) }
  }

  override func perform(_ count: Int) { loop.run(for: .zero) }

  override func check(_ count: Int) {
    super.check(count)
    for timeout in timeouts { loop.discard(timeout) }
    timeouts.removeAll(keepingCapacity: true)
  }
}
