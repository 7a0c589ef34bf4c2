import CBench

/// What the workloads of many timers share: the loop, what counts, and when the timers are due.
///
/// A handler has one pointer, the same for all timers: what a timer of libuv has in `data` is in Rondo, and in every loop
/// written in Swift, the one object that its closure captures, which allocates nothing.
struct ManyTimers: Sendable {
  let loop: any BenchLoop
  let counter: Meter<bench_counter>
  let dues: Dues
  private let count: Int

  static func plan(_ count: Int, _ effort: Effort) -> Plan {
    Plan(rounds: 10, size: count, onRequest: effort == .quick && count > 10_000)
  }

  static func round(
    of subject: any Subject, size: Int, _ body: @escaping @Sendable (ManyTimers) throws(Refusal) -> [Part]
  ) throws(Refusal) -> Round {
    try LoopThread.run(subject, within: 120) { handle throws(Refusal) in
      let loop = handle.loop
      if let refusal = loop.pollRefusal { throw refusal }
      if let limit = loop.timerLimit, size > limit {
        throw .cannot("left out beyond \(limit): its time grows with the square of the number")
      }
      let counter = Meter(target: 0, stopping: handle)
      let wake = try? loop.addWake(Call(callout: bench_counter_called, context: nil))
      defer { wake?.remove() }
      loop.poll()
      return Round(try body(ManyTimers(loop: loop, counter: counter, dues: Dues(size), count: size)))
    }
  }

  func part(_ name: String, _ nanoseconds: Int64) -> Part {
    Part(name: name, unit: "ns/timer", value: Double(nanoseconds) / Double(count))
  }

  /// Why so many are not fired; nil when they are.
  var fireRefusal: Refusal? {
    guard let limit = loop.fireLimit, count > limit else { return nil }
    return .cannot("left out beyond \(limit): one fire a turn takes minutes")
  }

  /// Far enough ahead that all timers are added before the first is due: one whose due has passed counts as due now,
  /// which would leave nothing to put in order.
  var soon: Int64 { bench_now() + Int64(count) * Self.patience }

  /// The span within which timers come due.
  var moment: Int64 { Self.moment + Int64(count) * Self.share }

  /// Sleeps until all are due. A loop that knows whole milliseconds only, or the kernel's tick, is due up to one later.
  func waitUntilDue(_ last: Int64) {
    let end = last + Self.coarsest
    if bench_now() < end { bench_pause(end - bench_now()) }
  }

  /// Turns until all have fired.
  func fire() {
    var turns = 0
    while counter.value.calls < count, turns < 2 * count + 100 {
      loop.poll()
      turns += 1
    }
  }

  /// A due that no round lives to see, and the span of such dues.
  static let hour: Int64 = 3_600_000_000_000

  private static let coarsest: Int64 = 12_000_000
  private static let moment: Int64 = 10_000_000
  /// How much the moment grows by timer.
  private static let share: Int64 = 100
  /// How long a timer may take to be added and put off.
  private static let patience: Int64 = 2000
}

/// When timers are due, as shares of a span that are the same in every run.
struct Dues: Sendable {
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
