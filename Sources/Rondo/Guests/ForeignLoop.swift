/// Another run loop of the same thread, which an upper floor knows: in its wait this loop sleeps. *loop thread*
///
/// It sleeps for both. While it does so, or runs for itself, it asks the `Loop` for what is in `Loop+Foreign.swift`.
package protocol ForeignLoop: AnyObject {
  /// Whether there is such a loop by now, and the mode of that name can be slept in. Asked before each wait.
  func isPresent(in mode: Loop.Mode) -> Bool

  /// Whether the other loop has nothing to wait for in the mode of that name.
  func isEmpty(_ mode: Loop.Mode) -> Bool

  /// Serves the other loop's mode of that name for the length of this loop's wait. Calls out.
  ///
  /// - Parameters:
  ///   - sleeps: Whether it may sleep, unless either loop has something to do; otherwise it serves what is ready.
  ///   - isTold: Whether this loop's observers have heard of a sleep.
  /// - Returns: Whether the other loop has handled a source.
  func wait(in mode: Loop.Mode, sleeps: Bool, isTold: Bool) -> Bool

  /// This loop ends.
  func end()
}

/// A foreign loop as this loop keeps it: one word.
final class ForeignBox: @unchecked Sendable {
  /// *constant*
  let loop: any ForeignLoop

  init(_ loop: any ForeignLoop) { self.loop = loop }
}

/// What the loop says to a foreign one that is about to sleep.
package enum ForeignSleepAnswer {
  /// There is something to do first.
  case busy
  /// There is nothing to do but to tell observers of the sleep.
  case untold
  case asleep(ForeignSleep)
}

/// A sleep in a foreign loop's wait, and what it interrupted.
package struct ForeignSleep {
  /// The epoll set to wait for.
  package let descriptor: CInt
  let sleep: Sleep
  /// What was posted for later runs.
  let request: WakeProtocol.Bits
  let phase: Loop.Heartbeat.Phase
}
