extension Loop {
  /// Why a run returned. Where several reasons hold, the first in this order is told. See CFRunLoopRunInMode.
  public enum RunResult: Sendable, Hashable {
    /// A source was handled, under `returnAfterSourceHandled`.
    case handledSource
    /// The run's time is over.
    case timedOut
    /// `stop()` or `requestStop()` was called.
    case stopped
    /// The mode has no source, timer or block left; or does not exist.
    case finished
  }
}
