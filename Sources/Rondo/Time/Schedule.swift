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

  /// The latest moment to wake for this timer. A repeating timer's tolerance counts up to half its interval.
  @inline(__always)
  var hardDeadline: Instant {
    fireDate.advanced(by: effectiveTolerance)
  }

  @inline(__always)
  var effectiveTolerance: Int64 {
    if isPrecise { return 0 }
    return interval > 0 ? min(tolerance, interval / 2) : tolerance
  }

  /// Moves to the first grid point after `now`, in constant time.
  ///
  /// - Returns: How many grid points between the one that fired and the new one were passed over.
  mutating func advance(past now: Instant, from fired: Instant) -> Int {
    let late = max(0, now.nanoseconds &- fired.nanoseconds)
    let steps = late / interval
    let (distance, overflow) = (steps + 1).multipliedReportingOverflow(by: interval)
    fireDate = overflow ? .distantFuture : fired.advanced(by: distance)
    return Int(steps)
  }
}
