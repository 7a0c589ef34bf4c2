import CBench

/// A repeating timer on an otherwise idle loop: how late it fires, whether it keeps its phase, what it misses.
///
/// The grid belongs to the harness, so one rule counts missed ticks for all. Subjects that repeat by themselves do;
/// those that re-arm (raw, libevent) do so for the next point of the absolute grid.
struct TimerLateness: Workload {
  let name: String
  let summary: String
  private let interval: Int64
  /// Nanoseconds between whole milliseconds and the grid.
  private let phase: Int64
  /// How long a callout computes.
  private let work: Int64
  /// Threads that compute without end beside the timer's.
  private let load: Load
  private let quick: Plan
  private let full: Plan
  let counting: Counting?

  private init(
    _ name: String, _ summary: String, every interval: Int64, phase: Int64 = 0, work: Int64 = 0,
    quick: Plan, full: Plan, load: Load = .none, counting: Counting? = nil
  ) {
    (self.name, self.summary, self.interval, self.phase) = (name, summary, interval, phase)
    (self.work, self.load) = (work, load)
    (self.quick, self.full, self.counting) = (quick, full, counting)
  }

  static let everyMillisecond = TimerLateness(
    "timer.lateness.1ms", "a timer repeating every millisecond: lateness, drift, ticks missed", every: 1_000_000,
    quick: Plan(rounds: 10, size: 40), full: Plan(rounds: 12, size: 400))

  /// On the whole millisecond every fourth point, at 250 Hz, is the kernel's tick as well, whose handler holds the
  /// processor for tens of microseconds. Here none is; a loop that counts in milliseconds is late by its rounding.
  static let betweenTicks = TimerLateness(
    "timer.lateness.1ms.between", "the same, half a millisecond beside the kernel's own tick", every: 1_000_000,
    phase: 500_000, quick: Plan(rounds: 10, size: 40), full: Plan(rounds: 12, size: 400))

  static let everyTenMilliseconds = TimerLateness(
    "timer.lateness.10ms", "a timer repeating every ten milliseconds: lateness, drift, ticks missed",
    every: 10_000_000, quick: Plan(rounds: 4, size: 8), full: Plan(rounds: 12, size: 40),
    // There is no sender whose sleep would have to be left out; a subject's own counts.
    counting: Counting(metric: "syscalls/fire", small: 20, large: 80, harness: []))

  static let loaded = TimerLateness(
    "timer.lateness.1ms.loaded", "the same every millisecond while a thread keeps another processor busy",
    every: 1_000_000, quick: Plan(rounds: 10, size: 30), full: Plan(rounds: 12, size: 400),
    load: .elsewhere)

  /// A server on a machine that has more to do than it has processors: the kernel chooses who runs.
  ///
  /// Requests do not come in step with the kernel's tick, and neither do these fires: 40 of them go through all phases of
  /// a tick of 4 ms. At 10 ms, which is in step with it, a fire almost always finds a busy thread whose slice may end.
  static let crowded = TimerLateness(
    "timer.lateness.crowded",
    "a timer repeating every 7.1 ms that computes for 0.2 ms, beside two busy threads on its processor",
    every: 7_100_000, work: 200_000, quick: Plan(rounds: 3, size: 40), full: Plan(rounds: 12, size: 120), load: .onTop)

  private enum Load {
    case none
    /// One on another processor.
    case elsewhere
    /// Two on the timer's own, which has less to do than its share.
    case onTop

    var processors: [CInt] {
      let processors = Processors()
      switch self {
      case .none: return []
      case .elsewhere: return [processors.all[0]]
      case .onTop: return [processors.loop, processors.loop]
      }
    }
  }

  /// One long run: drift shows over time or not at all.
  static let drift = TimerLateness(
    "timer.drift.1ms", "a timer repeating every millisecond for ten seconds: drift", every: 1_000_000,
    quick: Plan(rounds: 1, discarded: 0, size: 5000, onRequest: true),
    full: Plan(rounds: 1, discarded: 0, size: 10_000))

  var obstacle: String? {
    load == .elsewhere && Processors().all.count < 2 ? "needs two processors" : nil
  }

  func plan(_ effort: Effort) -> Plan {
    switch effort {
    case .quick: quick
    case .full: full
    }
  }

  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round {
    let busy = load.processors.map { BusyThread(on: $0) }
    defer { for thread in busy { thread.stop() } }
    let (meter, cpu) = try run(subject, size, beside: busy)
    guard meter.early == 0 else { throw .failed("\(meter.early) of \(meter.fires) fires came early") }
    // A last callout that came a whole interval late has used up points behind the end of the grid.
    guard meter.fires + meter.missed >= size else {
      throw .failed("\(meter.fires) fires and \(meter.missed) missed for \(size) ticks")
    }
    var gauges = [
      Gauge(metric: "missed", unit: "ticks", value: Double(meter.missed), combination: .sum),
      Gauge(metric: "cpu/fire", unit: "ns", value: Double(cpu) / Double(max(1, meter.fires))),
    ]
    if let drift = meter.drift {
      gauges.append(Gauge(metric: "drift", unit: "ns", value: Double(drift), combination: .worst))
    }
    if size >= Self.enoughForCreep {
      gauges.append(Gauge(metric: "creep", unit: "ns", value: creep(meter.lateness)))
    }
    return Round([Part(times: meter.lateness, gauges: gauges)])
  }

  func countedRound(of subject: any Subject, size: Int) throws(Refusal) -> Int {
    if subject.spins { throw .cannot("spins: their number is that of the time, and of what strace does to it") }
    return try run(subject, size, beside: []).meter.fires
  }

  /// The timer's run, and the processor time it took the whole process, worker threads included.
  ///
  /// Without what the harness itself used: the busy threads, and the callouts that compute.
  private func run(
    _ subject: any Subject, _ size: Int, beside busy: [BusyThread]
  ) throws(Refusal) -> (meter: TickMeter, cpu: Int64) {
    let (interval, phase, work) = (interval, phase, work)
    let result = Box<(meter: TickMeter, cpu: Int64)?>(nil)
    let thread = PinnedThread(on: Processors().loop) { () throws(Refusal) in
      let meter = TickMeter(every: interval, phase: phase, work: work, count: size)
      let before = Self.cpuTime(beside: busy)
      try subject.runTimer(hitting: meter)
      let cpu = Self.cpuTime(beside: busy) - before - meter.worked
      result.value = (meter, cpu)
    }
    try thread.join(within: 5 + 2 * Double(interval) * Double(size) / 1e9)
    guard let outcome = result.value else { throw .failed("the timer did not run") }
    return outcome
  }

  /// Processor time of the process without that of some of its threads.
  ///
  /// Theirs is read first: the kernel then brings it up to date, which it would not do for the process's.
  private static func cpuTime(beside busy: [BusyThread]) -> Int64 {
    let theirs = busy.reduce(0) { $0 + $1.cpuTime }
    return bench_cpu_time() - theirs
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
