internal import Glibc
public import Rondo

extension ChildSource.Command {
  /// Starts the program, and suspends until it has ended. Any thread.
  ///
  /// If the task is cancelled, the child gets SIGTERM, and SIGKILL if it has not ended after `grace`; the method then
  /// still returns how it ended. The child is reaped.
  ///
  /// ```swift
  /// let exit = try await ChildSource.Command("/bin/sh", ["-c", "exit 3"]).run(on: loop)
  /// ```
  ///
  /// - Parameter loop: Watches the child, and measures `grace`. If it ends, the outcome is `.unwatched`.
  /// - Throws: As `ChildSource.init(spawning:)`. A task that is cancelled before starts no child, and gets `.cancelled`.
  public nonisolated(nonsending) func run(
    on loop: Loop, killingAfter grace: Duration = .seconds(5), in mode: Loop.Mode = .common
  ) async throws(ChildError) -> ChildExit {
    if Task.isCancelled { throw .cancelled }
    let source = try ChildSource(spawning: self) { _, _ in }
    return await ChildEnd(source).wait(on: loop, in: mode) { try? source.terminate(killingAfter: grace) }
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
    let exit = await ChildEnd(source).wait(on: loop, in: mode) { source.invalidate() }
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
  /// *its own lock*
  private let state = Guarded(State())

  init(_ source: ChildSource) {
    self.source = source
  }

  nonisolated(nonsending) func wait(
    on loop: Loop, in mode: Loop.Mode, onCancel cancel: @Sendable () -> Void
  ) async -> ChildExit {
    (source.items[0] as? any DelegatingItem)?.delegate = self
    // A loop that has ended takes nothing.
    if !loop.add(source, to: mode) { source.invalidate() }
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
    waiter?.resume(exit)
  }
}
