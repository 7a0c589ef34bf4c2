import CBench
import Foundation

/// Turns that do not sleep: with one ready descriptor, with a source that is always signalled, with nothing at all.
///
/// The first two are turns of one run, the third one call for each turn.
struct Turn: Workload {
  enum Kind: String, Sendable {
    case descriptor, source, poll
    /// As `descriptor`, with 9,000 descriptors more that never become ready.
    case descriptorAmongIdle
  }

  let kind: Kind

  init(_ kind: Kind) {
    self.kind = kind
  }

  var name: String { kind == .descriptorAmongIdle ? "fd.idle" : "turn.\(kind.rawValue)" }

  var summary: String {
    switch kind {
    case .descriptor: "turns with one ready descriptor, level-triggered, never read"
    case .source: "turns with a source that is always signalled"
    case .poll: "turns that find nothing to do, one call each"
    case .descriptorAmongIdle: "turns with one ready descriptor while 9,000 idle ones are watched"
    }
  }

  var obstacle: String? {
    kind == .descriptorAmongIdle ? SocketPairs.obstacle(Self.idle) : nil
  }

  func plan(_ effort: Effort) -> Plan {
    switch effort {
    case .quick: Plan(rounds: 10, size: kind == .descriptorAmongIdle ? 3000 : 10_000)
    case .full: Plan(rounds: 15, size: 200_000)
    }
  }

  private static let idle = 9000

  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round {
    let kind = kind
    let idle = kind == .descriptorAmongIdle ? try SocketPairs.shared(Self.idle) : nil
    return try LoopThread.run(subject) { handle throws(Refusal) in
      let loop = handle.loop
      let counter = Meter(target: loop.sleepsOnItsThread ? Self.warmUp : size, stopping: handle)
      if kind == .poll {
        if let refusal = loop.pollRefusal { throw refusal }
        let wake = try loop.addWake(counter.call)
        defer { wake.remove() }
        for _ in 0..<Self.warmUp { loop.poll() }
        let begin = bench_now()
        for _ in 0..<size { loop.poll() }
        let elapsed = bench_now() - begin
        try counter.check(0)
        return Round([Part(value: Double(elapsed) / Double(size))])
      }
      // Those that never become ready: sockets whose other end is silent.
      let never = Meter(target: 0, stopping: handle)
      let nobody = never.call
      if idle != nil { try loop.checkWatchLimit(Self.idle) }
      var watches: [any Member] = []
      defer { for watch in watches { watch.remove() } }
      for index in 0..<(idle == nil ? 0 : Self.idle) {
        watches.append(try loop.addWatch(idle!.watched(index), nobody))
      }
      let ready = bench_eventfd(1)
      guard ready >= 0 else { throw .failed("could not make an eventfd") }
      defer { close(ready) }
      let member = kind == .source ? try loop.addSignal(counter.call) : try loop.addWatch(ready, counter.call)
      // A queue goes on between two runs, so it gets no warm-up: its counter belongs to its thread.
      if loop.sleepsOnItsThread {
        loop.run()
        try counter.check(Self.warmUp)
        counter.reset(target: size)
      }
      let begin = bench_now()
      loop.run()
      let elapsed = bench_now() - begin
      member.remove()
      // A queue has no turns: what it had begun is served still.
      if loop.sleepsOnItsThread { try counter.check(size) }
      try never.check(0)
      return Round([Part(value: Double(elapsed) / Double(size))])
    }
  }

  private static let warmUp = 100
}
