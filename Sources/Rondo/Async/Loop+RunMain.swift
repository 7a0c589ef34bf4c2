import Synchronization

/// The main thread for programs whose main function is async in spirit.
extension Loop {
  /// Runs the main thread's loop until `body` has returned. Returns or throws the result of `body`.
  ///
  /// Call it on the main thread, from a synchronous `main`, outside of any run. `body` begins on the main actor. It
  /// resumes on the main thread after each `await`, and so does every other main-actor function; an `async` main does
  /// not guarantee this. `stop()` and `requestStop()` cancel the task of `body` and wait for it.
  @available(*, noasync, message: "It runs the main thread's loop. Call it from a synchronous main.")
  public static func runMain<Value, Failure: Error>(
    _ body: sending @escaping @MainActor () async throws(Failure) -> sending Value
  ) throws(Failure) -> Value {
    let loop = main
    require(
      loop.isCurrent && loop.isMain,
      "Loop.runMain belongs on the main thread of the process that was started, not on a thread or in a forked child.")
    require(
      loop.core.depth == 0, "Loop.runMain is the outermost run of the main loop. Await the function instead.")
    let outcome = MainOutcome<Value, Failure>()
    let task = Task { @MainActor in
      do throws(Failure) {
        outcome.result = .success(try await body())
      } catch {
        outcome.result = .failure(error)
      }
      // Ends this run, and the nested ones in which the body's last job was served.
      loop.requestStop()
    }
    while outcome.result == nil {
      loop.run()
      if outcome.result == nil { task.cancel() }
    }
    return try outcome.result!.get()
  }
}

/// What the body came to. *main thread*
private final class MainOutcome<Value, Failure: Error>: @unchecked Sendable {
  // Unchecked: the body ends on the main thread, which waits for it.
  @safe @exclusivity(unchecked) var result: Result<Value, Failure>?
}
