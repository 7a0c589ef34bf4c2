/// Tells a loop that wakes often from one that wakes seldom. Without a clock and a thread.
///
/// An alarm costs two system calls a wake, a look of the watcher's one wake of its thread in an eighth of a monitor's
/// limit. So a loop that wakes often in that time is looked at, and only one that wakes seldom has its alarm armed.
struct WakePace {
  /// So many wakes in an eighth of the limit are seldom. Their alarms cost about as much as a look.
  static let most: UInt64 = 8

  private var wakes: UInt64 = 0
  /// When the period that the first of them began is over, in nanoseconds.
  private var end = Int64.min

  /// The loop wakes.
  ///
  /// - Parameter period: An eighth of the limit.
  /// - Returns: Whether it does so often.
  mutating func wakesOften(at now: Int64, in period: Int64) -> Bool {
    if now >= end { (end, wakes) = (now + min(period, .max - now), 0) }
    wakes += 1
    return wakes > Self.most
  }
}
