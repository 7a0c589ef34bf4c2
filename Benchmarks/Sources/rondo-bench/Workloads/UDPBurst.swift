import CBench
import Foundation

/// 100,000 datagrams of 64 bytes in half a second, which a program receives, one for each subject.
///
/// Sender and receiver have a processor each. Whoever has no work keeps up, and the figure is the processor time of a
/// datagram. Whoever computes for 3 us of the 5 us between two has to catch up after each delay, before the receive buffer
/// is full, and the figure is the time in which it receives one: the more it loses, the longer.
struct UDPBurst: Workload {
  private let work: Int64

  /// - Parameter work: How long the receiver computes for each datagram, in nanoseconds.
  init(work: Int64 = 0) {
    self.work = work
  }

  /// Those that have a program under Sources/Burst.
  private static let receivers: Set<String> = ["raw", "libuv", "nio", "rondo", "rondo.async"]

  var name: String { work == 0 ? "udp.burst" : "udp.burst.work" }
  var summary: String {
    work == 0
      ? "100,000 datagrams in half a second: processor time of each that is received"
      : "the same, with 3 us of work for each: time for each that is received"
  }

  var obstacle: String? {
    Processors().all.count < 2 ? "needs two processors" : nil
  }

  /// `size` is how many thousand datagrams are sent, 5 us apart.
  func plan(_ effort: Effort) -> Plan {
    switch effort {
    case .quick: Plan(rounds: 3, discarded: 0, size: 20, onRequest: true)
    case .full: Plan(rounds: 9, size: 100)
    }
  }

  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round {
    guard Self.receivers.contains(subject.name) else { throw .cannot("receives no datagrams here") }
    let program = URL(filePath: Child.executable).deletingLastPathComponent()
      .appending(path: "burst-\(subject.name.replacing(".", with: "-"))").path
    guard FileManager.default.isExecutableFile(atPath: program) else {
      throw .absent("\(program) is not built; make bench builds it")
    }
    let processors = Processors()
    let work = work
    let answer = Box<(status: Int32, burst: bench_burst)>((-1, bench_burst()))
    let thread = PinnedThread(on: processors.all[0]) { () throws(Refusal) in
      var burst = bench_burst()
      (burst.receiver, burst.sender) = (processors.loop, processors.all[0])
      (burst.datagrams, burst.bytes, burst.work) = (Int64(size) * 1000, 64, work)
      burst.nanoseconds = burst.datagrams * 5000
      answer.value = (bench_burst_run(program, &burst), burst)
    }
    try thread.join(within: 60)
    switch answer.value.status {
    case 0: return Round([part(of: answer.value.burst)])
    case 3: throw .absent("its program was built without its library")
    case -2: throw .failed("it received nothing, or what was not sent")
    case let status: throw .failed("its program ended with status \(status)")
    }
  }

  private func part(of burst: bench_burst) -> Part {
    let received = Double(burst.received)
    let processor = Double(burst.processor) / received
    let time = Double(burst.elapsed) / received
    return Part(
      value: work == 0 ? processor : time,
      gauges: [
        Gauge(metric: "received", unit: "%", value: 100 * received / Double(burst.datagrams)),
        work == 0
          ? Gauge(metric: "time", unit: "ns", value: time) : Gauge(metric: "processor", unit: "ns", value: processor),
      ])
  }
}
