internal import Glibc
internal import Synchronization

/// Which runs of the oracle are under way inside which callouts, as far as its quirks depend on it.
///
/// After a run nested in an observer or a block the outer pass still goes to sleep, so a wake that the inner run consumed
/// is missing (Q4). After one nested in a source or a timer it does not, and nothing shows.
final class CFNesting: Sendable {
  private struct State {
    /// For each callout under way, innermost last: whether its pass may still sleep.
    var callouts: [Bool] = []
    /// For each run under way its deadline in monotonic milliseconds.
    var deadlines: [Double] = []
  }
  /// Loop thread only.
  private nonisolated(unsafe) var state = State()
  private let thread = pthread_self()
  /// How many of the runs are nested in a callout whose pass may still sleep.
  private let fragileRuns = Atomic(0)

  var isOwnThread: Bool { pthread_equal(thread, pthread_self()) != 0 }

  /// A callout of the loop's own thread. One on another thread belongs to another loop.
  func callout(isFragile: Bool, _ body: () -> Void) {
    guard isOwnThread else { return body() }
    unsafe state.callouts.append(isFragile)
    body()
    unsafe state.callouts.removeLast()
  }

  func run<Result>(milliseconds: Double, _ body: () -> Result) -> Result {
    let isFragile = unsafe state.callouts.last ?? false
    if isFragile { fragileRuns.add(1, ordering: .relaxed) }
    // A poll has no deadline to lose.
    unsafe state.deadlines.append(milliseconds > 0 ? Watch.milliseconds + milliseconds : .infinity)
    defer {
      unsafe state.deadlines.removeLast()
      if isFragile { fragileRuns.subtract(1, ordering: .relaxed) }
    }
    return body()
  }

  /// How many runs are under way; 0 on another thread.
  var depth: Int { isOwnThread ? unsafe state.deadlines.count : 0 }

  /// Whether the innermost run has one pass that only looks.
  var isInstant: Bool { isOwnThread ? unsafe state.deadlines.last == .infinity : false }

  var isInFragileRun: Bool { fragileRuns.load(ordering: .relaxed) > 0 }

  /// Whether a run still under way has passed its deadline.
  var isDeadlinePast: Bool {
    let now = Watch.milliseconds
    return unsafe state.deadlines.contains { $0 < now }
  }
}
