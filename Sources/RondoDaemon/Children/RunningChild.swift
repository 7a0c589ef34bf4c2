import Rondo
public import RondoSockets

/// A child that runs, with the pipes to its standard streams.
///
/// A stream has a pipe if its command says `.piped`. The pipe of an output ends when no process has its other end: a
/// process that the child leaves behind keeps it open. `awaitRequest()` of the connection is then false as soon as the
/// child has ended and all of its output was read.
public struct RunningChild: Sendable {
  /// The child's source: sends signals, and has the number.
  public let source: ChildSource
  let pipes: (input: Connection?, output: Connection?, error: Connection?)

  /// Writes to the child's standard input. `close()` is its end.
  public var input: Connection { Self.piped(pipes.input, "input") }
  /// Reads the child's standard output.
  public var output: Connection { Self.piped(pipes.output, "output") }
  /// Reads the child's standard error.
  public var error: Connection { Self.piped(pipes.error, "error") }

  private static func piped(_ pipe: Connection?, _ name: String) -> Connection {
    require(pipe != nil, "The child has no pipe of that name. Set the command's `\(name)` to .piped.")
    return pipe!
  }

  /// Ends the pipes.
  func close() {
    for pipe in [pipes.input, pipes.output, pipes.error] { pipe?.close() }
  }

  /// Runs `body`. Keeps to the caller's actor: see `Waiter.wait(isolation:_:onCancel:)`.
  func run<Value, Failure>(
    isolation: isolated (any Actor)?, _ body: nonisolated(nonsending) (RunningChild) async throws(Failure) -> Value,
    onCancel: @Sendable () -> Void
  ) async -> Result<Value, Failure> {
    await withTaskCancellationHandler {
      _ = isolation
      do throws(Failure) { return .success(try await body(self)) } catch { return .failure(error) }
    } onCancel: {
      onCancel()
    }
  }
}
