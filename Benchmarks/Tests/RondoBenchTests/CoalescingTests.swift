import CBench
import Testing

@testable import rondo_bench

/// How late timers are that may share wakes, and which lateness is other work than was asked for.
@Suite struct CoalescingTests {
  private static let hour: Int64 = 3_600_000_000_000

  /// A window that is open from the first callout on; its first due was `hours` ago, and one more is each hour.
  private func withHourlyDues(
    since hours: Int64, calls: Int, opens: Int64 = 0, _ body: (bench_window) -> Void
  ) {
    let lateness = UnsafeMutablePointer<Int64>.allocate(capacity: 4)
    lateness.initialize(repeating: -1, count: 4)
    defer { lateness.deallocate() }
    let window = Meter(bench_window())
    window.pointer.pointee.opens = opens
    window.pointer.pointee.length = 100 * Self.hour
    window.pointer.pointee.origin = bench_now() - hours * Self.hour
    window.pointer.pointee.step = Self.hour
    window.pointer.pointee.lateness = lateness
    window.pointer.pointee.capacity = 4
    for _ in 0..<calls { bench_window_called(window.pointer) }
    body(window.value)
  }

  @Test func `The n-th fire is late by the n-th due`() {
    withHourlyDues(since: 10, calls: 3) { window in
      #expect(window.fires == 3)
      // To the hour: the test takes no longer.
      #expect((0..<4).map { window.lateness[$0] / Self.hour } == [10, 9, 8, 0])
    }
  }

  @Test func `A fire before the window opens has its due, and no place in the figures`() {
    withHourlyDues(since: 10, calls: 2, opens: .max / 2) { window in
      #expect(window.fires == 0 && window.calls == 2)
      #expect(window.lateness[0] == -1)
    }
  }

  @Test func `Fires beyond the room for them are counted alone`() {
    withHourlyDues(since: 10, calls: 6) { window in
      #expect(window.fires == 6)
      #expect(window.lateness[3] / Self.hour == 7)
      #expect((CoalescingOutcome(window).latest / Double(Self.hour)).rounded(.down) == 10)
    }
  }

  /// What a window of a second shows whose process had a processor for `cpu` nanoseconds of it.
  private func outcome(late lateness: [Int64], cpu: Int64) -> CoalescingOutcome {
    var lateness = lateness
    return lateness.withUnsafeMutableBufferPointer { buffer in
      var window = bench_window()
      (window.begin, window.end) = (5, 1_000_000_005)
      (window.first_cpu, window.last_cpu) = (7, 7 + cpu)
      (window.first_sleeps, window.last_sleeps) = (2, 12)
      (window.fires, window.capacity, window.lateness) = (buffer.count, buffer.count, buffer.baseAddress)
      return CoalescingOutcome(window)
    }
  }

  @Test func `A window's figures are differences, the median lateness and the longest`() {
    let outcome = outcome(late: [30, 10, 90, 20], cpu: 40)
    #expect(outcome.waits == 10 && outcome.fires == 4 && outcome.cpu == 40 && outcome.elapsed == 1_000_000_000)
    #expect(outcome.late == 25 && outcome.latest == 90)
  }

  @Test func `A loop that is idle and half a millisecond late is refused, with its lateness`() {
    let refusal = outcome(late: [100_000, 612_345, 900_000], cpu: 499_999_999).refusal
    #expect(refusal == .cannot("is 612 us late: it sleeps whole milliseconds"))
  }

  @Test func `One that is not later than that is not refused, however late the worst`() {
    #expect(outcome(late: [500_000, 500_000, 90_000_000], cpu: 0).refusal == nil)
  }

  @Test func `One that is late because it was busy is not refused`() {
    #expect(outcome(late: [900_000_000], cpu: 500_000_000).refusal == nil)
  }
}
