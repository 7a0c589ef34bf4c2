import CBench
import Glibc

/// A loop is woken again and again while a busy thread shares its processor: what the loop takes from that thread.
///
/// The sender has another processor, waits for each answer, and wakes the loop again 20 us later. The figure is the
/// processor time of the loop's thread by wake. A loop that spins between wakes would take all of its share.
struct WakeShared: Workload {
  let name = "wake.shared"
  let summary = "the processor time of a wake, which a busy thread on the loop's processor cannot use"
  private let processors = Processors()

  var obstacle: String? { processors.all.count < 2 ? "needs two processors" : nil }

  func plan(_ effort: Effort) -> Plan {
    switch effort {
    case .quick: Plan(rounds: 5, size: 2_000)
    case .full: Plan(rounds: 10, size: 5_000)
    }
  }

  /// Between an answer and the next wake.
  private static let gap: Int64 = 20_000

  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round {
    let meter = WakeMeter(expecting: size)
    let announcement = Announcement()
    let used = Box<Int64>(0)
    let busy = BusyThread(on: processors.loop)
    defer { busy.stop() }
    let thread = PinnedThread(on: processors.loop) { () throws(Refusal) in
      let (handle, wake) = try announcement.open(subject, meter)
      defer { handle.loop.close() }
      defer { wake.remove() }
      guard handle.loop.sleepsOnItsThread else { throw .cannot("its callouts run on threads of its own") }
      let clock = bench_thread_clock()
      let before = bench_clock_time(clock)
      handle.loop.run()
      used.value = bench_clock_time(clock) - before
    }
    guard let (wake, watch) = announcement.wait(), let watch else {
      try thread.join(within: 5)
      throw .failed("the loop was not opened")
    }
    close(watch)
    let sender = PinnedThread(on: processors.all[0]) { () throws(Refusal) in
      for index in 0..<size {
        let deadline = bench_now() + 5_000_000_000
        while meter.received < index {
          guard bench_now() < deadline else { throw .failed("wake \(index) of \(size) was lost") }
        }
        let next = bench_now() + Self.gap
        while bench_now() < next {}
        bench_meter_send(meter.pointer)
        wake.send()
      }
    }
    try sender.join(within: 30)
    try thread.join(within: 5)
    let latencies = meter.latencies(dropping: 0).sorted()
    let late = Double(latencies[latencies.count * 99 / 100])
    return Round([
      Part(
        value: Double(used.value) / Double(size),
        gauges: [Gauge(metric: "answer p99", unit: "ns", value: late)])
    ])
  }
}
