/// When a timer fires: a date, a grid that never shifts, and how late it may be.
struct Schedule {
  /// The next fire time.
  var fireDate: Instant
  /// Nanoseconds between fires; 0 for a one-shot.
  var interval: Int64
  /// Nanoseconds a fire may be delayed so that it shares a wakeup.
  var tolerance: Int64
  /// Whether the loop shall spin the last bit of the way; tolerance then counts for nothing.
  var isPrecise = false

  /// The longest interval and the farthest date kept apart from "never": 292 years would overflow sums.
  static let longest: Int64 = .max / 4

  /// The date that a user's delay from `now` means: never before now, and never "never".
  @inline(__always)
  static func date(after delay: Duration, from now: Instant) -> Instant {
    now.advanced(by: max(0, min(delay.saturatingNanoseconds, longest)))
  }

  /// The date that a user's date means.
  static func date(at date: Instant, from now: Instant) -> Instant {
    min(max(date, now), now.advanced(by: longest))
  }

  /// The same where the caller does not know what the clock of the loop shows: one that has passed is due at once.
  static func date(at date: Instant) -> Instant {
    Instant(nanoseconds: max(0, min(date.nanoseconds, longest)))
  }

  /// A user's interval in nanoseconds.
  static func validInterval(_ interval: Duration, fileID: StaticString = #fileID, line: UInt = #line) -> Int64 {
    let nanoseconds = interval.saturatingNanoseconds
    require(
      nanoseconds > 0, "A repeating timer needs an interval of at least 1 ns, not \(interval). For once, use after:.",
      file: fileID, line: line)
    return min(nanoseconds, longest)
  }

  /// A user's tolerance in nanoseconds.
  static func validTolerance(
    _ tolerance: Duration, of whom: StaticString = "A timer", fileID: StaticString = #fileID, line: UInt = #line
  ) -> Int64 {
    if tolerance.attoseconds == 0 { return 0 }
    require(
      tolerance.attoseconds > 0, "\(whom)'s tolerance is zero or more, not \(tolerance).", file: fileID, line: line)
    return min(tolerance.saturatingNanoseconds, longest)
  }

  /// A repeating timer's tolerance counts up to half its interval.
  @inline(__always)
  var effectiveTolerance: Int64 {
    if isPrecise { return 0 }
    return interval > 0 ? min(tolerance, interval / 2) : tolerance
  }

  /// The first grid point after `now` of a grid that goes through `date`, which is not after `now`. O(1).
  ///
  /// - Returns: That point, and how many grid points between `date` and it have passed.
  @inline(__always)
  static func nextGridPoint(after now: Instant, from date: Instant, interval: Int64) -> (next: Instant, passed: Int) {
    let late = now.nanoseconds &- date.nanoseconds
    if late < interval { return (date.advanced(by: interval), 0) }
    let passed = late / interval
    let (distance, overflow) = (passed + 1).multipliedReportingOverflow(by: interval)
    return (overflow ? .distantFuture : date.advanced(by: distance), Int(passed))
  }
}
