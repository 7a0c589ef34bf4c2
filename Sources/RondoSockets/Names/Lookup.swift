import Rondo

/// A lookup of a name, whose handler is called at most once.
///
/// The handler is called with the addresses or an error, or when the time limit has passed.
package final class Lookup: Sendable {
  /// *constant*
  let query: LookupQuery
  /// *constant* Where it is told.
  private let loop: Loop
  /// *constant*
  private let mode: Loop.Mode
  /// *its lock*
  private let state = Guarded(State())

  private struct State {
    var isOver = false
    /// Its timer has it, in the loop: when the loop ends, the delivery is freed, which ends the wait for it.
    weak var delivery: Delivery?
    weak var timer: Loop.Timer?
    /// While it waits for a thread.
    weak var patience: Loop.Timer?
    weak var pool: LookupPool?
  }

  /// The handler of the answer. *loop thread*
  final class Delivery: @unchecked Sendable {
    private let handler: (LookupQuery.Answer) -> Void

    init(_ handler: sending @escaping (LookupQuery.Answer) -> Void) {
      self.handler = handler
    }

    /// Calls out.
    func tell(_ answer: LookupQuery.Answer) { handler(answer) }
  }

  init(_ query: LookupQuery, on loop: Loop, in mode: Loop.Mode) {
    self.query = query
    self.loop = loop
    self.mode = mode
  }

  /// Whether the handler will not be called any more. Any thread.
  ///
  /// True after its call, and after ``cancel()``.
  package var isOver: Bool { state.withLock { $0.isOver } }

  /// Cancels the call of the handler. Any thread.
  ///
  /// It does not wait for a callout that is running. A getaddrinfo(3) that has begun continues in its thread, because
  /// it cannot be cancelled; its result is dropped.
  package func cancel() {
    _ = end()
  }

  // MARK: - From the beginning to the end

  /// Puts what ends it in time into the loop.
  ///
  /// - Returns: False if the loop is gone.
  func begin(within limit: Duration, _ delivery: Delivery) -> Bool {
    let timer = Loop.Timer(after: max(.zero, limit)) { [self] _ in deliver(.failure(.timedOut), to: delivery) }
    timer.name = "time limit of a lookup"
    state.withLock { state in
      state.delivery = delivery
      state.timer = timer
    }
    return loop.add(timer, to: mode)
  }

  /// It is in this pool, which is told when no caller waits for it any more.
  func enter(_ pool: LookupPool) {
    let isOver = state.withLock { state in
      state.pool = pool
      return state.isOver
    }
    if isOver { pool.forget(self) }
  }

  /// No thread is free: the pool is asked again and again until one is. Any thread.
  func waitForThread(of pool: LookupPool) {
    var turns = pool.turns
    let timer = Loop.Timer(
      repeatingEvery: LookupPool.patience, on: loop, tolerance: .zero
    ) { [weak self, weak pool] tick in
      guard let self, let seen = pool?.relieve(self, since: turns) else { return tick.timer.invalidate() }
      turns = seen
    }
    timer.name = "a lookup that waits for a thread"
    let isOver = state.withLock { state in
      state.patience = timer
      return state.isOver
    }
    if !isOver { loop.add(timer, to: mode) }
  }

  /// There is an answer. Any thread; the loop tells the caller that waits.
  func finish(_ answer: LookupQuery.Answer) {
    guard let delivery = state.withLock({ $0.isOver ? nil : $0.delivery }) else { return }
    // The block must not keep the delivery alive: its end tells that the loop has ended.
    loop.perform(in: mode) { [self, weak delivery] in if let delivery { deliver(answer, to: delivery) } }
  }

  /// Calls out.
  private func deliver(_ answer: LookupQuery.Answer, to delivery: Delivery) {
    if end() { delivery.tell(answer) }
  }

  /// - Returns: Whether it was not over yet.
  private func end() -> Bool {
    let ended = state.withLock { state -> (timers: [Loop.Timer?], pool: LookupPool?)? in
      guard !state.isOver else { return nil }
      state.isOver = true
      return ([state.timer, state.patience], state.pool)
    }
    guard let ended else { return false }
    for timer in ended.timers { timer?.invalidate() }
    ended.pool?.forget(self)
    return true
  }
}
