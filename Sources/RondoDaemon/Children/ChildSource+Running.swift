internal import CLinux
internal import Glibc
public import Rondo
internal import RondoSockets

extension ChildSource.Command {
  /// Starts the program, and suspends until it has ended. Any thread.
  ///
  /// If the task is cancelled, the child gets SIGTERM, and SIGKILL if it has not ended after `grace`; the method then
  /// still returns how it ended. The child is reaped. The other end of a piped stream is closed.
  ///
  /// ```swift
  /// let exit = try await ChildSource.Command("/bin/sh", ["-c", "exit 3"]).run(on: loop)
  /// ```
  ///
  /// - Parameter loop: Watches the child, and measures `grace`. If it ends, the outcome is `.unwatched`.
  /// - Throws: As `ChildSource.init(spawning:)`. A task that is cancelled before starts no child, and gets `.cancelled`.
  public nonisolated(nonsending) func run(
    on loop: Loop, grace: Duration = .seconds(5), in mode: Loop.Mode = .common
  ) async throws(ChildError) -> ChildExit {
    try await runToEnd(on: loop, grace: grace, in: mode) { _ throws(ChildError) in }.exit
  }

  /// Starts the program, and collects its standard output until it has ended. Any thread.
  ///
  /// The output ends with the pipe or with the child, whichever is first. So processes that the child leaves behind delay
  /// nothing, and their later output is lost. If `error` is `.piped`, both streams are collected as one, in the order of
  /// the child's writes. If the task is cancelled or the output is too long, the child gets SIGTERM, and SIGKILL if it has
  /// not ended after `grace`. The child is reaped.
  ///
  /// ```swift
  /// let (exit, output) = try await command.run(collecting: 1 << 20, on: loop)
  /// ```
  ///
  /// - Parameters:
  ///   - limit: The most bytes of output.
  ///   - loop: Watches the child and its output, and measures `grace`.
  /// - Throws: `.tooLong`, `.cancelled`, `.stream`. Else as `ChildSource.init(spawning:)`.
  public nonisolated(nonsending) func run(
    collecting limit: Int, on loop: Loop, grace: Duration = .seconds(5), in mode: Loop.Mode = .common
  ) async throws(ChildError) -> (exit: ChildExit, output: [UInt8]) {
    require(limit >= 0, "A limit of output is 0 bytes or more, not \(limit).")
    var command = self
    command.output = .piped
    let (exit, result) = try await command.runToEnd(on: loop, grace: grace, in: mode, joinsError: true) {
      child throws(ChildError) in try await child.output.collect(atMost: limit)
    }
    return (exit, try result.get())
  }

  /// Starts the program, runs `body` beside it, and suspends until the program has ended. Any thread.
  ///
  /// When `body` returns, the pipes are closed. If it throws or the task is cancelled, the child gets SIGTERM, and SIGKILL
  /// if it has not ended after `grace`. The child is reaped before the method returns or throws.
  ///
  /// ```swift
  /// let (exit, count) = try await command.run(on: loop) { child in
  ///   try await child.output.lines().reduce(0) { count, _ in count + 1 }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - loop: Watches the child and its pipes, and measures `grace`. If it ends, the outcome is `.unwatched`.
  ///   - body: Reads from the pipes and writes to them.
  /// - Throws: As `ChildSource.init(spawning:)`; what `body` throws.
  public nonisolated(nonsending) func run<Value>(
    on loop: Loop, grace: Duration = .seconds(5), in mode: Loop.Mode = .common,
    _ body: nonisolated(nonsending) (RunningChild) async throws -> Value
  ) async throws -> (exit: ChildExit, value: Value) {
    let (exit, result) = try await runToEnd(on: loop, grace: grace, in: mode, body)
    return (exit, try result.get())
  }

