import CBench
import Foundation

/// A server in a process of its own, a program for each subject, and clients that are the same for all.
enum Serving {
  /// What the clients ask of an HTTP server, and what it answers.
  struct Page: Sendable {
    let request, body: String
  }

  /// A subject's program.
  static func program(_ family: String, of subject: any Subject) throws(Refusal) -> String {
    let program = URL(filePath: Child.executable).deletingLastPathComponent()
      .appending(path: "\(family)-\(subject.name.replacing(".", with: "-"))").path
    guard FileManager.default.isExecutableFile(atPath: program) else {
      throw .absent("\(program) is not built; make bench builds it")
    }
    return program
  }

  /// Has clients ask for a page, or for their bytes back, for so many milliseconds.
  static func measure(
    _ program: String, by clients: bench_clients, for page: Page? = nil, size: Int
  ) throws(Refusal) -> bench_clients {
    // Those of the workloads before would leave too few for the clients.
    SocketPairs.close()
    let processors = Processors()
    let answer = Box<(status: Int32, clients: bench_clients)>((-1, clients))
    let thread = PinnedThread(on: processors.all[0]) { () throws(Refusal) in
      var clients = clients
      (clients.server, clients.client) = (processors.loop, processors.all[0])
      (clients.warmup, clients.nanoseconds) = (Int64(size) * 200_000, Int64(size) * 1_000_000)
      answer.value = (bench_clients_run(program, page?.request, page?.body, &clients), clients)
    }
    try thread.join(within: 60)
    switch answer.value.status {
    case 0: return answer.value.clients
    case 3: throw .absent("its program was built without its library")
    case -2: throw .failed("an answer was wrong, or did not come")
    case let status: throw .failed("its program ended with status \(status)")
    }
  }

  /// The figures of a round; the first is the time of a request, or the server's processor time.
  static func part(
    of clients: bench_clients, counting metric: String = "requests", byProcessor: Bool = false, hasMemory: Bool
  ) -> Part {
    let requests = Double(clients.requests)
    let time = Double(clients.elapsed) / requests
    let processor = Double(clients.processor) / requests
    let memory = hasMemory ? [Gauge(metric: "memory", unit: "B", value: clients.memory)] : []
    return Part(
      value: byProcessor ? processor : time,
      gauges: memory + [
        Gauge(metric: metric, unit: "k/s", value: 1e6 / time),
        byProcessor
          ? Gauge(metric: "time", unit: "ns", value: time) : Gauge(metric: "processor", unit: "ns", value: processor),
        Gauge(metric: "answer p50", unit: "ns", value: Double(clients.p50)),
        Gauge(metric: "answer p99", unit: "ns", value: Double(clients.p99)),
        Gauge(metric: "answer p99.9", unit: "ns", value: Double(clients.p999)),
        Gauge(metric: "answer worst", unit: "ns", value: Double(clients.worst)),
      ])
  }
}
