/// What Rondo sets itself to reach, and whether a report shows it. Every bar is a figure and its upper limit.
struct Bar: Sendable {
  let statement: String
  let limit: Double
  let unit: String
  private let figure: @Sendable (Report) -> Double?

  enum Verdict: String {
    case met, missed
    /// The report holds not all that the figure is made of.
    case unknown = "not measured"
  }

  func value(in report: Report) -> Double? { figure(report) }

  func verdict(in report: Report) -> Verdict {
    guard let value = figure(report) else { return .unknown }
    return value <= limit ? .met : .missed
  }

  init(_ statement: String, atMost limit: Double, _ unit: String, _ figure: @escaping @Sendable (Report) -> Double?) {
    (self.statement, self.limit, self.unit, self.figure) = (statement, limit, unit, figure)
  }

  /// A headline of Rondo's or of a variant as a multiple of another subject's.
  static func ratio(
    _ workload: String, of subject: String = Subjects.ours, to peer: String, atMost limit: Double, _ statement: String
  ) -> Bar {
    Bar(statement, atMost: limit, "× \(peer)") { report in
      guard let ours = report.headline(workload, subject)?.value,
        let theirs = report.headline(workload, peer)?.value, theirs > 0
      else { return nil }
      return ours / theirs
    }
  }

  /// Rondo's figure itself.
  static func figure(
    _ workload: String, _ metric: String, of subject: String = Subjects.ours, atMost limit: Double, _ unit: String,
    _ statement: String
  ) -> Bar {
    Bar(statement, atMost: limit, unit) { report in
      if Report.headlines.contains(metric) { return report.headline(workload, subject)?.value }
      return report.value(workload, subject, metric)?.magnitude
    }
  }

  /// Rondo's headline as a multiple of the best peer's.
  static func best(_ workload: String, _ statement: String) -> Bar {
    Bar(statement, atMost: 1, "× the best peer") { report in
      guard let ours = report.headline(workload, Subjects.ours)?.value else { return nil }
      let peers = report.results.filter {
        $0.workload == workload && Report.headlines.contains($0.metric) && Subjects.isPeer($0.subject)
      }
      return peers.map(\.value).min().map { ours / $0 }
    }
  }
}

extension Bar {
  static let all: [Bar] = wakes + posts + turns + timers + descriptors + echoes + pages + rest

  private static let wakes: [Bar] = [
    .ratio(
      "wake.shared", to: "rondo.still", atMost: 1.05,
      "processor time of a wake of a loop that may spin, beside a thread that wants the processor"),
    .ratio("wake.idle", to: "rondo.still", atMost: 1.05, "processor time of an idle daemon that may spin"),
    .ratio("wake.pingpong.2core", to: "raw", atMost: 0.1, "a round trip of two loops on two cores"),
    .ratio("wake.parked.1core", to: "raw", atMost: 1.1, "wake on one core"),
    .ratio("wake.parked.1core.preempt", to: "raw", atMost: 1.1, "wake on one core, the kernel's choice taken away"),
    .best("wake.parked.1core", "wake on one core, below every peer"),
    .figure("wake.parked.1core", "syscalls/wake", atMost: 2, "calls", "system calls of a wake, both threads"),
  ]

  private static let posts: [Bar] = ["post.same", "post.cross"].flatMap { workload in
    [
      Bar.ratio(workload, to: "nio", atMost: 0.5, "\(workload): twice SwiftNIO's rate"),
      .ratio(workload, to: "dispatch", atMost: 0.5, "\(workload): twice Dispatch's rate"),
      .ratio(workload, to: "cfrunloop", atMost: 0.1, "\(workload): ten times CFRunLoop's rate"),
    ]
  }

  private static let turns: [Bar] = [
    .ratio("turn.descriptor", to: "raw", atMost: 1.35, "a turn with one ready descriptor")
  ]

  private static let timers: [Bar] =
    [
      .ratio("timer.lateness.1ms", to: "raw", atMost: 1.05, "lateness of a plain timer"),
      .figure("timer.lateness.1ms", "drift", atMost: 0, "ns", "drift"),
      Bar("ticks missed beyond raw's", atMost: 0, "ticks") { report in
        guard let ours = report.value("timer.lateness.1ms", Subjects.ours, "missed"),
          let limit = report.value("timer.lateness.1ms", Subjects.limit, "missed")
        else { return nil }
        return max(0, ours - limit)
      },
      .figure(
        "timer.lateness.1ms", "p90", of: "rondo.precise", atMost: 2000, "ns",
        "lateness of a precise timer on the kernel tick's grid, p90"),
      .figure(
        "timer.lateness.1ms.between", "p90", of: "rondo.precise", atMost: 2000, "ns",
        "lateness of a precise timer beside that grid, p90"),
      .ratio("timer.make.1000000.add", to: "libuv", atMost: 1, "making a million timers"),
      .ratio("timer.start.1000000.extend", to: "libuv", atMost: 0.25, "putting off a million timers"),
      .ratio("timer.make.1000000.cancel", to: "libuv", atMost: 0.5, "cancelling a million timers"),
    ]
    + [("make", "add"), ("start", "extend"), ("make", "cancel")].map { family, operation in
      Bar("\(operation) is flat against n", atMost: 2, "× what it costs at 1,000") { report in
        guard let few = report.headline("timer.\(family).1000.\(operation)", Subjects.ours)?.value,
          let many = report.headline("timer.\(family).1000000.\(operation)", Subjects.ours)?.value, few > 0
        else { return nil }
        return many / few
      }
    }
    + [
      .figure("timer.coalesce.100.10", "median", atMost: 11, "waits/s", "waits for 100 timers of 1 s within 100 ms")
    ]

