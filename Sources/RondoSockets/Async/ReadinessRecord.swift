internal import CLinux
internal import Rondo

/// A descriptor in one loop, for the tasks that read from it and write to it: registered once, while a lease lasts.
///
/// Its source is edge-triggered, in each direction from the first wait on. So a later wait costs no system call, and an
/// edge that no task awaits sets a flag. In virtual time the source is level-triggered, and enabled while a task waits:
/// a script tells readiness once.
final class ReadinessRecord: ItemDelegate, @unchecked Sendable {
  // Unchecked because of the fields under the lock.

  /// How many calls may succeed, one after the other, before a task outside the loop's jobs lets others run.
  private static let budget = 64

  /// *constant*
  let loop: Loop
  /// *constant*
  let mode: Loop.Mode
  /// *constant*
  private let descriptor: CInt
  /// *constant*
  private let lock = Lock()
  /// *its own lock, innermost*
  @safe @exclusivity(unchecked) private var machine = ReadinessMachine<Waiter<ReadinessAnswer>>()
  /// *its own lock* The leases.
  @safe @exclusivity(unchecked) private var leases = 0
  /// *its own lock* There while a lease is.
  @safe @exclusivity(unchecked) private var source: DelegatingDescriptorSource?

  init(_ descriptor: CInt, on loop: Loop, in mode: Loop.Mode) {
    self.descriptor = descriptor
    self.loop = loop
    self.mode = mode
  }

  // MARK: - Leases

  /// Has the loop watch the descriptor until the lease is let go. Any thread.
  func lease() throws(Loop.DescriptorError) -> ReadinessLease {
    if !lock.withLock({ join() }) {
      let made = try makeSource()
      let isFirst = lock.withLock {
        if join() { return false }
        machine.restart()
        leases = 1
        source = made
        return true
      }
      // A loop that has ended takes nothing, and would never invalidate the source.
      if !isFirst || !loop.add(made, to: mode) { made.invalidate() }
    }
    return ReadinessLease(self)
  }

  /// Counts one more lease, if there is one.
  private func join() -> Bool {
    if leases > 0 { leases += 1 }
    return leases > 0
  }

  private func makeSource() throws(Loop.DescriptorError) -> DelegatingDescriptorSource {
    let isScripted = loop.isVirtual
    let source = try DelegatingDescriptorSource(
      descriptor, for: [], trigger: isScripted ? .level : .edge
    ) { [self] source, readiness in
      // First, so that the next wait comes after it.
      if isScripted { source.disable(readiness) }
      tell(readiness)
    }
    source.delegate = self
    return source
  }

  fileprivate func release() {
    let last = lock.withLock { () -> DelegatingDescriptorSource? in
      leases -= 1
      return leases == 0 ? source.take() : nil
    }
    last?.invalidate()
  }

  // MARK: - Calls

  /// Whether a system call in this direction may succeed. The caller makes the call, if so. Any thread.
  ///
  /// Without a lease nothing is known.
  func begin(_ direction: ReadinessDirection) -> Bool {
    lock.withLock { leases == 0 || machine.begin(direction) }
  }

  /// The call has shown that the next one may succeed too. Any thread.
  func mayGoOn(_ direction: ReadinessDirection) {
    lock.withLock { machine.mayGoOn(direction) }
  }

  /// Pays for a call that may succeed at once: lets others run where the task has made too many, and ends one that was
  /// cancelled. Each operation on a descriptor begins with it.
  nonisolated(nonsending) func pay(for direction: ReadinessDirection) async throws(Socket.StreamError) {
    if Task.isCancelled { throw .wait(.cancelled) }
    if loop.takeOperation() ?? !lock.withLock({ machine.hasSpent(direction, of: Self.budget) }) { return }
    await Task.yield()
    if Task.isCancelled { throw .wait(.cancelled) }
  }

  // MARK: - Waiting

  /// Suspends until a call in this direction may succeed. Any thread; one task at a time in each direction.
  ///
  /// - Parameter timeout: The longest time to wait; nil for no limit.
  nonisolated(nonsending) func wait(
    for direction: ReadinessDirection, timeout: Duration? = nil
  ) async throws(Socket.StreamError) {
    if Task.isCancelled { throw .wait(.cancelled) }
    let timer = timeout.map { makeTimer(for: direction, $0) }
    let answer = await Waiter.wait(isolation: #isolation) { waiter in
      begin(waiter, direction, timer)
    } onCancel: {
      end(direction, .cancelled)
    }
    timer?.invalidate()
    switch answer {
    case .ready: return
    case .timedOut: throw .wait(.timedOut)
    case .cancelled: throw .wait(.cancelled)
    case .taken: throw .wait(.alreadyAwaited)
    case .ended: throw .wait(lock.withLock { source }?.invalidationReason.map(Loop.WaitError.invalidated) ?? .loopEnded)
    }
  }

  private func begin(_ waiter: Waiter<ReadinessAnswer>, _ direction: ReadinessDirection, _ timer: DelegatingTimer?) {
    let (answer, source) = lock.withLock { (machine.wait(direction, waiter), self.source) }
    if let answer { return waiter.resume(answer) }
    source?.enable(direction.readiness)
    // A cancellation that came before the waiter was there found none.
    if Task.isCancelled { end(direction, .cancelled) }
    if let timer, !loop.add(timer, to: mode) { timer.invalidate() }
  }

  private func makeTimer(for direction: ReadinessDirection, _ timeout: Duration) -> DelegatingTimer {
    let number = lock.withLock { machine.nextWait(direction) }
    return DelegatingTimer(after: timeout) { [self] _ in
      // A loop that is late fires timers first: the descriptor may be ready already.
      let isReady = !loop.isVirtual && rondo_is_ready(descriptor, direction == .write ? 1 : 0) != 0
      end(direction, isReady ? .ready : .timedOut, ofWait: number)
    }
  }

  /// The wait in this direction is over, if there is one.
  private func end(_ direction: ReadinessDirection, _ answer: ReadinessAnswer, ofWait number: Int? = nil) {
    let waiter = lock.withLock { () -> Waiter<ReadinessAnswer>? in
      if answer == .ready { machine.mayGoOn(direction) }
      return machine.take(direction, ofWait: number)
    }
    waiter?.resume(answer)
  }

  /// The loop's thread.
  private func tell(_ readiness: Loop.DescriptorSource.Readiness) {
    let waiters = lock.withLock { machine.edge(readiness) }
    waiters.read?.resume(.ready)
    waiters.write?.resume(.ready)
  }

  func itemWasInvalidated(_ item: Loop.Item) {
    let waiters = lock.withLock { item === source ? machine.end() : (read: nil, write: nil) }
    waiters.read?.resume(.ended)
    waiters.write?.resume(.ended)
  }
}

/// Has a loop watch a descriptor for as long as it lives.
final class ReadinessLease: Sendable {
  /// *constant*
  let record: ReadinessRecord

  fileprivate init(_ record: ReadinessRecord) {
    self.record = record
  }

  deinit {
    record.release()
  }
}
