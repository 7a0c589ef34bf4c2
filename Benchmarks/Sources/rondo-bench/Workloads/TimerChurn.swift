import CBench

/// Many outstanding timers: adding them, putting each off, cancelling each, and letting all come due.
///
/// Adding makes the timer and adds it. Cancelling goes in an order of its own and includes one turn after it, so that
/// work put off is not work saved. Those that fire have been put off once before, for the same reason.
struct TimerChurn: Workload {
  private let count: Int

  init(_ count: Int) {
    self.count = count
  }

  var name: String { "timer.churn.\(count)" }
  var summary: String { "\(count) outstanding timers: add, extend the deadline, cancel, fire all; each by timer" }
  var parts: [String] { ["add", "extend", "cancel", "fire"] }

  func plan(_ effort: Effort) -> Plan {
    switch effort {
    case .quick:
      Plan(rounds: count > 10_000 ? 4 : 10, size: count, onRequest: count > 100_000)
    case .full: Plan(rounds: count > 100_000 ? 5 : 10, size: count)
    }
  }

  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round {
    try LoopThread.run(subject, within: 120) { handle throws(Refusal) in
      let loop = handle.loop
      if let refusal = loop.pollRefusal { throw refusal }
      if let limit = loop.timerLimit, size > limit {
        throw .cannot("left out beyond \(limit): its time grows with the square of the number")
      }
      let counter = Meter(target: 0, stopping: handle)
      let wake = try? loop.addWake(Call(callout: bench_counter_called, context: nil))
      defer { wake?.remove() }

      // Dues are made before the clock starts, and the same for every subject.
      let plan = Dues(size)
      let origin = bench_now()
      let (far, farther) = (plan.dues(from: origin + Self.hour), plan.later(from: origin + 2 * Self.hour))
      loop.poll()

      let add = bench_now()
      let bank = try loop.addTimers(far, counter.call)
      let extend = bench_now()
      bank.extend(farther)
      let cancel = bench_now()
      bank.cancel(plan.order)
      loop.poll()
      let cancelled = bench_now()
      bank.free()
      try counter.check(0)

      let soon = bench_now()
      let due = try loop.addTimers(plan.dues(from: soon), counter.call)
      due.extend(plan.later(from: soon + Dues.spread))
      let last = soon + 3 * Dues.spread
      // Loops that know whole milliseconds only are due up to one later.
      while bench_now() < last + 2_000_000 { bench_pause(500_000) }
      let fire = bench_now()
      var turns = 0
      while counter.value.calls < size, turns < 2 * size + 100 {
        loop.poll()
        turns += 1
      }
      let fired = bench_now()
      loop.poll()
      try counter.check(size)
      due.free()
      func each(_ name: String, _ nanoseconds: Int64) -> Part {
        Part(name: name, unit: "ns/timer", value: Double(nanoseconds) / Double(size))
      }
      return Round([
        each("add", extend - add), each("extend", cancel - extend), each("cancel", cancelled - cancel),
        each("fire", fired - fire),
      ])
    }
  }

  private static let hour: Int64 = 3_600_000_000_000
}

/// When timers are due, as offsets that are the same in every run.
private struct Dues {
  private let first: [Int64]
  private let second: [Int64]
  let order: [Int]

  /// Dues lie within a tenth of a second.
  static let spread: Int64 = 100_000_000

  init(_ count: Int) {
    var random = SplitMix64(seed: UInt64(count))
    first = (0..<count).map { _ in Int64.random(in: 0..<Self.spread, using: &random) }
    second = (0..<count).map { _ in Int64.random(in: 0..<Self.spread, using: &random) }
    order = (0..<count).shuffled(using: &random)
  }

  func dues(from origin: Int64) -> [Int64] { first.map { origin + $0 } }

  /// For each timer a time after its first one, whatever `origin` leaves over.
  func later(from origin: Int64) -> [Int64] { zip(first, second).map { origin + max($0, $1) } }
}
