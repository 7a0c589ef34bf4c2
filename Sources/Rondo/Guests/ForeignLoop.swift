/// Another run loop of the same thread, which an upper floor knows: in its wait this loop sleeps. *loop thread*
///
/// It sleeps for both. While it does so, or runs for itself, it asks the `Loop` for what is in `Loop+Foreign.swift`.
package protocol ForeignLoop: AnyObject {
  /// Whether there is such a loop by now, and the mode of that name can be slept in. Asked before the first wait of a run,
  /// and before the wait that follows `wait(in:sleeps:)`.
  func isPresent(in mode: Loop.Mode) -> Bool

  /// Whether the other loop has nothing to wait for in the mode of that name.
  func isEmpty(_ mode: Loop.Mode) -> Bool

  /// Serves the other loop's mode of that name for the length of this loop's wait. Calls out.
  ///
  /// - Parameters:
  ///   - sleeps: Whether it may sleep, unless either loop has something to do; otherwise it serves what is ready.
  /// - Returns: Whether the other loop has handled a source.
  func wait(in mode: Loop.Mode, sleeps: Bool) -> Bool

  /// This loop's observers have heard of a sleep, in each turn that has one. A turn that the foreign loop has given does not
  /// sleep: that loop's sleep is the one they have heard of.
  func sleepWasAnnounced()

  /// Calls `run`, a run of this loop that may sleep, where no wakeup of the other loop is dropped. Calls out.
  ///
  /// - Returns: False if it was not called.
  func enclose(_ run: () -> Void) -> Bool

  /// What is readable once there is something for the other loop in the mode of that name, which has nothing at present.
  ///
  /// - Returns: Nil if that cannot be said: this loop sleeps in the other one's wait.
  func descriptor(of mode: Loop.Mode) -> CInt?

  /// This loop ends.
  func end()
}

/// A foreign loop as this loop keeps it: one word.
@safe final class ForeignBox: @unchecked Sendable {
  /// *constant*
  let loop: any ForeignLoop
  /// *loop thread* When it is to be entered at the latest, though this loop does not sleep.
  @safe @exclusivity(unchecked) private var dueDate = Instant.distantPast

  /// *loop thread* Whether the foreign loop was present when it was asked, in this run and since it was last entered.
  @safe @exclusivity(unchecked) var isKnownPresent = false
  /// *loop thread* Whether this loop had something when it was about to sleep last: it is asked again before it does.
  @safe @exclusivity(unchecked) var looksFirst = true
  /// *loop thread* Whether the last sleep was so short that the next one may begin outside of the foreign loop's wait.
  @safe @exclusivity(unchecked) private(set) var isBusy = false

  /// How long what the foreign loop has may wait beside a loop that never sleeps, in nanoseconds. Chosen: entering it
  /// takes some microseconds, so that it takes a few hundredths of a busy thread.
  private static let patience: Int64 = 100_000

  init(_ loop: any ForeignLoop) { self.loop = loop }

  /// A sleep that was over sooner, in nanoseconds, was none. Chosen, as a few times what a turn takes.
  private static let leastSleep: Int64 = 10_000
  /// After a sleep that took longer, in nanoseconds, the next one is the foreign loop's from its beginning. Chosen.
  private static let mostBusySleep: Int64 = 1_000_000
  /// After so many milliseconds a sleep is the foreign loop's, too: its observers hear of it.
  ///
  /// No kernel's tick is longer, so the tick comes first. A shorter time would be the clock's next: each sleep would set
  /// the clock twice, which takes a virtual machine more time than the rest of a wakeup.
  static let mostMilliseconds: CInt = 10

  /// A sleep is over.
  func slept(_ nanoseconds: Int64) {
    looksFirst = nanoseconds < Self.leastSleep
    isBusy = nanoseconds < Self.mostBusySleep
  }

  func isDue(at now: Instant) -> Bool { now >= dueDate }

  func wasServed(at now: Instant) {
    dueDate = now.advanced(by: Self.patience)
    isKnownPresent = false
  }
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
