public import Rondo
public import RondoSockets

/// Runs `body` as the main function of a daemon, and returns when it has stopped. Any thread.
///
/// The stop, by SIGTERM, SIGINT, ``Daemon/stop()`` or the cancellation of the calling task, calls the stop handlers and
/// cancels `body`. The function returns when `body` and all ``Daemon/Work`` have ended, when the grace has passed,
/// or at a second signal half a second later; `body` may then still run. A return of `body` is a stop, too.
///
/// ```swift
/// let outcome = try await withDaemon(on: loop, grace: .seconds(10)) { daemon in
///   let listener = try Listener(at: .loopback())
///   daemon.ready()
///   try await daemon.serve(listener) { connection in
///     while try await connection.awaitRequest(), let line = try await connection.readLine() {
///       try await connection.write("\(line)\n")
///     }
///   }
/// }
/// ```
///
/// - Parameters:
///   - loop: Another function runs it, as `RondoMain` does with the main loop.
///   - grace: How long work under way may take after the stop handlers.
///   - claimsSignals: As `Daemon` has it, which also says what the signals do.
///   - environment: The variables to read for systemd; nil for the process's own.
///   - body: Nonisolated code runs on the loop's thread.
/// - Returns: How it ended; its `exitCode` is for exit(3).
/// - Throws: `DaemonError`; what `body` throws, unless the stop cancelled it and it throws an error that says so.
@discardableResult
public func withDaemon(
  on loop: Loop = .main, grace: Duration = .seconds(30), claimsSignals: Bool = true,
  environment: [String: String]? = nil, _ body: @escaping @Sendable (Daemon) async throws -> Void
) async throws -> Daemon.Outcome {
  try await withTaskExecutorPreference(loop) {
    try await Daemon(on: loop, grace, claimsSignals, environment, isAwaited: true).run(body)
  }
}

extension Daemon {
  /// Runs `body` as a task on the loop, and returns after the stop. The loop's thread.
  ///
  /// - Throws: The error of `body`, unless it is one of the cancellation by a stop.
  fileprivate func run(_ body: @escaping @Sendable (Daemon) async throws -> Void) async throws -> Outcome {
    let work = beginWork()
    let task = Guarded<Task<Void, Never>?>(nil)
    let failure = Guarded<(any Error)?>(nil)
    // The first handler is called last: listeners stop before the cancellation.
    let cancel: @Sendable () -> Void = { task.withLock { $0 }?.cancel() }
    whenStopping(cancel)
    begin()
    let watch = DelegatingObserver([]) { _ in }
    watch.name = "daemon: end of the loop"
    watch.delegate = WhenInvalidated { [self] in endAtOnce() }
    if !loop.add(watch, to: .common) { endAtOnce() }
    let main = Task(executorPreference: loop) { [self] in
      do {
        try await body(self)
      } catch  where Task.isCancelled && error.isCancellation {
      } catch {
        failure.withLock { $0 = error }
      }
      stop()
      work.end()
    }
    task.withLock { $0 = main }
    if isStopping { cancel() }
    await withTaskCancellationHandler {
      await Waiter<Void>.wait { waiter in
        self.waiter.withLock { $0 = waiter }
        if self.outcome != nil { resumeWaiter() }
      }
    } onCancel: {
      stop()
    }
    watch.invalidate()
    let outcome = finish()
    if let error = failure.withLock({ $0 }) { throw error }
    return outcome
  }

  /// Serves each connection in a task of its own until the daemon stops. Any thread.
  ///
  /// Each connection is ``Work``. The stop is `Listener.stop()`, with the daemon's grace.
  ///
  /// - Parameters:
  ///   - group: Has the loops of the connections; nil for the daemon's loop.
  ///   - limits: What clients may take of the server.
  ///   - onError: Called with what a `body` threw, as `Listener.serve(on:)` has it.
  /// - Throws: The listener's error, and `.wait(.loopEnded)`; the connections have ended then, too.
  public nonisolated(nonsending) func serve(
    _ listener: Listener, over group: LoopGroup? = nil, limits: ServerLimits = ServerLimits(),
    onError: (@Sendable (any Error) -> Void)? = nil, _ body: @escaping @Sendable (Connection) async throws -> Void
  ) async throws(ConnectionError) {
    // Weak: a listener whose server has ended is not kept until the stop.
    let stop: @Sendable () -> Void = { [weak listener] in listener?.stop() }
    whenStopping(stop)
    if isStopping { stop() }
    try await listener.serve(
      on: loop, limits: limits, grace: grace, in: .common, onError: onError,
      place: {
        let work = beginWork()
        guard let place = group?.place(by: .leastLoaded) else { return (loop, { work.end() }) }
        return (
          place.loop,
          {
            place.leave()
            work.end()
          }
        )
      }, body)
  }
}
