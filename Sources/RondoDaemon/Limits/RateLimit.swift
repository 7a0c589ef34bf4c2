import Rondo

/// The most callouts in an interval.
public struct RateLimit: Hashable, Sendable {
  /// The number of callouts that an interval may have, at least one.
  public let burst: Int
  /// The length of an interval, from the first callout in it.
  public let interval: Duration
  /// When a source that has spent its burst is called again.
  public let recovery: Recovery

  /// When a source that rests is called again.
  public enum Recovery: Hashable, Sendable {
    /// At the end of the interval in which the burst began.
    case atEndOfInterval
    /// This long after the last callout of the burst. Not negative.
    case after(Duration)
    /// When ``RateLimiter/resume()`` is called.
    case byHand
  }

  /// Allows `burst` callouts in each `interval`. Both are more than zero.
  public init(_ burst: Int, per interval: Duration, recovery: Recovery = .atEndOfInterval) {
    require(
      burst > 0, "A rate limit allows one callout at least. Use invalidate() for a source that is not wanted.")
    require(interval > .zero, "The interval of a rate limit is more than nothing.")
    if case .after(let pause) = recovery {
      require(
        pause >= .zero, "A source rests for no negative time. Use .atEndOfInterval or a duration from zero on.")
    }
    self.burst = burst
    self.interval = interval
    self.recovery = recovery
  }
}

/// Counts callouts against a limit; without a clock, and without a loop.
struct RateMachine {
  let limit: RateLimit
  /// When the interval began, in nanoseconds.
  private var beginning: Int64 = 0
  /// How many callouts it has had.
  private var count = 0
  private(set) var isResting = false

  init(_ limit: RateLimit) {
    self.limit = limit
  }

  /// What a callout means.
  enum Verdict: Equatable {
    /// There may be more.
    case more
    /// It is the last: the source rests so many nanoseconds. Nil is until `resume()`.
    case last(rest: Int64?)
    /// There should have been none.
    case tooMany
  }

  /// Counts a callout that is about to be made.
  mutating func count(now: Int64) -> Verdict {
    if isResting { return .tooMany }
    let interval = limit.interval.saturatingNanoseconds
    if count == 0 || now &- beginning >= interval { (beginning, count) = (now, 0) }
    count += 1
    guard count >= limit.burst else { return .more }
    isResting = true
    switch limit.recovery {
    case .atEndOfInterval: return .last(rest: interval - (now - beginning))
    case .after(let pause): return .last(rest: pause.saturatingNanoseconds)
    case .byHand: return .last(rest: nil)
    }
  }

  /// The rest is over, and an interval begins with the next callout.
  ///
  /// - Returns: False if there was none.
  mutating func resume() -> Bool {
    defer { (isResting, count) = (false, 0) }
    return isResting
  }
}
