public import Rondo

/// Runs `body` in a task, which one of the signals cancels. Any thread.
///
/// Half a second after the first signal, all of them have their old effect again: then a second one usually ends the
/// process. Cancelling the calling task cancels `body`, too. The function returns when `body` has ended.
///
/// SIGHUP, SIGINT and SIGQUIT stay ignored if they are, as nohup(1) and a shell's `&` have it.
///
/// - Parameters:
///   - signals: For example SIGTERM, which systemd sends, and SIGINT, the terminal's Ctrl-C.
///   - loop: Watches for the signals, and runs the nonisolated code of `body` on its thread.
/// - Returns: The signal that cancelled `body`; nil if `body` returned without one.
/// - Throws: `SignalError`; what `body` throws, unless a signal cancelled it and it throws an error that says so.
@discardableResult
public func withCancellation(
  by signals: [CInt], on loop: Loop, _ body: @escaping @Sendable () async throws -> Void
) async throws -> CInt? {
  let cancellation = SignalCancellation()
  // Before the task: one that cannot be watched starts nothing, and one that comes early is counted.
  let sources = try signals.filter { !SignalSubscription.isLeftAlone($0) }.map { signal in
    try SignalSource(signal) { _, delivery in cancellation.cancel(by: delivery, on: loop) }
  }
  cancellation.hold(sources)
  // A loop that has ended tells of no signal: each keeps its old effect.
  for source in sources where !loop.add(source, to: .common) { source.invalidate() }
  let task = Task(executorPreference: loop, operation: body)
  cancellation.begin(task)
  let result = await withTaskCancellationHandler {
    await task.result
  } onCancel: {
    task.cancel()
  }
  let signal = cancellation.end()
  do { try result.get() } catch  where signal != nil && error.isCancellation {}
  return signal
}

/// What the signals cancel.
private final class SignalCancellation: Sendable {
  private struct State {
    var task: Task<Void, any Error>?
    var sources: [SignalSource] = []
    var signal: CInt?
  }

  /// *its own lock*
  private let state = Guarded(State())

  func hold(_ sources: [SignalSource]) {
    state.withLock { $0.sources = sources }
  }

  func begin(_ task: Task<Void, any Error>) {
    let isCancelled = state.withLock { state in
      state.task = task
      return state.signal != nil
    }
    if isCancelled { task.cancel() }
  }

  /// The loop's thread.
  func cancel(by delivery: SignalSource.Delivery, on loop: Loop) {
    let first = state.withLock { state -> State? in
      guard state.signal == nil else { return nil }
      state.signal = delivery.signal
      return state
    }
    guard let first else { return }
    // What comes before is the same wish, also after the body's end. Afterwards a loop that is busy keeps no signal
    // from its effect.
    let date = delivery.date(on: loop).advanced(by: SignalSource.echo)
    if !loop.isVirtual { for source in first.sources { source.end(at: date) } }
    let timer = Loop.Timer(at: date.suspending) { [self] _ in endSources() }
    timer.name = "signals of a cancellation"
    loop.add(timer, to: .common)
    first.task?.cancel()
  }

  /// The body has ended.
  ///
  /// - Returns: The signal that has cancelled it.
  func end() -> CInt? {
    let signal = state.withLock { state in
      state.task = nil
      return state.signal
    }
    if signal == nil { endSources() }
    return signal
  }

  private func endSources() {
    let sources = state.withLock { state in
      defer { state.sources = [] }
      return state.sources
    }
    for source in sources { source.invalidate() }
  }
}
