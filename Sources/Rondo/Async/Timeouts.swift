/// Runs `body`, and cancels it when `timeout` has passed. Any thread.
///
/// It returns when `body` has, so a body that ignores cancellation delays the error. If the calling task is cancelled, `body`
/// is, and decides what is returned or thrown.
///
/// ```swift
/// let answer = try await withTimeout(.seconds(5), on: loop) { try await ask() }
/// ```
///
/// - Parameters:
///   - timeout: By the loop's clock, while the loop runs in a common mode.
///   - loop: Measures the time; it must run.
/// - Throws: `Loop.WaitError.timedOut`, `.loopEnded`, and the errors of `body`.
public func withTimeout<Value: Sendable>(
  _ timeout: Duration, on loop: Loop, _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  let answer = try await withThrowingTaskGroup(of: Value?.self) { group in
    defer { group.cancelAll() }
    group.addTask { try await body() }
    group.addTask {
      do {
        try await loop.clock.sleep(for: timeout)
      } catch is CancellationError {
        return nil
      } catch {
        throw Loop.WaitError.loopEnded
      }
      throw Loop.WaitError.timedOut
    }
    // The sleep of a cancelled task is over first, without an answer.
    while let ended = try await group.next() { if let ended { return ended as Value? } }
    return nil
  }
  return answer!
}
