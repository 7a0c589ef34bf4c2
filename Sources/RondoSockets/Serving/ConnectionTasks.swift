internal import Rondo

/// The tasks of a server's connections, each on the loop of its connection. Any thread.
final class ConnectionTasks: Sendable {
  private struct State {
    /// A task is nil until the thread that began it has noted it.
    var tasks: [Int: (task: Task<Void, any Error>?, connection: Connection)] = [:]
    var lastNumber = 0
    /// How many connections each client address has, if that is limited.
    var counts: [ClientAddress: Int] = [:]
    /// Waits for room, with true, or for the end of all. One at a time: the task that serves.
    var waiter: (waiter: Waiter<Void>, isForRoom: Bool)?
    /// The listener was stopped: no task is to wait for room.
    var isStopped = false
  }

  /// *constant*
  private let server: ServerRecord
  /// *constant*
  private let onError: (@Sendable (any Error) -> Void)?
  /// *constant*
  private let body: @Sendable (Connection) async throws -> Void
  /// *its own lock*
  private let state = Guarded(State())

  init(
    for server: ServerRecord, onError: (@Sendable (any Error) -> Void)?,
    _ body: @escaping @Sendable (Connection) async throws -> Void
  ) {
    self.server = server
    self.onError = onError
    self.body = body
  }

  /// Whose a connection counts as that was accepted; nil if its address has as many as it may.
  func admit(_ socket: Socket) -> Client? {
    guard let most = server.limits.connectionsPerAddress, let address = ClientAddress(socket.peerAddress) else {
      return Client(address: nil)
    }
    if state.withLock({ $0.counts[address, default: 0] < most }) { return Client(address: address) }
    server.count(.connectionsPerAddress)
    return nil
  }

  /// Whose a connection is.
  struct Client {
    /// Nil if those of one address are not counted.
    fileprivate let address: ClientAddress?
  }

  /// Begins the task of a connection.
  func begin(_ connection: Connection, _ client: Client, _ leave: @escaping @Sendable () -> Void) {
    connection.begin(for: server)
    server.connectionBegins()
    let number = state.withLock { state in
      state.lastNumber += 1
      state.tasks[state.lastNumber] = (nil, connection)
      if let address = client.address { state.counts[address, default: 0] += 1 }
      return state.lastNumber
    }
    // Not under the lock: the start of a task wakes the connection's loop, which may want the lock.
    // A task that cannot fail calls its function through two others, whose frames take room.
    let task: Task<Void, any Error> = Task(executorPreference: connection.loop) { [self] in
      connection.serve()
      do { try await body(connection) } catch { report(error) }
      connection.close()
      leave()
      finish(number, client)
    }
    // A task that has ended is not noted. `cancel()` comes after the last task has begun, and misses none.
    state.withLock { $0.tasks[number]?.task = task }
  }

  func report(_ error: any Error) {
    if let onError { return onError(error) }
    if error is ConnectionError || error is CancellationError { return }
    warn("The handler of a connection threw: \(error).")
  }

  private func finish(_ number: Int, _ client: Client) {
    server.connectionEnds()
    let waiter = state.withLock { state -> Waiter<Void>? in
      state.tasks[number] = nil
      if let address = client.address, let count = state.counts[address] {
        state.counts[address] = count > 1 ? count - 1 : nil
      }
      guard let (waiter, isForRoom) = state.waiter, isForRoom || state.tasks.isEmpty else { return nil }
      state.waiter = nil
      return waiter
    }
    waiter?.resume(())
  }

  /// Whether there is room for another connection.
  var hasRoom: Bool { state.withLock { $0.tasks.count < server.limits.connections } }

  /// Suspends until there is room for another connection, or the calling task is cancelled.
  ///
  /// - Returns: False if the listener was stopped.
  nonisolated(nonsending) func waitForRoom() async throws(ConnectionError) -> Bool {
    while !hasRoom {
      if state.withLock({ $0.isStopped }) { return false }
      if Task.isCancelled { throw .wait(.cancelled) }
      await Waiter<Void>.wait(isolation: #isolation) { waiter in
        let isFull = state.withLock { state in
          let isFull = state.tasks.count >= server.limits.connections && !state.isStopped
          if isFull { state.waiter = (waiter, isForRoom: true) }
          return isFull
        }
        if isFull { server.count(.connections) }
        // A cancellation that came before the waiter was there found none.
        if !isFull { waiter.resume(()) } else if Task.isCancelled { giveUp() }
      } onCancel: {
        giveUp()
      }
    }
    return true
  }

  /// The listener was stopped. Any thread.
  func stopWaitingForRoom() {
    state.withLock { $0.isStopped = true }
    giveUp()
  }

  /// The task that serves waits for room no longer.
  private func giveUp() {
    let waiter = state.withLock { $0.waiter?.isForRoom == true ? $0.waiter.take()?.waiter : nil }
    waiter?.resume(())
  }

  /// No connection waits between requests any longer.
  func drain() {
    server.drains()
    for (_, connection) in present { connection.drain() }
  }

  /// Suspends until all tasks have ended, and cancels those that go on after `grace`.
  nonisolated(nonsending) func end(within grace: Duration, on loop: Loop, in mode: Loop.Mode) async {
    drain()
    let timer = DelegatingTimer(after: grace) { [self] _ in cancel() }
    // The end of the loop is the end of the grace: other loops may have the connections.
    timer.delegate = WhenInvalidated(cancel)
    if grace <= .zero || !loop.add(timer, to: mode) { cancel() }
    await Waiter<Void>.wait { waiter in
      let isOver = state.withLock { state in
        if !state.tasks.isEmpty { state.waiter = (waiter, isForRoom: false) }
        return state.tasks.isEmpty
      }
      if isOver { waiter.resume(()) }
    }
    timer.invalidate()
  }

  /// The tasks that have not ended, in their order, so that a simulation does the same in each run.
  private var present: [(task: Task<Void, any Error>?, connection: Connection)] {
    state.withLock { $0.tasks.sorted { $0.key < $1.key }.map(\.value) }
  }

  private func cancel() {
    for (task, connection) in present {
      task?.cancel()
      connection.cancelServed()
    }
  }
}
