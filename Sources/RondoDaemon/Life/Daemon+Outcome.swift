import Glibc

extension Daemon {
  /// How a daemon's run ended.
  public enum Outcome: Hashable, Sendable {
    /// The daemon was asked to stop, and all work ended in time.
    case drained
    /// The grace passed, and this many pieces of work had not ended.
    case timedOut(left: Int)
    /// A second signal came, half a second after the stop began or later.
    case interrupted(by: CInt)
    /// Other code stopped the loop's run. No stop handler was called.
    case stopped

    /// The code for exit(3): 0 for `.drained` and `.stopped`, 1 for `.timedOut`.
    ///
    /// For `.interrupted` it is 128 + the signal's number, as shells count.
    public var exitCode: CInt {
      switch self {
      case .drained, .stopped: EXIT_SUCCESS
      case .timedOut: EXIT_FAILURE
      case .interrupted(let signal): 128 + signal
      }
    }
  }
}
