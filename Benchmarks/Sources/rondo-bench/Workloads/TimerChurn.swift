import CBench

/// Many outstanding timers: adding them, putting each off, cancelling each, and letting all come due.
///
/// Adding makes the timer and adds it. Cancelling goes in an order of its own and includes one turn after it, so that
/// work put off is not work saved. Those that fire have been put off once before, for the same reason.
///
/// A handler has one pointer, the same for all timers: what a timer of libuv has in `data` is in Rondo, and in every loop
/// written in Swift, the one object that its closure captures, which allocates nothing. `TimerBank` asks for no more than
/// due times and an order, so a loop that has cheaper timeouts beside its timers is a subject of its own.
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
      Plan(rounds: 10, size: count, onRequest: count > 10_000)
    case .full: Plan(rounds: 10, size: count)
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
      let (far, farther) = (
        plan.dues(from: origin + Self.hour, within: Self.hour), plan.later(from: origin + Self.hour, within: Self.hour)
      )
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

      func each(_ name: String, _ nanoseconds: Int64) -> Part {
        Part(name: name, unit: "ns/timer", value: Double(nanoseconds) / Double(size))
      }
      let parts = [each("add", extend - add), each("extend", cancel - extend), each("cancel", cancelled - cancel)]
      if let limit = loop.fireLimit, size > limit {
        return Round(
          parts + [Part(name: "fire", refusal: .cannot("left out beyond \(limit): one fire a turn takes minutes"))])
      }

      // Far enough ahead that adding and putting off are done before the first is due: one whose due has passed counts
      // as due now, which would leave nothing to put in order.
      let soon = bench_now() + Int64(size) * Self.patience
      let moment = Self.moment + Int64(size) * Self.share
      let due = try loop.addTimers(plan.dues(from: soon, within: moment), counter.call)
      due.extend(plan.later(from: soon, within: moment))
      // Loops that know whole milliseconds only are due up to one later.
      let last = soon + 2 * moment + 2_000_000
      if bench_now() < last { bench_pause(last - bench_now()) }
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
      return Round(parts + [each("fire", fired - fire)])
    }
  }

  /// The span within which timers come due, and how much it grows by timer.
  private static let moment: Int64 = 10_000_000
  private static let share: Int64 = 100
  /// How long a timer may take to be added and put off.
  private static let patience: Int64 = 2000
  private static let hour: Int64 = 3_600_000_000_000
}

/// When timers are due, as shares of a span that are the same in every run.
private struct Dues {
  private let first: [Double]
  private let second: [Double]
  let order: [Int]

  init(_ count: Int) {
    var random = SplitMix64(seed: UInt64(count))
    first = (0..<count).map { _ in Double.random(in: 0..<1, using: &random) }
    second = (0..<count).map { _ in Double.random(in: 0..<1, using: &random) }
    order = (0..<count).shuffled(using: &random)
  }

  /// Dues within `span`.
  func dues(from origin: Int64, within span: Int64) -> [Int64] { first.map { origin + Int64($0 * Double(span)) } }

  /// For each timer a due later than its first one, within twice `span`.
  func later(from origin: Int64, within span: Int64) -> [Int64] {
    zip(first, second).map { origin + span + Int64(max($0, $1) * Double(span)) }
  }
}
