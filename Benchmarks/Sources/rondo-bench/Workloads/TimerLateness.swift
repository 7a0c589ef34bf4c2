import Synchronization

/// A repeating timer on an otherwise idle loop: how late it fires, whether it keeps its phase, what it misses.
///
/// The grid belongs to the harness, so one rule counts missed ticks for all. Subjects that repeat by themselves do;
/// those that re-arm (raw, libevent) do so for the next point of the absolute grid.
struct TimerLateness: Workload {
  let name: String
  let summary: String
  private let interval: Int64
  private let quick: Plan
  private let full: Plan

  static let everyMillisecond = TimerLateness(
    name: "timer.lateness.1ms", summary: "a timer repeating every millisecond: lateness, drift, ticks missed",
    interval: 1_000_000, quick: Plan(rounds: 4, size: 400), full: Plan(rounds: 12, size: 2000))

  static let everyTenMilliseconds = TimerLateness(
    name: "timer.lateness.10ms", summary: "a timer repeating every ten milliseconds: lateness, drift, ticks missed",
    interval: 10_000_000, quick: Plan(rounds: 4, size: 50), full: Plan(rounds: 12, size: 300))

  /// One long run: drift shows over time or not at all.
  static let drift = TimerLateness(
    name: "timer.drift.1ms", summary: "a timer repeating every millisecond for a minute: drift",
    interval: 1_000_000, quick: Plan(rounds: 1, discarded: 0, size: 5000, onRequest: true),
    full: Plan(rounds: 1, discarded: 0, size: 60_000))

  func plan(_ effort: Effort) -> Plan {
    switch effort {
    case .quick: quick
    case .full: full
    }
  }

  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round {
    let interval = interval
    let result = TickResult()
    let thread = PinnedThread(on: Processors().loop) { () throws(Refusal) in
      let meter = TickMeter(every: interval, count: size)
      try subject.runTimer(hitting: meter)
      result.meter.withLock { $0 = meter }
    }
    try thread.join(within: 5 + 2 * Double(interval) * Double(size) / 1e9)
    guard let meter = result.meter.withLock({ $0 }) else { throw .failed("the timer did not run") }
    guard meter.early == 0 else { throw .failed("\(meter.early) of \(meter.fires) fires came early") }
    // A last callout that came a whole interval late has used up points behind the end of the grid.
    guard meter.fires + meter.missed >= size else {
      throw .failed("\(meter.fires) fires and \(meter.missed) missed for \(size) ticks")
    }
    var gauges = [Gauge(metric: "missed", unit: "ticks", value: Double(meter.missed), combination: .sum)]
    if let drift = meter.drift {
      gauges.append(Gauge(metric: "drift", unit: "ns", value: Double(drift), combination: .worst))
    }
    if size >= Self.enoughForCreep {
      gauges.append(Gauge(metric: "creep", unit: "ns", value: creep(meter.lateness), combination: .median))
    }
    return Round(times: meter.lateness, gauges: gauges)
  }

  /// Shorter runs only show the processor warming up.
  private static let enoughForCreep = 5000

  /// How much later the last tenth fires than the first: drift as an outsider sees it, with the kernel's noise.
  private func creep(_ lateness: [Int64]) -> Double {
    let tenth = max(1, lateness.count / 10)
    return Double(median(lateness.suffix(tenth)) - median(lateness.prefix(tenth)))
  }

  private func median(_ values: ArraySlice<Int64>) -> Int64 {
    values.sorted()[values.count / 2]
  }
}

/// Carries the meter from the loop's thread.
private final class TickResult: Sendable {
  let meter = Mutex<TickMeter?>(nil)
}
