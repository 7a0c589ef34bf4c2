/// What a loop knows of its timerfd, as a pure state machine. *loop thread*
///
/// The timerfd is watched edge-triggered, so the kernel reports each date once. Setting it to a date that it still owes
/// would cost a system call. Leaving it alone after its edge was collected would lose the date.
package struct Alarm: Hashable, Sendable {
  /// The date whose edge the kernel still owes; `.distantFuture` if it owes none.
  package private(set) var owed = Instant.distantFuture

  package init() {}

  /// The next sleep ends at `date`.
  ///
  /// - Returns: Whether the timerfd has to be set.
  @inline(__always)
  package mutating func set(_ date: Instant) -> Bool {
    if date == owed { return false }
    owed = date
    return true
  }

  /// The edge was collected. The timerfd is disarmed since.
  @inline(__always)
  package mutating func collected() { owed = .distantFuture }
}
