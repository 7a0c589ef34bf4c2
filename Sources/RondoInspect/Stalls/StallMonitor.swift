internal import CInspect
internal import CLinux
public import Rondo
import Synchronization

/// Watches loops from a thread of its own. It tells of a callout that keeps one for too long while it still does.
///
/// A report says what is called out to, since when, what its thread does, and its stack. There is at most one report a
/// second, and one more when the reported stall is over. A stopped process, a debugger, a suspended machine, and a thread
/// that waits for a processor are no stall. Loops that are idle let the watcher sleep. Every member may be used from any
/// thread.
public final class StallMonitor: Sendable {
  /// What a callout may take.
  public let limit: Duration
  /// *watcher* What it watches.
  private let rounds: StallRounds
  private let watcher: Watcher

  /// A monitor that watches nothing yet.
  ///
  /// - Parameters:
  ///   - limit: What a callout may take, 1 ms at least.
  ///   - report: Called on the watcher's thread, which watches nothing meanwhile. Without it, reports go to stderr.
  /// - Throws: What the watcher's thread lacks, if there is none yet.
  public init(
    limit: Duration = .milliseconds(250), report: @escaping @Sendable (Stall) -> Void = StallMonitor.write
  ) throws(LoopThread.StartError) {
    contract(limit >= .milliseconds(1), "A stall monitor needs a limit of at least 1 ms, not \(limit).")
    self.limit = limit
    watcher = try Watcher.shared()
    rounds = StallRounds(limit: limit.nanoseconds, report: report)
    watcher.addListener(rounds)
  }

  deinit {
    let rounds = rounds
    watcher.perform { rounds.end() }
  }

  /// Watches a loop from now on, as long as it lives.
  public func watch(_ loop: Loop) {
    let recorder = Recorders.recorder(of: loop)
    let rounds = rounds
    watcher.perform { [weak loop] in
      if let loop { rounds.add(loop, recorder) }
    }
  }

  /// Watches a loop no more.
  public func stopWatching(_ loop: Loop) {
    let rounds = rounds
    watcher.perform { rounds.remove(loop) }
  }

  /// Writes a report to stderr. First the line, then the stack, whose symbols take their time.
  @Sendable public static func write(_ stall: Stall) {
    ErrorOutput.write(stall.description + "\n")
    let stack = stall.lines
    if !stack.isEmpty { ErrorOutput.write(stack.joined(separator: "\n") + "\n") }
  }
}
