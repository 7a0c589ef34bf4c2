/// Calls that bring a result back.
extension LoopThread {
  /// Runs `body` on the thread and waits for its result. Any thread.
  ///
  /// On the thread itself the body runs immediately. On another thread the caller blocks until the thread has run the
  /// blocks before it. If the thread ends without having run the body, the call throws. If the body waits for the
  /// caller, both wait without end.
  ///
  /// - Throws: `.loopEnded` if `body` did not run, `.body` with the error that `body` threw.
  @available(*, noasync, message: "This blocks the thread until another one has answered. Use await thread.async { }.")
  public func sync<Value, Failure: Error>(
    in mode: Loop.Mode = .default, _ body: () throws(Failure) -> sending Value
  ) throws(Loop.CallError<Failure>) -> sending Value {
    if isCurrent {
      do { return try body() } catch { throw .body(error) }
    }
    nonisolated(unsafe) let outcome = withoutActuallyEscaping(body) { body in
      let answer = Answer<Value, Failure>()
      post(body, in: mode, answer.give)
      if loop.isVirtual { Loop.scope?.wait { answer.isThere } }
      return answer.wait()
    }
    return try unsafe outcome.get()
  }

  /// Runs `body` on the thread and suspends until it returns. Any thread.
  ///
  /// The thread first runs the blocks before it. If the thread ends without having run the body, the call throws.
  /// Cancelling the task does not cancel the body.
  ///
  /// - Throws: `.loopEnded` if `body` did not run, `.body` with the error that `body` threw.
  public func async<Value, Failure: Error>(
    in mode: Loop.Mode = .default, _ body: sending @escaping () throws(Failure) -> sending Value
  ) async throws(Loop.CallError<Failure>) -> sending Value {
    nonisolated(unsafe) let body = body
    nonisolated(unsafe) let outcome = await unsafe withUnsafeContinuation {
      (continuation: UnsafeContinuation<CallOutcome<Value, Failure>, Never>) in
      post(unsafe body, in: mode) { outcome in
        nonisolated(unsafe) let outcome = outcome
        unsafe continuation.resume(returning: unsafe outcome)
      }
    }
    return try unsafe outcome.get()
  }

  /// Posts `body` so that `answer` is called once, whatever becomes of the block.
  ///
  /// Nothing but the block may hold the ticket when this has returned.
  private func post<Value, Failure: Error>(
    _ body: @escaping () throws(Failure) -> Value, in mode: Loop.Mode,
    _ answer: @escaping (CallOutcome<Value, Failure>) -> Void
  ) {
    nonisolated(unsafe) let ticket = CallTicket(body, answer)
    execute(in: mode) { unsafe ticket.run() }
  }
}
