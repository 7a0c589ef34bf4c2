import CBench

/// A daemon that has nothing to do: a timer a second, and half a second later a wakeup from another thread.
///
/// The figure is the processor time of the whole process, the waking thread's share included, which is the same for all.
struct WakeIdle: Workload {
  let name = "wake.idle"
  let summary = "an idle daemon, with a timer and a wakeup by another thread a second: processor time a second"

  /// The size is in seconds.
  func plan(_ effort: Effort) -> Plan {
    switch effort {
    case .quick: Plan(rounds: 1, discarded: 0, size: 2, placement: .apart)
    case .full: Plan(rounds: 1, discarded: 0, size: 60, placement: .apart)
    }
  }

  private static let second: Int64 = 1_000_000_000

  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round {
    try LoopThread.run(subject, within: Double(size) + 10) { handle throws(Refusal) in
      let (ticks, wakes) = (Meter(target: size, stopping: handle), Meter(target: 0, stopping: handle))
      let wake = try handle.loop.addWake(wakes.call)
      defer { wake.remove() }
      let origin = bench_now()
      let timer = try handle.loop.addRepeats([origin + Self.second], every: Self.second, tolerance: 0, ticks.call)
      defer { timer.remove() }
      let sender = PinnedThread(on: Processors().all[0]) { () throws(Refusal) in
        for number in 0..<size {
          let date = origin + Int64(number) * Self.second + Self.second / 2
          bench_pause(max(0, date - bench_now()))
          wake.send()
        }
      }
      let (cpu, sleeps) = (bench_cpu_time(), bench_sleep_count())
      handle.loop.run()
      let (usedCPU, slept) = (bench_cpu_time() - cpu, bench_sleep_count() - sleeps)
      try sender.join(within: 5)
      try ticks.check(size)
      try wakes.check(size)
      // The sender has slept once for each of its wakeups.
      let waits = Double(slept - Int64(size)) / Double(size)
      return Round([
        Part(
          unit: "ns CPU/s", value: Double(usedCPU) / Double(size),
          gauges: [Gauge(metric: "waits", unit: "waits/s", value: waits)])
      ])
    }
  }
}
