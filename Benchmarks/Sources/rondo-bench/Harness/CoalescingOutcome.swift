import CBench

/// What a window of repeating timers' fires shows.
struct CoalescingOutcome {
  /// Blocking waits of the process.
  let waits: Int64
  let fires: Int
  /// Processor time of the process and the time that passed, in nanoseconds.
  let cpu, elapsed: Int64
  /// The median lateness of a fire and the longest, in nanoseconds.
  let late, latest: Double

  init(_ window: bench_window) {
    waits = window.last_sleeps - window.first_sleeps
    fires = window.fires
    cpu = window.last_cpu - window.first_cpu
    elapsed = window.end - window.begin
    let lateness = UnsafeBufferPointer(start: window.lateness, count: min(fires, window.capacity)).map(Double.init)
    late = Statistics.median(lateness)
    latest = lateness.max() ?? 0
  }

  /// Why fires that were asked for without tolerance are other work than that; nil when they are not.
  ///
  /// A loop that sleeps whole milliseconds is late and has nothing to do most of the time. One that is late because it is
  /// slow, or its machine, is busy.
  var refusal: Refusal? {
    guard late > Self.lateWithoutTolerance, 2 * cpu < elapsed else { return nil }
    return .cannot("is \(Number.text((late / 1000).rounded())) us late: it sleeps whole milliseconds")
  }

  private static let lateWithoutTolerance = 500_000.0
}
