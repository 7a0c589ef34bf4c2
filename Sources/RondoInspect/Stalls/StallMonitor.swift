internal import CLinux
internal import CRondoInspect
public import Rondo
import Synchronization

/// Reports callouts that keep their loop for too long, while they run.
///
/// A watcher's thread looks at the loops. A report has the callout, its duration, and the thread's activity and stack.
/// The monitor reports at most one stall a second, and the end of each reported stall. A stopped process, a debugger, a
/// suspended machine and a thread that waits for a processor cause no report. While all loops are idle, or
/// seldom awake and for less than an eighth of the limit, the watcher sleeps. Every member may be used from any thread.
public final class StallMonitor: Sendable {
  /// The longest time that a callout may take.
  public let limit: Duration
  /// *watcher* What it watches.
  private let rounds: StallRounds
  private let watcher: Watcher

  /// Creates a monitor that watches no loop yet.
  ///
  /// - Parameters:
  ///   - limit: The longest time that a callout may take, at least 1 ms.
  ///   - report: Called on the watcher's thread, which watches no loop until it returns. The default writes to stderr.
  /// - Throws: The reason why the watcher's thread cannot start.
  public init(
    limit: Duration = .milliseconds(250), report: @escaping @Sendable (Stall) -> Void = StallMonitor.write
  ) throws(LoopThread.StartError) {
    require(limit >= .milliseconds(1), "A stall monitor needs a limit of at least 1 ms, not \(limit).")
    self.limit = limit
    watcher = try Watcher.shared()
    rounds = StallRounds(limit: limit.nanoseconds, report: report)
    watcher.addListener(rounds)
  }

  deinit {
    let rounds = rounds
    watcher.perform { rounds.end() }
  }

  /// Begins to watch a loop, until the loop is freed.
  public func watch(_ loop: Loop) {
    let recorder = Recorders.recorder(of: loop)
    let rounds = rounds
    watcher.perform { [weak loop] in
      if let loop { rounds.add(loop, recorder) }
    }
  }

  /// Stops watching a loop.
  public func stopWatching(_ loop: Loop) {
    let rounds = rounds
    watcher.perform { rounds.remove(loop) }
  }

  /// Writes a report to stderr: first the line, then the stack.
  @Sendable public static func write(_ stall: Stall) {
    ErrorOutput.write(stall.description + "\n")
    let stack = stall.lines
    if !stack.isEmpty { ErrorOutput.write(stack.joined(separator: "\n") + "\n") }
  }
}