  private static let descriptors: [Bar] = ["100.1", "1000.1", "1000.100", "9000.1000"].flatMap { shape in
    let workload = "fd.ring.\(shape).event"
    let bars = [
      Bar.ratio(workload, to: "raw", atMost: 1.1, "an event of fd.ring.\(shape)"),
      .ratio(workload, to: "libevent", atMost: 1.05, "an event of fd.ring.\(shape)"),
      .ratio("fd.ring.\(shape).setup", to: "raw", atMost: 2.2, "the set-up of a descriptor of fd.ring.\(shape)"),
    ]
    guard shape.hasSuffix("00") else { return bars }
    return bars + [.ratio(workload, to: "libuv", atMost: 1, "an event of fd.ring.\(shape)")]
  }

  /// DescriptorSource beside bare calls, and SocketSource beside DescriptorSource and the peers that read and send as well.
  private static let echoes: [Bar] = [64, 16_384].flatMap { bytes in
    [1, 64, 1000, 5000].flatMap { connections in
      let workload = "echo.\(connections).\(bytes)"
      let few = [
        Bar.ratio(workload, to: "raw", atMost: 1.05, "a request of \(workload)"),
        served(workload, by: "rondo.sockets", "SocketSource", to: Subjects.ours, atMost: 1.15),
        served(workload, by: "rondo.sockets", "SocketSource", to: "libuv", atMost: 1),
        served(workload, by: "rondo.sockets", "SocketSource", to: "nio", atMost: 0.5),
      ]
      if connections < 64 { return few }
      return few + [
        served(workload, by: "rondo.async", "Connection", to: Subjects.ours, atMost: 1.15),
        served(workload, by: "rondo.async", "Connection", to: "nio.async", atMost: 0.67),
      ]
    }
  }

  private static func served(
    _ workload: String, by subject: String, _ name: String, to peer: String, atMost limit: Double
  ) -> Bar {
    .ratio(workload, of: subject, to: peer, atMost: limit, "a request of \(workload), by \(name)")
  }

  /// RondoHTTP, and Hummingbird's router on Rondo, beside Hummingbird's own server; over TLS beside OpenSSL by itself, too.
  private static let pages: [Bar] =
    ["http.64", "http.500"].flatMap { workload in
      [
        served(workload, by: Subjects.ours, "RondoHTTP", to: "hummingbird", atMost: 0.71),
        computed(workload, by: Subjects.ours, "RondoHTTP", to: "hummingbird", atMost: 0.7),
        served(workload, by: "rondo.hummingbird", "RondoHummingbird", to: "hummingbird", atMost: 1),
        computed(workload, by: "rondo.hummingbird", "RondoHummingbird", to: "hummingbird", atMost: 0.75),
      ]
    }
    + ["https.64", "tls.handshake"].map { workload in
      served(workload, by: Subjects.ours, "RondoTLS", to: "hummingbird", atMost: 1)
    } + [
      served("tls.handshake", by: Subjects.ours, "RondoTLS", to: "openssl", atMost: 1.25),
      .figure("https.64", "memory", atMost: 200_000, "B", "a connection of https.64"),
    ]

  /// The processor time of a server's process.
  private static func computed(
    _ workload: String, by subject: String, _ name: String, to peer: String, atMost limit: Double
  ) -> Bar {
    Bar("processor time of a request of \(workload), by \(name)", atMost: limit, "× \(peer)") { report in
      guard let ours = report.value(workload, subject, "processor")?.magnitude,
        let theirs = report.value(workload, peer, "processor")?.magnitude, theirs > 0
      else { return nil }
      return ours / theirs
    }
  }

  private static let rest: [Bar] = [
    .figure(
      "hop.roundtrip", "median", of: "rondo.spin", atMost: 1000, "ns",
      "an actor's call and return between loops that are spread and spin"),
    .figure("mode.switch", "median", atMost: 1000, "ns", "a run in another mode, 10,000 items in each"),
    Bar("an idle descriptor source beside libevent's own", atMost: 400, "B") { report in
      guard let ours = report.headline("memory.descriptor", Subjects.ours)?.value,
        let theirs = report.headline("memory.descriptor", "libevent")?.value
      else { return nil }
      return ours - theirs
    },
    .figure("memory.timer", "median", atMost: 160, "B", "a timer"),
  ]
}
