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
  /// The server drains, and the peer owes nothing.
  case drained
}

/// What the tasks that read from and write to one descriptor know of it. A pure machine.
///
/// Each direction has a flag and at most one waiter. A set flag says that a system call may succeed. A task clears the
/// flag before its call, so that an edge which comes during the call is not lost.
package struct ReadinessMachine<Waiter> {
  private struct Side {
    // The first call is tried: no edge tells of what was there before.
    var mayGo = true
    /// Whether the call that blocked waits for the other direction or descriptor, and not for this one.
    var waitsElsewhere = false
    var waiter: Waiter?
    /// Whether the waiter is the task that the descriptor's server made for it.
    var isServed = false
    /// Whether the waiter waits between requests: a drain ends that.
    var isBetween = false
    /// When the wait began, if there is a limit of idleness.
    var start = Instant.distantPast
    /// Calls that succeeded since the task waited or yielded, outside the loop's jobs.
    var calls = 0
  }

  private var reading = Side()
  private var writing = Side()
  /// The longest time in nanoseconds that nothing moves while a task waits; nil for no limit.
  package private(set) var idleLimit: Int64?
  /// When no task waits any longer. A change counts for waits that have begun, too.
  package var deadline = Instant.distantFuture
  /// When no task waits to read any longer, as long as no read has succeeded.
  package var firstReadDeadline = Instant.distantFuture
  /// When a call succeeded last while a task waited, if there is a limit of idleness.
  private var lastMove = Instant.distantPast
  /// The peer has ended its side: reading never blocks again, and no further edge may come.
  private var hasHungUp = false
  private var isOver = false
  private var isDraining = false

  package init() {}

  private subscript(_ direction: ReadinessDirection) -> Side {
    @inline(__always) get { direction == .read ? reading : writing }
    // As a function of its own it would take its frame from the heap at each use.
    @inline(__always) _modify { if direction == .read { yield &reading } else { yield &writing } }
  }

  /// Whether a system call in this direction may succeed. The caller makes the call, if so.
  package mutating func begin(_ direction: ReadinessDirection) -> Bool {
    defer {
      self[direction].mayGo = false
      self[direction].waitsElsewhere = false
    }
    // No further edge may come: only a call shows what there is.
    return self[direction].mayGo || isOver || hasHungUp && direction == .read
  }

  /// The call that begins waits for the other direction or descriptor, if it blocks.
  package mutating func waitElsewhere(_ direction: ReadinessDirection) {
    self[direction].waitsElsewhere = true
  }

  /// Whether the waiter is woken by readiness in its direction. Otherwise it would be told again and again.
  package func waitsHere(_ direction: ReadinessDirection) -> Bool { !self[direction].waitsElsewhere }

  /// A call has succeeded.
  ///
  /// - Parameter mayGoOn: Whether the next one may succeed, too.
  package mutating func succeed(_ direction: ReadinessDirection, mayGoOn: Bool) {
    if mayGoOn { self[direction].mayGo = true }
    if direction == .read { firstReadDeadline = .distantFuture }
  }

  /// A call has moved bytes, in either direction. It counts for a wait that has begun: a later one has its own start.
  package mutating func moved(at now: @autoclosure () -> Instant) {
    if idleLimit != nil, reading.waiter != nil || writing.waiter != nil { lastMove = now() }
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
  ///
  /// - Parameters:
  ///   - isServed: Whether `takeServed(_:)` takes the waiter out.
  ///   - isBetween: Whether `drain()` does.
  package mutating func wait(
    _ direction: ReadinessDirection, _ waiter: Waiter, isServed: Bool = false, isBetween: Bool = false,
    at now: @autoclosure () -> Instant
  ) -> ReadinessAnswer? {
    if isOver { return .ended }
    if self[direction].mayGo { return .ready }
    if self[direction].waiter != nil { return .taken }
    if isBetween, isDraining { return .drained }
    self[direction].waiter = waiter
    self[direction].isServed = isServed
    self[direction].isBetween = isBetween
    self[direction].calls = 0
    if idleLimit != nil { self[direction].start = now() }
    return nil
  }

  // MARK: - Limits

  /// Sets how long nothing may move while a task waits; counts for waits that have begun, too.
  package mutating func limitIdleness(to limit: Int64?, at now: Instant) {
    // Of waits that began without a limit no start is known.
    if idleLimit == nil { lastMove = now }
    idleLimit = limit
  }

  /// When the waiter of a direction has waited long enough.
  private func limit(of direction: ReadinessDirection) -> Instant {
    guard self[direction].waiter != nil else { return .distantFuture }
    let deadline = direction == .read ? min(deadline, firstReadDeadline) : deadline
    guard let idleLimit else { return deadline }
    return min(deadline, max(lastMove, self[direction].start).advanced(by: idleLimit))
  }

  /// When the first waiter has waited long enough; `distantFuture` without a limit or a waiter.
  package var nextLimit: Instant {
    min(limit(of: .read), limit(of: .write))
  }

  /// Takes out the waiter of a direction, if it has waited long enough.
  package mutating func expire(_ direction: ReadinessDirection, at now: Instant) -> Waiter? {
    limit(of: direction) <= now ? take(direction) : nil
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

  /// Takes out the waiter of a direction, whose wait is over for another reason.
  package mutating func take(_ direction: ReadinessDirection) -> Waiter? {
    self[direction].waiter.take()
  }

  /// Takes out the waiter of a direction, if it is the server's task, which was cancelled.
  package mutating func takeServed(_ direction: ReadinessDirection) -> Waiter? {
    self[direction].isServed ? take(direction) : nil
  }

  /// No task waits between requests any longer. The one that does is taken out.
  package mutating func drain() -> Waiter? {
    isDraining = true
    return reading.isBetween ? take(.read) : nil
  }

  /// The loop watches no longer. Both waiters are taken out.
  package mutating func end() -> (read: Waiter?, write: Waiter?) {
    isOver = true
    return (take(.read), take(.write))
  }
}
