package import Rondo

/// What a task waits for.
package enum ReadinessDirection: Int, CaseIterable, Sendable {
  case read, write

  /// What the loop is asked to tell.
  package var readiness: Loop.DescriptorSource.Readiness { self == .read ? [.read, .closed] : .write }
}

/// Why a wait is over.
package enum ReadinessAnswer: Sendable, Hashable {
  /// A system call may succeed now.
  case ready
  case timedOut
  case cancelled
  /// Another task waits in this direction.
  case taken
  /// The loop watches the descriptor no longer.
  case ended
}

/// What the tasks that read from and write to one descriptor know of it. A pure machine.
///
/// Each direction has a flag and at most one waiter. A set flag says that a system call may succeed. A task clears the
/// flag before its call, so that an edge which comes during the call is not lost.
package struct ReadinessMachine<Waiter> {
  private struct Side {
    // The first call is tried: no edge tells of what was there before.
    var mayGo = true
    var waiter: Waiter?
    /// How many waits have begun.
    var waits = 0
    /// Calls that succeeded since the task waited or yielded, outside the loop's jobs.
    var calls = 0
  }

  private var sides = (read: Side(), write: Side())
  /// The peer has ended its side: reading never blocks again, and no further edge may come.
  private var hasHungUp = false
  private var isOver = false

  package init() {}

  private subscript(_ direction: ReadinessDirection) -> Side {
    get { direction == .read ? sides.read : sides.write }
    _modify { if direction == .read { yield &sides.read } else { yield &sides.write } }
  }

  /// Whether a system call in this direction may succeed. The caller makes the call, if so.
  package mutating func begin(_ direction: ReadinessDirection) -> Bool {
    defer { self[direction].mayGo = false }
    // Of what the loop has told no more, the descriptor itself may know.
    return self[direction].mayGo || isOver || hasHungUp && direction == .read
  }

  /// The call has shown that the next one may succeed too.
  package mutating func mayGoOn(_ direction: ReadinessDirection) {
    self[direction].mayGo = true
  }

  /// Counts a call of a task that runs outside the loop's jobs.
  ///
  /// - Returns: Whether it has made so many without a pause that others get their turn first.
  package mutating func hasSpent(_ direction: ReadinessDirection, of budget: Int) -> Bool {
    self[direction].calls += 1
    if self[direction].calls <= budget { return false }
    self[direction].calls = 0
    return true
  }

  /// The answer that there is already; nil if the waiter waits from now on.
  package mutating func wait(_ direction: ReadinessDirection, _ waiter: Waiter) -> ReadinessAnswer? {
    if isOver { return .ended }
    if self[direction].mayGo { return .ready }
    if self[direction].waiter != nil { return .taken }
    self[direction].waiter = waiter
    self[direction].waits += 1
    self[direction].calls = 0
    return nil
  }

  /// The loop has told what the descriptor is ready for. The waiters that are taken out go on.
  package mutating func edge(_ readiness: Loop.DescriptorSource.Readiness) -> (read: Waiter?, write: Waiter?) {
    if readiness.contains(.closed) { hasHungUp = true }
    let isReadable = !readiness.isDisjoint(with: [.read, .closed])
    return (isReadable ? wake(.read) : nil, readiness.contains(.write) ? wake(.write) : nil)
  }

  private mutating func wake(_ direction: ReadinessDirection) -> Waiter? {
    self[direction].mayGo = true
    return take(direction)
  }

  /// The number that the next wait in this direction will have.
  package func nextWait(_ direction: ReadinessDirection) -> Int {
    self[direction].waits + 1
  }

  /// Takes out the waiter of a direction, whose wait is over for another reason.
  ///
  /// - Parameter number: The wait that is meant; nil for any.
  package mutating func take(_ direction: ReadinessDirection, ofWait number: Int? = nil) -> Waiter? {
    if let number, number != self[direction].waits { return nil }
    return self[direction].waiter.take()
  }

  /// The loop watches no longer. Both waiters are taken out.
  package mutating func end() -> (read: Waiter?, write: Waiter?) {
    isOver = true
    return (take(.read), take(.write))
  }

  /// Begins again: the loop watches.
  package mutating func restart() {
    self = ReadinessMachine()
  }
}
