public import Rondo

/// Runs `body` in a task, which one of the signals cancels. Any thread.
///
/// The first signal gives all of them their old effect back: a second one usually ends the process. Cancelling the
/// calling task cancels `body`, too. The function returns when `body` has ended.
///
/// - Parameters:
///   - signals: For example SIGTERM, which systemd sends, and SIGINT, the terminal's Ctrl-C.
///   - loop: Watches for the signals, and runs the nonisolated code of `body` on its thread.
/// - Returns: The signal that cancelled `body`; nil if `body` returned without one.
/// - Throws: `SignalError`; what `body` throws, unless a signal came before.
@discardableResult
public func withCancellation(
  by signals: [CInt], on loop: Loop, _ body: @escaping @Sendable () async throws -> Void
) async throws -> CInt? {
  let cancellation = SignalCancellation()
  // Before the task: one that cannot be watched starts nothing, and one that comes early is counted.
  let sources = try signals.map { signal in
    try SignalSource(signal) { _, _ in cancellation.cancel(by: signal) }
  }
  let task = Task(executorPreference: loop, operation: body)
  cancellation.begin(task, sources)
  for source in sources { loop.add(source, to: .common) }
  let result = await withTaskCancellationHandler {
    await task.result
  } onCancel: {
    task.cancel()
  }
  let signal = cancellation.end()
  if signal == nil { try result.get() }
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

  func begin(_ task: Task<Void, any Error>, _ sources: [SignalSource]) {
    state.withLock { ($0.task, $0.sources) = (task, sources) }
  }

  /// The loop's thread.
  func cancel(by signal: CInt) {
    state.withLock { $0.signal = $0.signal ?? signal }
    end()
  }

  /// Ends the sources, and cancels the task.
  ///
  /// - Returns: The first signal.
  @discardableResult
  func end() -> CInt? {
    let old = state.withLock { state in
      defer { (state.task, state.sources) = (nil, []) }
      return state
    }
    for source in old.sources { source.invalidate() }
    old.task?.cancel()
    return old.signal
  }
}
