public import Foundation
import Rondo

/// Foundation's streams in a run loop of this module.
extension Stream {
  /// Has the run loop call the stream's delegate in runs of `mode`.
  ///
  /// Pass the calling thread's run loop, or `.main` from any thread; another thread's run loop traps. A file that also
  /// imports Foundation writes `RunLoop.current`, because `.current` alone is ambiguous there. Foundation on Linux calls
  /// no delegate of a stream; this call has the delegate called. The stream is in Foundation's loop of the thread. So
  /// the events arrive while the run loop's `foundationStatus` is `.serving`, and `.common` means the common modes of
  /// Foundation's loop. Close or remove the stream before you release it, or it keeps the runs of its modes going.
  public func schedule(in runLoop: RunLoop, forMode mode: RunLoop.Mode) {
    let foundation = runLoop.foundationLoop("schedule(in: RunLoop.current, forMode: mode)")
    StreamClient.attach(to: self)
    schedule(in: foundation, forMode: mode)
  }

  /// Removes the stream from a mode of the run loop.
  ///
  /// Pass the calling thread's run loop, or `RunLoop.main` from any thread; another thread's run loop traps. A stream
  /// that you close leaves its run loop.
  public func remove(from runLoop: RunLoop, forMode mode: RunLoop.Mode) {
    remove(from: runLoop.foundationLoop("remove(from: RunLoop.current, forMode: mode)"), forMode: mode)
  }
}

extension RunLoop {
  /// Foundation's loop of the same thread, which must be the calling thread or the main one.
  fileprivate func foundationLoop(_ call: String) -> Foundation.RunLoop {
    let loop = getLoop()
    if loop.isCurrent { return .current }
    require(
      loop.isMain, "A stream is in the run loop of the calling thread. Use runLoop.perform { stream.\(call) }.")
    return .main
  }
}