  private nonisolated(nonsending) func runToEnd<Value, Failure>(
    on loop: Loop, grace: Duration, in mode: Loop.Mode, joinsError: Bool = false,
    _ body: nonisolated(nonsending) (RunningChild) async throws(Failure) -> Value
  ) async throws(ChildError) -> (exit: ChildExit, result: Result<Value, Failure>) {
    if Task.isCancelled { throw .cancelled }
    let child = try start(on: loop, in: mode, joinsError)
    let end = ChildEnd(child.source, [child.pipes.output, child.pipes.error])
    end.begin(on: loop, in: mode)
    // Once: a second call would restart the grace.
    let isTold = Guarded(false)
    let terminate = { @Sendable in
      let isFirst = isTold.withLock { isTold in
        defer { isTold = true }
        return !isTold
      }
      if isFirst { try? child.source.terminate(grace: grace) }
    }
    let result = await child.run(isolation: #isolation, body, onCancel: terminate)
    // Without a reader, a child could not finish what it prints at its end: it is left the pipes if it is terminated.
    if case .failure = result { terminate() } else { child.close() }
    let exit = await end.wait(onCancel: terminate)
    child.close()
    return (exit, result)
  }

  /// Starts the program, with a pipe for each stream that is piped.
  ///
  /// - Parameter joinsError: Whether standard error shares the pipe of the output.
  private func start(
    on loop: Loop, in mode: Loop.Mode, _ joinsError: Bool
  ) throws(ChildError) -> RunningChild {
    var command = self
    // The child's ends.
    var ends: [CInt] = []
    defer { for end in ends { rondo_close(end) } }
    func pipe(_ stream: inout Stream, isInput: Bool = false) throws(ChildError) -> Connection? {
      if stream != .piped { return nil }
      var both: [CInt] = [0, 0]
      let result = unsafe rondo_pipe(&both)
      if result < 0 { throw ChildError(starting: self, -result) }
      let (its, own) = isInput ? (both[0], both[1]) : (both[1], both[0])
      ends.append(its)
      stream = .descriptor(its)
      do {
        return try isInput
          ? Connection(writing: own, on: loop, in: mode) : Connection(reading: own, on: loop, in: mode)
      } catch {
        rondo_close(own)
        throw .stream(error)
      }
    }
    let input = try pipe(&command.input, isInput: true)
    let output = try pipe(&command.output)
    if joinsError, command.error == .piped { command.error = command.output }
    let error = try pipe(&command.error)
    return RunningChild(source: try ChildSource(spawning: command) { _, _ in }, pipes: (input, output, error))
  }
}

extension Connection {
  /// Reads what a child prints until the pipe or the child has ended.
  fileprivate nonisolated(nonsending) func collect(atMost limit: Int) async throws(ChildError) -> [UInt8] {
    var output: [UInt8] = []
    do throws(ConnectionError) {
      while output.count <= limit, try await awaitRequest(), let piece = try await read() { output += piece }
    } catch .wait(.cancelled) {
      throw .cancelled
    } catch {
      throw .stream(error)
    }
    if output.count <= limit { return output }
    // A child that ignores SIGTERM may obey SIGPIPE.
    close()
    throw .tooLong(limit: limit)
  }
}

extension ChildSource {
  /// Suspends until a child that runs already has ended, and reaps it. Any thread.
  ///
  /// - Returns: How it ended; `.unwatched` if the loop ends first.
  /// - Throws: As `ChildSource.init(_:)`; `.cancelled` if the task was cancelled, which leaves the child alone.
  public nonisolated(nonsending) static func exit(
    of process: CInt, on loop: Loop, in mode: Loop.Mode = .common
  ) async throws(ChildError) -> ChildExit {
    let source = try ChildSource(process) { _, _ in }
    let end = ChildEnd(source)
    end.begin(on: loop, in: mode)
    let exit = await end.wait { source.invalidate() }
    if Task.isCancelled, exit.outcome == .unwatched(errno: ECANCELED) { throw .cancelled }
    return exit
  }
}

/// The end of one child, for the task that waits for it.
private final class ChildEnd: ItemDelegate, Sendable {
  private struct State {
    var exit: ChildExit?
    var waiter: Waiter<ChildExit>?
  }

  /// *constant*
  private let source: ChildSource
  /// *constant* Those end with the child, once what is in them was read.
  private let pipes: [Connection?]
  /// *its own lock*
  private let state = Guarded(State())

  init(_ source: ChildSource, _ pipes: [Connection?] = []) {
    self.source = source
    self.pipes = pipes
  }

  /// Has the loop watch the child. Once.
  func begin(on loop: Loop, in mode: Loop.Mode) {
    (source.items[0] as? any DelegatingItem)?.delegate = self
    // A loop that has ended takes nothing.
    if !loop.add(source, to: mode) { source.invalidate() }
  }

  nonisolated(nonsending) func wait(onCancel cancel: @Sendable () -> Void) async -> ChildExit {
    let exit = await Waiter<ChildExit>.wait(isolation: #isolation) { waiter in
      let exit = state.withLock { state in
        if state.exit == nil { state.waiter = waiter }
        return state.exit
      }
      if let exit { return waiter.resume(exit) }
      // A cancellation that came before the child was in the loop may have done nothing.
      if Task.isCancelled { cancel() }
    } onCancel: {
      cancel()
    }
    // The loop reaps the child only if it has told of it.
    if exit.usage != nil { source.child.reap() }
    return exit
  }

  /// The child has ended, or is watched no longer. Any thread.
  func itemWasInvalidated(_ item: Loop.Item) {
    let exit = source.child.look(unless: source.failure) ?? ChildExit(outcome: .unwatched(errno: ECANCELED), usage: nil)
    let waiter = state.withLock { state in
      state.exit = exit
      return state.waiter.take()
    }
    // What an unwatched child prints goes on: the end of the loop is told to its reader.
    if case .unwatched = exit.outcome {} else { for pipe in pipes { pipe?.drain() } }
    waiter?.resume(exit)
  }
}
