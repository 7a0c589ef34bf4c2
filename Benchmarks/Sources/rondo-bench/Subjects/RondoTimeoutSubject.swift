import CBench
import Rondo

/// Rondo's timeouts: handles without an object, for who has one of them a connection.
struct RondoTimeoutSubject: Subject {
  let name = "rondo.timeout"
  let summary = "Loop.Timeout instead of Loop.Timer; in all else it is rondo"

  func openLoop(posts: Bool) throws(Refusal) -> any BenchLoop {
    TimeoutLoop()
  }

  func runTimer(hitting meter: TickMeter) throws(Refusal) {
    throw .cannot("differs from rondo in timers that fire once")
  }
}

private final class TimeoutLoop: BenchLoop {
  private let loop = Loop.current

  func run() { loop.run() }
  func stop() { loop.stop() }
  func poll() { loop.run(for: .zero) }

  var postRefusal: Refusal? { .cannot("differs from rondo in its timers alone") }

  func addWake(_ call: Call) throws(Refusal) -> any Wake {
    throw .cannot("differs from rondo in its timers alone")
  }

  func addShots(_ dues: [Int64], _ call: Call) throws(Refusal) -> any ShotBank {
    let epoch = SuspendingClock().systemEpoch
    return TimeoutBank(
      loop: loop, epoch: epoch,
      timeouts: dues.map { due in
        let timeout = loop.makeTimeout { [call] in call() }
        loop.arm(timeout, at: epoch.advanced(by: .nanoseconds(due)))
        return timeout
      })
  }

  func makeTimers(_ count: Int, _ call: Call) throws(Refusal) -> any TimerBank {
    TimeoutBank(
      loop: loop, epoch: SuspendingClock().systemEpoch,
      timeouts: (0..<count).map { _ in loop.makeTimeout { [call] in call() } })
  }
}

private struct TimeoutBank: ShotBank, TimerBank {
  let loop: Loop
  let epoch: SuspendingClock.Instant
  let timeouts: [Loop.Timeout]

  func start(_ dues: [Int64]) {
    for (timeout, due) in zip(timeouts, dues) { loop.arm(timeout, at: epoch.advanced(by: .nanoseconds(due))) }
  }

  func stop(_ order: [Int]) {
    for index in order { loop.disarm(timeouts[index]) }
  }

  func cancel(_ order: [Int]) {
    for index in order { loop.discard(timeouts[index]) }
  }

  /// Those that have fired are dormant.
  func free() {
    for timeout in timeouts { loop.discard(timeout) }
  }
}
