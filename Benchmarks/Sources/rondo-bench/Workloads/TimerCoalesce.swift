import CBench

/// Repeating timers with a tolerance: how often a loop has to wake for them, and how late they are for that.
///
/// A blocking wait is a voluntary context switch by the kernel's count: of every thread of a process that does nothing
/// else. Beside it stands what no loop can do better for the same timers in the same time: the offline optimum.
struct TimerCoalesce: Workload {
  let name: String
  let summary: String
  private let count: Int
  private let tolerance: Int64
  /// Whether a subject whose timers take no tolerance may be late by its own rounding.
  private let mayRound: Bool
  /// Ten thousand separate dues a second leave no time to sleep between all of them: what counts is the work.
  private let countsWork: Bool

  /// `tolerance` is in per cent of the interval.
  init(_ count: Int, _ tolerance: Int) {
    name = "timer.coalesce.\(count).\(tolerance)"
    countsWork = tolerance == 0 && count > 1000
    let figure = countsWork ? "processor time a fire" : "blocking waits a second"
    summary = "\(count) timers of 1 s, phases spread, tolerance \(tolerance) %: \(figure)"
    (self.count, self.tolerance, mayRound) = (count, Int64(tolerance) * Self.interval / 100, false)
  }

  /// Each may be late by a millisecond, by a tolerance or by rounding.
  static let withinMillisecond = TimerCoalesce(within: 1, 10_000)

  private init(within milliseconds: Int, _ count: Int) {
    name = "timer.coalesce.\(count).\(milliseconds)ms"
    summary = "\(count) timers of 1 s, phases spread, up to \(milliseconds) ms late by any means: processor time a fire"
    (self.count, tolerance, mayRound, countsWork) = (count, Int64(milliseconds) * 1_000_000, true, true)
  }

  func plan(_ effort: Effort) -> Plan {
    // Ten thousand fires a second are work, and must not meet another subject's.
    let placement = count > 100 ? Plan.Placement.here : .apart
    return switch effort {
    // A count, which time does not change: one round.
    case .quick: Plan(rounds: 1, discarded: 0, size: 2, onRequest: count > 100, placement: placement)
    case .full: Plan(rounds: 2, discarded: 0, size: 5, placement: placement)
    }
  }

  /// `size` is the length of the run in seconds, after one second in which every timer fires once.
  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round {
    try LoopThread.run(subject) { handle throws(Refusal) in
      let loop = handle.loop
      let step = Self.interval / Int64(count)
      let window = CoalescingWindow(handle, seconds: size, dues: count)
      // A loop without anything else to wait for may end its run.
      let keeper = try? loop.addWake(Call(callout: bench_counter_called, context: nil))
      defer { keeper?.remove() }
      // On a whole millisecond, so that a loop that knows nothing finer loses nothing by the first due.
      let origin = (bench_now() + 20_000_000) / 1_000_000 * 1_000_000
      let dues = (0..<count).map { origin + Int64($0) * step }
      window.open(at: origin + Self.interval, firstDue: origin, step: step)
      let asked = mayRound && !loop.hasTolerance ? 0 : tolerance
      let repeats = try loop.addRepeats(dues, every: Self.interval, tolerance: asked, window.call)
      loop.run()
      repeats.remove()
      return Round([try part(window.outcome, dues)])
    }
  }

  private func part(_ outcome: CoalescingOutcome, _ dues: [Int64]) throws(Refusal) -> Part {
    // In timer seconds: as many fires as the timers have in one. It is the clock's unless the subject falls behind.
    let seconds = Double(outcome.fires) / Double(count)
    let waits = Double(outcome.waits) / seconds
    let optimum = CoalescingOptimum.wakesPerSecond(dues: dues, interval: Self.interval, tolerance: tolerance)
    if tolerance == 0 {
      if let refusal = outcome.refusal { throw refusal }
    } else if !countsWork, waits < optimum / 2 {
      throw .cannot("is late: \(Number.text(waits)) waits/s where \(Number.text(optimum)) is the least")
    }
    let cpu = Double(outcome.cpu) / Double(outcome.fires)
    return Part(
      unit: countsWork ? "ns CPU/fire" : "waits/s", value: countsWork ? cpu : waits,
      gauges: [
        countsWork
          ? Gauge(metric: "waits", unit: "waits/s", value: waits) : Gauge(metric: "cpu/fire", unit: "ns", value: cpu),
        Gauge(metric: "optimum", unit: "waits/s", value: optimum),
        Gauge(metric: "late", unit: "ns", value: outcome.late),
        Gauge(metric: "late.max", unit: "ns", value: outcome.latest, combination: .worst),
      ])
  }

  private static let interval: Int64 = 1_000_000_000
}

/// Counts fires and waits of whole wakes, and how late each fire is.
///
/// The callouts of the timers themselves open and close it, so that nothing else wakes the loop. Sendable because they
/// are its only users until the loop has returned.
private final class CoalescingWindow: @unchecked Sendable {
  private let meter: Meter<bench_window>

  /// `dues` is how many there are in a second.
  init(_ handle: LoopHandle, seconds: Int, dues: Int) {
    meter = Meter(bench_window())
    let capacity = (seconds + 1) * dues
    let lateness = UnsafeMutablePointer<Int64>.allocate(capacity: capacity)
    lateness.initialize(repeating: 0, count: capacity)
    meter.pointer.pointee.length = Int64(seconds) * 1_000_000_000
    meter.pointer.pointee.patience = 500_000_000
    meter.pointer.pointee.lateness = lateness
    meter.pointer.pointee.capacity = capacity
    meter.pointer.pointee.stopper = handle.stopper
  }

  deinit { meter.value.lateness.deallocate() }

  var call: Call { Call(callout: bench_window_called, context: meter.pointer) }

  func open(at instant: Int64, firstDue: Int64, step: Int64) {
    meter.pointer.pointee.opens = instant
    meter.pointer.pointee.origin = firstDue
    meter.pointer.pointee.step = step
  }

  var outcome: CoalescingOutcome { CoalescingOutcome(meter.value) }
}
