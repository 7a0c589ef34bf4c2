/// Runs `body` with a new thread and its loop. The thread ends before this returns.
///
/// The thread first runs all blocks that it was given; timers and descriptor sources that are left become invalid.
/// `body` itself runs on the caller's actor: use the thread's loop for `withTaskExecutorPreference`, actors, or calls.
/// Cancelling the task does not end the thread: `body` has to notice it.
///
/// - Throws: `.notStarted` if the thread cannot be started, `.body` with the error that `body` threw.
public nonisolated(nonsending) func withLoopThread<Value, Failure: Error>(
  name: String = "LoopThread", _ body: nonisolated(nonsending) (LoopThread) async throws(Failure) -> Value
) async throws(LoopThread.ScopeError<Failure>) -> Value {
  let thread: LoopThread
  do {
    thread = try LoopThread(name: name)
  } catch {
    throw .notStarted(error)
  }
  do {
    let value = try await body(thread)
    await thread.end()
    return value
  } catch {
    await thread.end()
    throw .body(error)
  }
}

extension LoopThread {
  /// Why `withLoopThread` returned no result.
  public enum ScopeError<Failure: Error>: Error {
    /// The thread could not be started. The body did not run.
    case notStarted(StartError)
    /// The body threw this error.
    case body(Failure)
  }
}

extension LoopThread.ScopeError: CustomStringConvertible {
  /// A sentence with the cause.
  public var description: String {
    switch self {
    case .notStarted(let error): "\(error)"
    case .body(let error): "\(error)"
    }
  }
}
