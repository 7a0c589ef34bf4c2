package import Rondo

/// What a task waits for.
package enum ReadinessDirection: Int, CaseIterable, Sendable {
  case read, write

  /// What the loop is asked to tell.
  package var readiness: Loop.DescriptorSource.Readiness { self == .read ? [.read, .closed] : .write }
}

/// For how long a drain leaves a client the time for a request that is under way.
package enum RequestPatience: Sendable {
  case none
  /// For the first request of a client that was accepted just now.
  case first
  /// For one more request of a connection that is kept: its answer says that it is the last.
  case last
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
    var waiter: Waiter?
    /// Whether the waiter is the task that the descriptor's server made for it.
    var isServed = false
    /// Whether the waiter waits between requests: a drain ends that.
    var isBetween = false
    var patience = RequestPatience.none
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
  /// Which limit of a server the deadline is; nil for one of the program's.
  package var deadlineLimit: ServerLimit?
  /// When no task waits to read any longer, as long as no read has succeeded.
  package var firstReadDeadline = Instant.distantFuture
  /// Until then a drain leaves a client, which was accepted just now, the time for its first request.
  package var firstRequestDeadline = Instant.distantPast
  /// Until then it leaves a kept connection the time for its last one.
  private var lastRequestDeadline = Instant.distantPast
  /// When a call succeeded last while a task waited, if there is a limit of idleness.
  private var lastMove = Instant.distantPast
  /// The peer has ended its side: reading never blocks again, and no further edge may come.
  private var hasHungUp = false
  private var isOver = false
  package private(set) var isDraining = false

  package init() {}

  private subscript(_ direction: ReadinessDirection) -> Side {
    @inline(__always) get { direction == .read ? reading : writing }
    // As a function of its own it would take its frame from the heap at each use.
    @inline(__always) _modify { if direction == .read { yield &reading } else { yield &writing } }
  }

  /// Whether a system call in this direction may succeed. The caller makes the call, if so.
  package mutating func begin(_ direction: ReadinessDirection) -> Bool {
    defer { self[direction].mayGo = false }
    // No further edge may come: only a call shows what there is.
    return self[direction].mayGo || isOver || hasHungUp && direction == .read
  }

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
  ///   - patience: Whether it does so later.
  package mutating func wait(
    _ direction: ReadinessDirection, _ waiter: Waiter, isServed: Bool = false, isBetween: Bool = false,
    patience: RequestPatience = .none, at now: @autoclosure () -> Instant
  ) -> ReadinessAnswer? {
    if isOver { return .ended }
    if self[direction].mayGo { return .ready }
    if self[direction].waiter != nil { return .taken }
    if isBetween, isDraining, patience == .none || requestDeadline(patience) <= now() { return .drained }
    self[direction].waiter = waiter
    self[direction].isServed = isServed
    self[direction].isBetween = isBetween
    self[direction].patience = patience
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

  /// Until when a drain lets the waiter wait between requests.
  private func requestDeadline(_ patience: RequestPatience) -> Instant {
    switch patience {
    case .none: .distantPast
    case .first: firstRequestDeadline
    case .last: max(firstRequestDeadline, lastRequestDeadline)
    }
  }

  /// When the waiter of a direction has waited long enough.
  private func limit(of direction: ReadinessDirection) -> Instant {
    guard self[direction].waiter != nil else { return .distantFuture }
    var deadline = deadline
    if direction == .read {
      deadline = min(deadline, firstReadDeadline)
      if isDraining, reading.isBetween { deadline = min(deadline, requestDeadline(reading.patience)) }
    }
    guard let idleLimit else { return deadline }
    return min(deadline, max(lastMove, self[direction].start).advanced(by: idleLimit))
  }

  /// When the first waiter has waited long enough; `distantFuture` without a limit or a waiter.
  package var nextLimit: Instant {
    min(limit(of: .read), limit(of: .write))
  }

  /// Takes out the waiter of a direction, if it has waited long enough. Says what it is told, and which limit of a server
  /// it has met.
  package mutating func expire(
    _ direction: ReadinessDirection, at now: Instant
  ) -> (waiter: Waiter, answer: ReadinessAnswer, limit: ServerLimit?)? {
    guard limit(of: direction) <= now, let waiter = take(direction) else { return nil }
    if deadline <= now { return (waiter, .timedOut, deadlineLimit) }
    if direction == .read {
      if firstReadDeadline <= now { return (waiter, .timedOut, .firstByte) }
      if isDraining, reading.isBetween, requestDeadline(reading.patience) <= now { return (waiter, .drained, nil) }
    }
    return (waiter, .timedOut, .idle)
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

  /// No task waits between requests any longer, but for a client's first one. The task that waits is taken out.
  ///
  /// - Parameter deadline: Until when a kept connection may make its last request.
  package mutating func drain(until deadline: Instant = .distantPast) -> Waiter? {
    isDraining = true
    lastRequestDeadline = deadline
    return reading.isBetween ? take(.read) : nil
  }

  /// The loop watches no longer. Both waiters are taken out.
  package mutating func end() -> (read: Waiter?, write: Waiter?) {
    isOver = true
    return (take(.read), take(.write))
  }
}
