import CBench

/// Repeating timers with a tolerance: how often a loop has to wake for them.
///
/// A blocking wait is a voluntary context switch by the kernel's count: of every thread of a process that does nothing
/// else. Beside it stands what no loop can do better for the same timers in the same time: the offline optimum.
struct TimerCoalesce: Workload {
  private let count: Int
  /// In per cent of the interval.
  private let tolerance: Int

  init(_ count: Int, _ tolerance: Int) {
    (self.count, self.tolerance) = (count, tolerance)
  }

  var name: String { "timer.coalesce.\(count).\(tolerance)" }
  var summary: String { "\(count) timers of 1 s, phases spread, tolerance \(tolerance) %: blocking waits a second" }

  func plan(_ effort: Effort) -> Plan {
    switch effort {
    // A count, which time does not change: one round.
    case .quick:
      Plan(rounds: 1, discarded: 0, size: 2, onRequest: count > 100, placement: .apart)
    case .full:
      // Ten thousand fires a second are work, and must not meet another subject's.
      Plan(rounds: 2, discarded: 0, size: 5, placement: count > 100 ? .here : .apart)
    }
  }

  /// `size` is the length of the run in seconds, after one second in which every timer fires once.
  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round {
    let (count, tolerance) = (count, Int64(tolerance) * Self.interval / 100)
    return try LoopThread.run(subject) { handle throws(Refusal) in
      let loop = handle.loop
      let window = CoalescingWindow(handle, seconds: size)
      // A loop without anything else to wait for may end its run.
      let keeper = try? loop.addWake(Call(callout: bench_counter_called, context: nil))
      defer { keeper?.remove() }
      let origin = bench_now() + 20_000_000
      let dues = (0..<count).map { origin + Int64($0) * Self.interval / Int64(count) }
      let repeats = try loop.addRepeats(dues, every: Self.interval, tolerance: tolerance, window.call)
      window.open(at: origin + Self.interval)
      loop.run()
      repeats.remove()
      let outcome = window.outcome
      // In timer seconds: as many fires as the timers have in one. It is the clock's unless the subject falls behind.
      let seconds = Double(outcome.fires) / Double(count)
      let waits = Double(outcome.waits) / seconds
      let optimum = CoalescingOptimum.wakesPerSecond(dues: dues, interval: Self.interval, tolerance: tolerance)
      guard tolerance == 0 || waits >= optimum / 2 else {
        throw .cannot("is late: \(Number.text(waits)) waits/s where \(Number.text(optimum)) is the least")
      }
      let cpu = Gauge(metric: "cpu/fire", unit: "ns", value: Double(outcome.cpu) / Double(outcome.fires))
      let least = Gauge(metric: "optimum", unit: "waits/s", value: optimum)
      // Ten thousand separate dues a second leave no time to sleep between all of them: what counts is the work.
      if tolerance == 0, count > 1000 {
        let slept = Gauge(metric: "waits", unit: "waits/s", value: waits)
        return Round([Part(unit: "ns CPU/fire", value: cpu.value, gauges: [slept, least])])
      }
      return Round([Part(unit: "waits/s", value: waits, gauges: [least, cpu])])
    }
  }

  private static let interval: Int64 = 1_000_000_000
}

/// Counts fires and waits of whole wakes.
///
/// The callouts of the timers themselves open and close it, so that nothing else wakes the loop. Sendable because they
/// are its only users until the loop has returned.
private final class CoalescingWindow: @unchecked Sendable {
  private let meter: Meter<bench_window>

  init(_ handle: LoopHandle, seconds: Int) {
    meter = Meter(bench_window())
    meter.pointer.pointee.length = Int64(seconds) * 1_000_000_000
    meter.pointer.pointee.patience = 500_000_000
    meter.pointer.pointee.stopper = handle.stopper
  }

  var call: Call { Call(callout: bench_window_called, context: meter.pointer) }

  func open(at instant: Int64) { meter.pointer.pointee.opens = instant }

  var outcome: (waits: Int64, fires: Int, cpu: Int64) {
    let window = meter.value
    return (window.last_sleeps - window.first_sleeps, window.fires, window.last_cpu - window.first_cpu)
  }
}
