internal import CLinux
package import Rondo
internal import Synchronization

/// A descriptor in one loop, for the tasks that read from it and write to it: registered once, until it is let go.
///
/// Its source is edge-triggered, in each direction from the first wait on. So a later wait costs no system call, and an
/// edge that no task awaits sets a flag. A script of virtual time says only once that a descriptor is ready: there the
/// source of a descriptor that is not simulated is level-triggered, and enabled only while a task waits.
package final class ReadinessRecord: ItemDelegate, @unchecked Sendable {
  // Unchecked because of the fields under the lock.

  /// How many calls may succeed, one after the other, before a task outside the loop's jobs lets others run.
  private static let budget = 64

  /// *constant*
  let loop: Loop
  /// *constant*
  private let mode: Loop.Mode
  /// *constant*
  private let descriptor: CInt
  /// *constant* Outside the loop's locks; held across no callout.
  private let lock = Lock()
  /// *its own lock*
  @safe @exclusivity(unchecked) private var machine = ReadinessMachine<Waiter<ReadinessAnswer>>()
  /// *atomic* The task that a server made for the descriptor, by its place in memory; 0 if there is none.
  private let served = Atomic<UInt>(0)
  /// *its own lock* Nil before the loop watches, and once the record is let go.
  @safe @exclusivity(unchecked) private var source: DelegatingDescriptorSource?
  /// *its own lock* Fires when the first waiter may have waited long enough, or before; nil if none has a limit.
  @safe @exclusivity(unchecked) private var timer: Loop.Timer?
  /// *its own lock* When the timer fires; `distantFuture` without one.
  @safe @exclusivity(unchecked) private var timerDate = Instant.distantFuture
  /// *constant* once a server has accepted the connection: its limits end waits, and it counts them.
  @safe @exclusivity(unchecked) var server: ServerRecord?

  fileprivate init(
    _ descriptor: CInt, of owner: some AnyObject & Sendable, on loop: Loop, in mode: Loop.Mode
  ) throws(Loop.DescriptorError) {
    self.descriptor = descriptor
    self.loop = loop
    self.mode = mode
    let isScripted = loop.isVirtual && rondo_is_simulated(descriptor) == 0
    let source = try DelegatingDescriptorSource(
      descriptor, for: [], trigger: isScripted ? .level : .edge
    ) { [self] source, readiness in
      // First, so that the next wait comes after it.
      if isScripted { source.disable(readiness) }
      // Until the loop lets go, the number stays this file's: the loop would forget another one in its place.
      withExtendedLifetime(owner) { tell(readiness) }
    }
    self.source = source
    source.delegate = self
  }

  /// Has the loop watch. Once.
  fileprivate func begin() {
    guard let source = lock.withLock({ source }) else { return }
    // A loop that has ended takes nothing, and would never invalidate the source.
    if !loop.add(source, to: mode) { source.invalidate() }
  }

  /// Has the loop watch no longer; those that wait are told that it is closed. Any thread.
  func release() {
    let items = lock.withLock {
      timerDate = .distantFuture
      return (source.take(), timer.take())
    }
    items.0?.invalidate()
    items.1?.invalidate()
  }

  // MARK: - Calls

  /// Whether a system call in this direction may succeed. The caller makes the call, if so. Any thread.
  func begin(_ direction: ReadinessDirection) -> Bool {
    lock.withLock { machine.begin(direction) }
  }

  /// A call has succeeded. Any thread.
  ///
  /// - Parameter mayGoOn: Whether the next one may succeed, too.
  package func succeed(_ direction: ReadinessDirection, mayGoOn: Bool) {
    lock.withLock {
      machine.succeed(direction, mayGoOn: mayGoOn)
      machine.moved(at: loop.now)
    }
  }

  /// Bytes have moved, and the call goes on: for the limit of idleness. Any thread.
  package func moved() {
    lock.withLock { machine.moved(at: loop.now) }
  }

  /// Pays for a call that may succeed at once, and ends one of a task that was cancelled. Each operation on a descriptor
  /// begins with it.
  ///
  /// - Returns: Whether the task has made too many, and calls `letOthersRun()` first.
  func pay(for direction: ReadinessDirection) throws(ConnectionError) -> Bool {
    if Task.isCancelled { throw .wait(.cancelled) }
    if let isPaid = loop.takeOperation() { return !isPaid }
    return lock.withLock { machine.hasSpent(direction, of: Self.budget) }
  }

  /// Ends an operation whose call moved no data, if no task is to wait any longer: it may be made again without end.
  func checkDeadline() throws(ConnectionError) {
    let (isOver, limit) = lock.withLock { (machine.deadline <= loop.now, machine.deadlineLimit) }
    guard isOver else { return }
    if let limit { server?.count(limit) }
    throw .wait(.timedOut)
  }

  /// Suspends until others have had their turn.
  @inline(never)
  nonisolated(nonsending) func letOthersRun() async throws(ConnectionError) {
    await loop.yield()
    if Task.isCancelled { throw .wait(.cancelled) }
  }

  // MARK: - Waiting

  /// Suspends until a call in this direction may succeed. Any thread; one task at a time in each direction.
  @inline(__always)
  nonisolated(nonsending) func wait(for direction: ReadinessDirection) async throws(ConnectionError) {
    // A handler of cancellation costs a sixth of a request, and the memory of its frames.
    let answer =
      isServed
      ? await unsafe withUnsafeContinuation { begin(unsafe Waiter(continuation: $0), direction, isServed: true) }
      : await waitUntilCancelled(direction)
    if answer != .ready { try check(answer) }
  }

  /// Suspends until a read may succeed, or the server drains. Any thread.
  ///
  /// - Parameter patience: Whether a drain waits for a request that is under way.
  /// - Returns: False in the second case.
  @inline(never)
  nonisolated(nonsending) func waitForRequest(patience: RequestPatience = .none) async throws(ConnectionError) -> Bool {
    let answer =
      isServed
      ? await unsafe withUnsafeContinuation {
        begin(unsafe Waiter(continuation: $0), .read, isServed: true, isBetween: true, patience: patience)
      } : await waitUntilCancelled(.read, isBetween: true, patience: patience)
    try check(answer)
    return answer == .ready
  }

  @inline(never)
  private func check(_ answer: ReadinessAnswer) throws(ConnectionError) {
    switch answer {
    case .ready, .drained: return
    case .timedOut: throw .wait(.timedOut)
    case .cancelled: throw .wait(.cancelled)
    case .taken: throw .wait(.alreadyAwaited)
    case .ended:
      guard let source = lock.withLock({ source }) else { throw .closed }
      throw .wait(source.invalidationReason.map(Loop.WaitError.invalidated) ?? .loopEnded)
    }
  }

  /// For tasks that others cancel. A function of its own: its frame takes room, and served tasks do without.
  @inline(never)
  private nonisolated(nonsending) func waitUntilCancelled(
    _ direction: ReadinessDirection, isBetween: Bool = false, patience: RequestPatience = .none
  ) async -> ReadinessAnswer {
    await Waiter.wait(isolation: #isolation) { waiter in
      begin(waiter, direction, isServed: false, isBetween: isBetween, patience: patience)
    } onCancel: {
      resume(direction, .cancelled)
    }
  }

  private func begin(
    _ waiter: Waiter<ReadinessAnswer>, _ direction: ReadinessDirection, isServed: Bool, isBetween: Bool = false,
    patience: RequestPatience = .none
  ) {
    let (answer, source) = lock.withLock {
      let answer = machine.wait(
        direction, waiter, isServed: isServed, isBetween: isBetween, patience: patience, at: loop.now)
      if answer == nil { armTimer() }
      return (answer, self.source)
    }
    if let answer { return waiter.resume(answer) }
    source?.enable(direction.readiness)
    // A cancellation that came before the waiter was there found none.
    if Task.isCancelled { resume(direction, .cancelled) }
  }

  private func resume(_ direction: ReadinessDirection, _ answer: ReadinessAnswer) {
    lock.withLock { machine.take(direction) }?.resume(answer)
  }

  /// The loop's thread.
  private func tell(_ readiness: Loop.DescriptorSource.Readiness) {
    let waiters = lock.withLock { machine.edge(readiness) }
    waiters.read?.resume(.ready)
    waiters.write?.resume(.ready)
  }

  package func itemWasInvalidated(_ item: Loop.Item) {
    let waiters = lock.withLock { machine.end() }
    waiters.read?.resume(.ended)
    waiters.write?.resume(.ended)
  }

  // MARK: - Serving

  /// Says that the calling task's server ends its waits, by `cancelServed()`: they need no handler for that.
  func serve() {
    served.store(RuntimeInsides.current ?? 0, ordering: .relaxed)
  }

  private var isServed: Bool {
    let task = served.load(ordering: .relaxed)
    return task != 0 && task == RuntimeInsides.current
  }

  /// No task waits between requests any longer, but for a client's first one. Any thread.
  ///
  /// One that waits makes one more call: the edge of what has come may be told later.
  func drain() {
    let waiter = lock.withLock {
      machine.succeed(.read, mayGoOn: true)
      return machine.drain(until: loop.now.advanced(by: Self.requestTime))
    }
    waiter?.resume(.ready)
  }

  var isDraining: Bool { lock.withLock { machine.isDraining } }

  /// The task that waits to read makes one more call. Any thread.
  func wakeReader() {
    let waiter = lock.withLock {
      machine.succeed(.read, mayGoOn: true)
      return machine.take(.read)
    }
    waiter?.resume(.ready)
  }

  /// The server has cancelled its task for the descriptor. Any thread.
  func cancelServed() {
    for direction in ReadinessDirection.allCases {
      lock.withLock { machine.takeServed(direction) }?.resume(.cancelled)
    }
  }

  // MARK: - Limits

  /// How long nothing may move while a task waits; nil for no limit. Any thread.
  var idleLimit: Duration? {
    get { lock.withLock { machine.idleLimit.map { .nanoseconds($0) } } }
    set {
      lock.withLock {
        machine.limitIdleness(to: newValue?.saturatingNanoseconds, at: loop.now)
        armTimer()
      }
    }
  }

  /// When no task waits any longer; nil for no limit. Any thread.
  var deadline: SuspendingClock.Instant? {
    get { lock.withLock { machine.deadline == .distantFuture ? nil : machine.deadline.suspending } }
    set { setDeadline(newValue, of: nil) }
  }

  /// The same, for a limit of the server's. Any thread.
  func setDeadline(_ date: SuspendingClock.Instant?, of limit: ServerLimit?) {
    lock.withLock {
      machine.deadline = date.map(Instant.init) ?? .distantFuture
      machine.deadlineLimit = limit
      armTimer()
    }
  }

  /// The peer was accepted just now: a drain that comes soon gives it the time that its first request takes. Any thread.
  func wasAccepted() {
    lock.withLock { machine.firstRequestDeadline = loop.now.advanced(by: Self.requestTime) }
  }

  /// How long a request may be under way, after a client's acceptance or the beginning of a drain, in nanoseconds.
  private static let requestTime: Int64 = 1_000_000_000

  /// How long a task may wait until a first read succeeds. Any thread.
  func limitFirstByte(to limit: Duration) {
    lock.withLock {
      machine.firstReadDeadline = loop.now.advanced(by: limit.saturatingNanoseconds)
      armTimer()
    }
  }

  /// Has the timer fire no later than the first waiter's limit. *under the lock*
  ///
  /// What moves postpones the limit, and not the timer, which then looks again when it fires.
  private func armTimer() {
    let limit = machine.nextLimit
    guard limit < timerDate, source != nil else { return }
    timerDate = limit
    if let timer, timer.isValid { return timer.setFireDateQuietly(limit.suspending) }
    let made = Loop.Timer(at: limit.suspending) { [self] _ in timeIsUp() }
    timer = made
    // A loop that has ended has told the waiters.
    loop.addQuietly(made, to: mode)
  }

  /// The loop's thread.
  private func timeIsUp() {
    let now = loop.now
    var met: ServerLimit?
    for direction in ReadinessDirection.allCases {
      guard let (waiter, answer, limit) = lock.withLock({ machine.expire(direction, at: now) }) else { continue }
      // A loop that is late fires timers first: the descriptor may be ready already.
      let isReady = !loop.isVirtual && rondo_is_ready(descriptor, direction == .write ? 1 : 0) != 0
      if isReady { lock.withLock { machine.succeed(direction, mayGoOn: true) } }
      // A limit that ends both waits is met once.
      if !isReady, let limit, limit != met { server?.count(limit) }
      met = isReady ? met : limit
      waiter.resume(isReady ? .ready : answer)
    }
    lock.withLock {
      timerDate = machine.nextLimit
      if timerDate < .distantFuture { timer?.setFireDateQuietly(timerDate.suspending) } else { timer = nil }
    }
  }
}

