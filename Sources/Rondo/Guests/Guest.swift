/// A mode of a loop that is embedded: its run, which leaves its thread to a host whenever it would sleep. *loop thread*
final class Guest {
  /// *constant* The frame of the run, or of the next one. The mode keeps it as that of a run that never ends.
  let frame: RunFrame
  var stage = Stage.resting
  /// What the run remembers while its thread is the host's: a wakeup then has to ring, and comes back as a post.
  var wakes = WakeMemory()
  /// The host's sleep.
  var sleep = Sleep(deadline: .distantFuture, alarm: .distantFuture)
  /// What made the descriptor readable may still do so: only a poll ends that.
  var owesPoll = false
  /// `end()` was called inside the turn that is under way.
  var isEnding = false

  init(_ frame: RunFrame) {
    self.frame = frame
  }

  enum Stage {
    /// No run is under way. None has begun, it has ended, or there is nothing to run for.
    case resting
    /// The run sleeps in its host.
    case asleep
    /// The run has left work for its host's next call.
    case awake
    /// The host is in `turn()`.
    case serving
    /// Not embedded any more.
    case ended
  }
}
