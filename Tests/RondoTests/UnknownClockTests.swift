import Rondo
import RondoTesting
import Synchronization
import Testing
@_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency

/// What the loop is asked to wait for by a clock that it does not know.
@Suite struct UnknownClockTests {
  /// A clock that shows a tenth of the time.
  private struct Slow: Clock {
    struct Instant: InstantProtocol {
      var time: Duration
      func advanced(by duration: Duration) -> Self { Self(time: time + duration) }
      func duration(to other: Self) -> Duration { other.time - time }
      static func < (left: Self, right: Self) -> Bool { left.time < right.time }
    }
    let start = ContinuousClock.now
    var now: Instant { Instant(time: (ContinuousClock.now - start) / 10) }
    var minimumResolution: Duration { .nanoseconds(1) }
    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
      try await ContinuousClock().sleep(until: start + deadline.time * 10)
    }
  }

  @Test func `goes by the clock's own way to sleep, and not at once`() async throws {
    let running = RunningLoop()
    let loop = running.loop
    let clock = Slow()
    await Task(executorPreference: loop) { try? await Task.sleep(for: .milliseconds(3), clock: clock) }.value
    #expect(clock.now.time >= .milliseconds(3))
    await later(loop, clock).value
    #expect(clock.now.time >= .milliseconds(6))
    running.stop()
  }

  /// A task whose first job comes by `enqueue(_:after:tolerance:clock:)`.
  private func later(_ loop: Loop, _ clock: Slow) -> Task<Void, Never> {
    Task(executorPreference: Delaying(loop, clock)) {}
  }

  private final class Delaying: TaskExecutor, Sendable {
    let loop: Loop
    let clock: Slow
    init(_ loop: Loop, _ clock: Slow) { (self.loop, self.clock) = (loop, clock) }
    func enqueue(_ job: consuming ExecutorJob) {
      loop.enqueue(job, after: .milliseconds(3), tolerance: nil, clock: clock)
    }
  }
}