extension Loop {
  /// Lets the loop's other jobs and items run, if the task runs on its thread. Any thread.
  nonisolated(nonsending) func yield() async {
    let hasNoPreference = unsafe withUnsafeCurrentTask { unsafe $0?.unownedTaskExecutor == nil }
    guard isCurrent, hasNoPreference else { return await Task.yield() }
    // A task of an actor would go to a thread of the runtime's and back.
    await withTaskExecutorPreference(self) { await Task.yield() }
  }
}

/// Has a loop watch a descriptor for as long as it lives.
package final class ReadinessLease: Sendable {
  /// *constant*
  package let record: ReadinessRecord

  /// Has the loop watch the descriptor. Any thread.
  ///
  /// - Parameter owner: Keeps the descriptor open. The loop's source has a reference to it.
  convenience init(
    _ descriptor: CInt, of owner: some AnyObject & Sendable, on loop: Loop, in mode: Loop.Mode
  ) throws(ConnectionError) {
    try self.init(of: descriptor, of: owner, on: loop, in: mode)
    begin()
  }

  /// Makes what `begin()` has the loop watch. Until then the loop knows nothing of the descriptor.
  init(
    of descriptor: CInt, of owner: some AnyObject & Sendable, on loop: Loop, in mode: Loop.Mode
  ) throws(ConnectionError) {
    do {
      record = try ReadinessRecord(descriptor, of: owner, on: loop, in: mode)
    } catch {
      throw .wait(.descriptor(error))
    }
  }

  /// Has the loop watch. Any thread.
  func begin() { record.begin() }

  deinit {
    record.release()
  }
}
