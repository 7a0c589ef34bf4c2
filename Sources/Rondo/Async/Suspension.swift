/// A task that waits for a loop, resumed exactly once by whatever comes first.
///
/// That may be the loop, the end of the loop, or cancellation, each on its own thread, and before the task has even
/// been suspended.
package final class Suspension<Outcome>: ItemDelegate, @unchecked Sendable {
  // Unchecked because of the fields under the lock, and because an outcome goes from one thread to another: its maker
  // gives it up.

  private typealias Machine = SuspensionMachine<Waiter<Outcome>, Outcome>

  /// *constant*
  private let lock = Lock()
  /// *its own lock, innermost*
  @safe @exclusivity(unchecked) private var machine = Machine()
  /// *its own lock* What the loop holds for the task; invalid when the task goes on.
  @safe @exclusivity(unchecked) private var items: [Loop.Item] = []
  /// *constant* What it means that the loop drops an item, or a block.
  private let dropped: (Loop.Item?) -> Outcome

  package init(dropped: @escaping (Loop.Item?) -> Outcome) {
    self.dropped = dropped
  }

  /// Suspends the task until `end` or `cancel`.
  ///
  /// - Parameter items: Invalidated before the task goes on.
  /// - Returns: False if it need not begin: it is over, and the task has been resumed.
  package func begin(_ waiter: Waiter<Outcome>, holding items: [Loop.Item] = []) -> Bool {
    let action = lock.withLock { () -> Machine.Action in
      self.items = items
      return machine.begin(waiter)
    }
    return !finish(action)
  }

  /// From here on the task waits for `end`, and cannot be cancelled.
  ///
  /// - Returns: False if it is over.
  func claim() -> Bool {
    lock.withLock { machine.claim() }
  }

  /// The task goes on with this, if it is the first. Any thread.
  package func end(_ outcome: Outcome) {
    finish(lock.withLock { machine.end(outcome) })
  }

  /// The task goes on with this, if it is the first and nothing was claimed. Any thread.
  func cancel(_ outcome: Outcome) {
    finish(lock.withLock { machine.cancel(outcome) })
  }

  /// The loop has dropped what would have resumed the task. Any thread.
  package func drop() {
    end(dropped(nil))
  }

  package func itemWasInvalidated(_ item: Loop.Item) {
    end(dropped(item))
  }

  /// - Returns: Whether the task was resumed.
  @discardableResult
  private func finish(_ action: Machine.Action) -> Bool {
    guard case .resume(let waiter, let outcome) = action else { return false }
    // Nothing but the loop and these hold the items now.
    for item in lock.withLock({ items.take() }) { item.invalidate() }
    waiter.resume(outcome)
    return true
  }
}

/// A suspended task. The thread that takes it out of its machine resumes it, once: the machine gives it away once.
@safe package struct Waiter<Outcome> {
  @usableFromInline let continuation: UnsafeContinuation<Outcome, Never>

  /// For waits that do not call `wait(_:)`: its frame takes room in the task's memory.
  @inlinable
  package init(continuation: UnsafeContinuation<Outcome, Never>) {
    unsafe self.continuation = unsafe continuation
  }

  /// Suspends the task until it is resumed. The caller's actor is not left.
  @inlinable @inline(__always)
  package nonisolated(nonsending) static func wait(_ body: (Waiter) -> Void) async -> Outcome {
    await unsafe withUnsafeContinuation { body(unsafe Waiter(continuation: $0)) }
  }

  /// The same, until it is resumed by whatever `onCancel` leads to if the task is cancelled.
  ///
  /// - Parameter isolation: The caller's actor: what is given to `withTaskCancellationHandler` runs there only if it
  ///   captures it, and costs two changes of threads otherwise.
  @inlinable @inline(__always)
  package static func wait(
    isolation: isolated (any Actor)?, _ body: (Waiter) -> Void, onCancel: @Sendable () -> Void
  ) async -> sending Outcome {
    nonisolated(unsafe) let outcome = await withTaskCancellationHandler {
      _ = isolation
      return await wait(body)
    } onCancel: {
      onCancel()
    }
    return unsafe outcome
  }

  /// Resumes the task with an outcome that no other thread has.
  package func resume(_ outcome: Outcome) {
    nonisolated(unsafe) let outcome = outcome
    unsafe continuation.resume(returning: unsafe outcome)
  }
}

extension Array {
  /// The elements, which are gone from the array.
  fileprivate mutating func take() -> Self {
    defer { self = [] }
    return self
  }
}
