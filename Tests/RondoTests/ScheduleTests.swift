import Testing

@testable import Rondo

@Suite struct ScheduleTests {
  private func schedule(at date: Int64, every interval: Int64, tolerance: Int64 = 0) -> Schedule {
    Schedule(fireDate: Instant(nanoseconds: date), interval: interval, tolerance: tolerance)
  }

  // MARK: - The grid

  private func next(after now: Int64, from date: Int64, every interval: Int64) -> (next: Instant, passed: Int) {
    Schedule.nextGridPoint(after: Instant(nanoseconds: now), from: Instant(nanoseconds: date), interval: interval)
  }

  @Test func `the next date is the first grid point after now`() {
    for now in Int64(100)..<200 {
      let found = next(after: now, from: 100, every: 7)
      // The slow way.
      var (date, skipped) = (Int64(107), 0)
      while date <= now {
        date += 7
        skipped += 1
      }
      #expect(found.next.nanoseconds == date)
      #expect(found.passed == skipped)
    }
  }

  @Test func `a stall of years with an interval of a nanosecond is one division`() {
    let found = next(after: 1_000_000_000_000_000_000, from: 0, every: 1)
    #expect(found.passed == 1_000_000_000_000_000_000)
    #expect(found.next.nanoseconds == 1_000_000_000_000_000_001)
  }

  @Test func `a grid that leaves the calendar ends in never`() {
    #expect(next(after: .max - 4, from: .max - 5, every: Schedule.longest).next == .distantFuture)
  }

  @Test func `two long intervals are not counted as a short one`() {
    #expect(next(after: .max - 1, from: 0, every: Schedule.longest).next.nanoseconds > Int64.max - 1)
  }

  // MARK: - Tolerance

  @Test func `a repeating schedule's tolerance is capped at half the interval`() {
    #expect(schedule(at: 100, every: 0, tolerance: 30).effectiveTolerance == 30)
    #expect(schedule(at: 100, every: 9, tolerance: 30).effectiveTolerance == 4)
    #expect(schedule(at: 100, every: 90, tolerance: 30).effectiveTolerance == 30)
    #expect(schedule(at: 100, every: 1, tolerance: 30).effectiveTolerance == 0)
  }

  // MARK: - Durations and instants

  @Test(
    arguments: [
      (Duration.zero, Int64(0)),
      (.nanoseconds(1), 1),
      (.nanoseconds(-1), -1),
      (.seconds(3) + .nanoseconds(5), 3_000_000_005),
      (Duration(secondsComponent: 0, attosecondsComponent: 1), 1),
      (Duration(secondsComponent: 0, attosecondsComponent: 1_000_000_001), 2),
      (Duration(secondsComponent: 0, attosecondsComponent: -1), 0),
      (Duration(secondsComponent: -1, attosecondsComponent: -1_500_000_000), -1_000_000_001),
      (.seconds(Int64.max), .max),
      (.seconds(Int64.min), .min),
      (.nanoseconds(Int64.max), .max),
      (.nanoseconds(Int64.max) + .nanoseconds(1), .max),
      (.nanoseconds(Int64.min), .min),
      (.nanoseconds(Int64.min) - .nanoseconds(1), .min),
    ] as [(Duration, Int64)])
  func `a duration becomes whole nanoseconds, never early, and saturates`(_ duration: Duration, _ expected: Int64) {
    #expect(duration.saturatingNanoseconds == expected)
  }

  @Test func `an instant saturates in both directions`() {
    #expect(Instant(nanoseconds: .max - 1).advanced(by: 2) == .distantFuture)
    #expect(Instant(nanoseconds: .min + 1).advanced(by: -2) == .distantPast)
    #expect(Instant.distantFuture.advanced(by: -1).nanoseconds == .max - 1)
  }

  @Test(arguments: [0, 1, 999_999_999, 1_000_000_000_000_000, Int64.max / 4])
  func `an instant and the standard library's are the same to the nanosecond`(_ nanoseconds: Int64) {
    let instant = Instant(nanoseconds: nanoseconds)
    #expect(Instant(instant.suspending) == instant)
  }

  @Test func `the loop's clock is the suspending clock`() {
    let before = Instant(SuspendingClock().now)
    let now = Loop.clockOfThread
    let after = Instant(SuspendingClock().now)
    #expect(before <= now)
    #expect(now <= after)
  }
}
