/// Decides from looks at a loop, which a watcher takes now and then, whether it is stuck. Without a clock and a thread.
///
/// A loop is stuck if it was seen in the same callout for the whole limit. So nothing is reported too early, and all of
/// it at the latest an eighth of the limit too late, if the watcher is on time.
struct StallDetector {
  /// Nanoseconds.
  let limit: Int64
  private(set) var state = State.moving

  /// What a look has seen.
  struct Sight: Equatable {
    /// Beginnings and ends of callouts.
    let callouts: UInt64
    /// Phases and turns.
    let phases: UInt64
    /// Whether the loop is at work: not asleep, and in a run.
    let isBusy: Bool
  }

  enum State: Equatable {
    case moving
    /// It is at this since then, and nothing is known to be wrong.
    case busy(Sight, since: Int64)
    case stuck(Sight, since: Int64)
  }

  enum Finding: Equatable {
    case none
    /// It is stuck for so long, and has to be looked at. Then `confirm()`, or `excuse(_:)`.
    case limitReached(after: Int64)
    /// What was confirmed is over, at the latest after so long.
    case ended(after: Int64)
  }

  init(limit: Int64) {
    // A moment and the limit have a sum.
    self.limit = min(limit, .max / 2)
  }

  mutating func look(_ sight: Sight, at now: Int64) -> Finding {
    switch state {
    case .busy(sight, let since) where now - since >= limit: return .limitReached(after: now - since)
    case .busy(sight, _), .stuck(sight, _): return .none
    case .stuck(_, let since):
      begin(sight, at: now)
      return .ended(after: now - since)
    case .busy, .moving:
      begin(sight, at: now)
      return .none
    }
  }

  private mutating func begin(_ sight: Sight, at now: Int64) {
    state = sight.isBusy ? .busy(sight, since: now) : .moving
  }

  /// It is stuck indeed.
  mutating func confirm() {
    if case .busy(let sight, let since) = state { state = .stuck(sight, since: since) }
  }

  /// That much of the time was not the callout's fault.
  mutating func excuse(_ nanoseconds: Int64) {
    if case .busy(let sight, let since) = state { state = .busy(sight, since: since + nanoseconds) }
  }

  /// The watcher could not look for a while: the process may have been stopped. What it has seen before does not count.
  mutating func startAgain(at now: Int64) {
    if case .busy(let sight, _) = state { state = .busy(sight, since: now) }
  }

  /// When to look again: soon enough to see each callout early, and at the moment that one has lasted for the limit.
  func nextLook(after now: Int64) -> Int64 {
    let usual = now + limit / Self.looksPerLimit
    guard case .busy(_, let since) = state else { return usual }
    return max(now + 1, min(usual, since + limit))
  }

  /// Whether the loop was asleep or outside of runs.
  var isResting: Bool { state == .moving }

  private static let looksPerLimit: Int64 = 8
}
