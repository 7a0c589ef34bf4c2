import CBench
import Foundation

/// An echo server, one program for each subject, and clients that are the same for all: each has one request under way.
///
/// Server and clients have a processor each. The figure is what a request takes with all connections busy: the less it
/// is, the more requests a second. Of a machine with one processor it would say more about the clients.
struct Echo: Workload {
  private let connections: Int
  private let bytes: Int
  /// Clients beside them that send without a pause.
  private let floods: Int

  init(_ connections: Int, _ bytes: Int, floods: Int = 0) {
    (self.connections, self.bytes, self.floods) = (connections, bytes, floods)
  }

  /// Those that have a program under Sources/Echo.
  private static let servers: Set<String> = [
    "raw", "libevent", "libuv", "dispatch", "nio", "nio.async", "rondo", "rondo.sockets", "rondo.async",
  ]

  var name: String { "echo.\(connections).\(bytes)\(floods > 0 ? ".flood" : "")" }
  var summary: String {
    "\(connections) clients of an echo server, \(bytes) bytes\(floods > 0 ? ", beside one that floods it" : ""): a request"
  }

  var obstacle: String? {
    Processors().all.count < 2 ? "needs two processors" : nil
  }

  /// `size` is in milliseconds.
  func plan(_ effort: Effort) -> Plan {
    switch effort {
    case .quick: Plan(rounds: 3, discarded: 0, size: 60, onRequest: bytes > 64)
    case .full: Plan(rounds: 9, size: 1000)
    }
  }

  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round {
    guard Self.servers.contains(subject.name) else { throw .cannot("has no echo server here") }
    let program = URL(filePath: Child.executable).deletingLastPathComponent()
      .appending(path: "echo-\(subject.name.replacing(".", with: "-"))").path
    guard FileManager.default.isExecutableFile(atPath: program) else {
      throw .absent("\(program) is not built; make bench builds it")
    }
    // Those of the workloads before would leave too few for the clients.
    SocketPairs.close()
    let processors = Processors()
    let (connections, bytes, floods) = (connections, bytes, floods)
    let answer = Box<(status: Int32, echo: bench_echo)>((-1, bench_echo()))
    let thread = PinnedThread(on: processors.all[0]) { () throws(Refusal) in
      var echo = bench_echo()
      (echo.server, echo.client) = (processors.loop, processors.all[0])
      (echo.connections, echo.bytes, echo.floods) = (Int32(connections), bytes, Int32(floods))
      (echo.warmup, echo.nanoseconds) = (Int64(size) * 200_000, Int64(size) * 1_000_000)
      answer.value = (bench_echo_run(program, &echo), echo)
    }
    try thread.join(within: 60)
    switch answer.value.status {
    case 0: return Round([part(of: answer.value.echo)])
    case 3: throw .absent("its program was built without its library")
    case -2: throw .failed("an answer was wrong, or did not come")
    case let status: throw .failed("its program ended with status \(status)")
    }
  }

  private func part(of echo: bench_echo) -> Part {
    let requests = Double(echo.requests)
    let thousands = requests / (Double(echo.elapsed) / 1e9) / 1000
    // A process grows by pages, so few connections say nothing.
    let memory = connections < 1000 ? [] : [Gauge(metric: "memory", unit: "B", value: echo.memory)]
    return Part(
      value: Double(echo.elapsed) / requests,
      gauges: memory + [
        Gauge(metric: "requests", unit: "k/s", value: thousands),
        Gauge(metric: "processor", unit: "ns", value: Double(echo.processor) / requests),
        Gauge(metric: "answer p50", unit: "ns", value: Double(echo.p50)),
        Gauge(metric: "answer p99", unit: "ns", value: Double(echo.p99)),
        Gauge(metric: "answer p99.9", unit: "ns", value: Double(echo.p999)),
        Gauge(metric: "answer worst", unit: "ns", value: Double(echo.worst)),
      ])
  }
}
