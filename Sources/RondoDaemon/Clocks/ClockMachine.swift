import Rondo

/// The dates of a timer, in nanoseconds of its clock.
enum ClockDates: Sendable {
  case once(Int64)
  /// Every multiple of the interval, moved by the offset.
  case grid(interval: Int64, offset: Int64)
  case rule(@Sendable (Duration) -> Duration?)

  /// The first one after `date`.
  func next(after date: Int64) -> Int64? {
    switch self {
    case .once(let only):
      return only > date ? only : nil
    case .grid(let interval, let offset):
      let (distance, overflow) = date.subtractingReportingOverflow(offset)
      guard !overflow else { return nil }
      let rest = distance % interval
      let (next, isBeyond) = date.addingReportingOverflow(interval - (rest < 0 ? rest + interval : rest))
      return isBeyond ? nil : next
    case .rule(let rule):
      guard let next = rule(.nanoseconds(date))?.saturatingNanoseconds else { return nil }
      require(
        next > date, "A rule of dates answers with a later date than the one it is asked about, or with nil.")
      return next
    }
  }
}

/// What a timer on a clock that people set has told, and what comes next; without a clock, and without a timer.
struct ClockMachine: Sendable {
  private let dates: ClockDates
  /// The date that is waited for; nil for none any more.
  private(set) var next: Int64?
  /// The latest date that was told.
  private var last: Int64?

  /// Past dates of a rule, after as many of which it is asked no more: a clock that was set forward by years has millions.
  /// Chosen.
  static let mostCounted = 1_000

  /// A date that has come, and how many more have since.
  struct Due: Equatable {
    let date: Int64
    let missed: Int
  }

  init(_ dates: ClockDates, now: Int64) {
    self.dates = dates
    if case .once(let only) = dates { next = only } else { next = dates.next(after: now) }
  }

  /// Looks at the clock, which may have been set, either way: what is due, all of it at once; nil for nothing yet.
  mutating func judge(now: Int64) -> Due? {
    guard let date = next else { return nil }
    if date > now {
      judgeAgain(now: now)
      return nil
    }
    var missed = 0
    var latest = date
    switch dates {
    case .once:
      next = nil
    case .grid(let interval, _):
      let (distance, overflow) = now.subtractingReportingOverflow(date)
      missed = Int((overflow ? .max : distance) / interval)
      latest += Int64(missed) * interval
      next = dates.next(after: now)
    case .rule:
      next = dates.next(after: date)
      while let passed = next, passed <= now {
        missed += 1
        latest = passed
        next = dates.next(after: missed < Self.mostCounted ? passed : now)
      }
    }
    last = latest
    return Due(date: date, missed: missed)
  }

  /// A clock that was set back shows dates again. The last date that was told is not told again; those before it are,
  /// or the timer would be silent until the old time is reached, in years perhaps.
  private mutating func judgeAgain(now: Int64) {
    if case .once = dates { return }
    next = dates.next(after: now)
    if let last, next == last { next = dates.next(after: last) }
  }
}
