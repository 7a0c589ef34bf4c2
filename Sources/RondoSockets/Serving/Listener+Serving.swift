public import Rondo

extension Listener {
  /// Serves each connection in a task of its own on the loop, until cancelled. Any thread.
  ///
  /// A connection is closed when its `body` returns or throws. When the calling task is cancelled, the method accepts no
  /// more, and drains: ``Connection/awaitRequest()`` returns false for connections between requests. It waits up
  /// to `grace` for the others to end, cancels the tasks that are left, and returns when all have ended. Clients that
  /// were not accepted stay in the listener's queue; after ``stop()`` it accepts them, too. Without descriptors it
  /// pauses and loses no client; see ``connections(on:in:)``.
  ///
  /// ```swift
  /// try await listener.serve(on: loop) { connection in
  ///   for try await bytes in connection { try await connection.write(bytes) }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - loop: Watches the listener and the connections, and runs their tasks.
  ///   - limits: What each client may take of the server.
  ///   - grace: How long connections may go on after the cancellation.
  ///   - mode: The mode in whose runs the loop watches.
  ///   - onError: Called with what a `body` threw. Nil writes it to standard error, unless it is a `ConnectionError`
  ///     or a `CancellationError`.
  ///   - body: Nonisolated code runs on the loop's thread.
  /// - Throws: The listener's error, and `.wait(.loopEnded)`; the connections have ended then, too.
  public nonisolated(nonsending) func serve(
    on loop: Loop, limits: ServerLimits = ServerLimits(), grace: Duration = .zero, in mode: Loop.Mode = .common,
    onError: (@Sendable (any Error) -> Void)? = nil, _ body: @escaping @Sendable (Connection) async throws -> Void
  ) async throws(ConnectionError) {
    try await serve(on: loop, limits: limits, grace: grace, in: mode, onError: onError, place: { (loop, {}) }, body)
  }

  /// The same, with a loop for each connection.
  ///
  /// - Parameter place: The loop for the next connection, and what is called when that has ended.
  package nonisolated(nonsending) func serve(
    on loop: Loop, limits: ServerLimits, grace: Duration, in mode: Loop.Mode, onError: (@Sendable (any Error) -> Void)?,
    place: () -> (loop: Loop, leave: @Sendable () -> Void),
    _ body: @escaping @Sendable (Connection) async throws -> Void
  ) async throws(ConnectionError) {
    limits.check()
    let server = ServerRecord(limits)
    ShownServers.add(server, at: "\(address)")
    defer { ShownServers.remove(server) }
    let tasks = ConnectionTasks(for: server, onError: onError, body)
    func begin(_ socket: Socket) {
      guard let client = tasks.admit(socket) else { return }
      let (home, leave) = place()
      do throws(ConnectionError) {
        // A connection of a loop that has ended would be served until it waits.
        if home.hasEnded { throw .wait(.loopEnded) }
        tasks.begin(try Connection(socket, on: home, in: mode), client, leave)
      } catch {
        // This one closes, and the others are served.
        leave()
        tasks.report(error)
      }
    }
    var failure: ConnectionError?
    do {
      let door = try open(on: loop, in: mode) { tasks.stopWaitingForRoom() }
      while try await tasks.waitForRoom(), let socket = try await door.accept() { begin(socket) }
    } catch {
      if error != .wait(.cancelled) { failure = error }
    }
    if failure == nil, isStopped, !isHandedOver {
      tasks.drain()
      await acceptQueue(on: loop, until: loop.deadline(after: grace), while: { tasks.hasRoom }, begin)
    }
    await tasks.end(within: grace, on: loop, in: mode)
    if let failure { throw failure }
  }

  /// Accepts those that connected before the stop. More may come as fast: it makes as many tries as a queue has places.
  ///
  /// Without descriptors it waits for those of the connections that end, until the deadline or the task's cancellation.
  private nonisolated(nonsending) func acceptQueue(
    on loop: Loop, until deadline: Instant?, while hasRoom: () -> Bool, _ begin: (Socket) -> Void
  ) async {
    var patience = AcceptPatience()
    for _ in 0..<Socket.usualBacklog where hasRoom() {
      do throws(SocketError) {
        switch try socket.acceptNext() {
        case .connection(let socket, _): begin(socket)
        case .failed: continue
        case .nothing: return
        }
      } catch {
        guard error.isShortage else { return }
        do {
          try await loop.pause(for: patience.pauseAfterShortage(), atMost: loop.timeLeft(until: deadline))
        } catch { return }
      }
    }
  }
}
