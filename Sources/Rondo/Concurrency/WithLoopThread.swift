/// Runs `body` with a new thread and its loop. The thread ends before this returns.
///
/// What was given to the thread is run first; timers and descriptor sources that are left become invalid. `body` itself
/// runs where the caller does: use the thread's loop for `withTaskExecutorPreference`, actors, or calls. If the task is
/// cancelled, `body` is what has to notice.
///
/// - Throws: `.notStarted` if there is no thread to be had, `.body` with what `body` threw.
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
  /// Why the scope of a thread brought no result.
  public enum ScopeError<Failure: Error>: Error {
    /// The body did not run.
    case notStarted(StartError)
    /// The body threw this.
    case body(Failure)
  }
}
