extension Loop {
  /// Why a run returned. If several reasons hold, the first in this order counts. See CFRunLoopRunInMode.
  public enum RunResult: Sendable, Hashable {
    /// The loop handled a source, under `returnAfterSourceHandled`.
    case handledSource
    /// The run's time has passed.
    case timedOut
    /// `stop()` or `requestStop()` was called.
    case stopped
    /// The mode is empty, or does not exist.
    ///
    /// A mode is empty if it has no timer, source, block, job, guest or event base, no armed timeout, and does not
    /// serve the main queue.
    case finished
  }
}
