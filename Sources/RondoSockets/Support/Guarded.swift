import Synchronization

/// State behind a lock, of a kind that need not be Sendable itself: it never leaves except by the callers' doing.
package final class Guarded<State>: @unchecked Sendable {
  private let lock = Mutex<Void>(())
  /// *its lock*
  private var state: State

  package init(_ state: State) {
    self.state = state
  }

  /// Runs `body` on the state. It must call out to nobody.
  package func withLock<Value, Failure: Error>(
    _ body: (inout State) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    nonisolated(unsafe) var result: Result<Value, Failure>?
    lock.withLock { _ in
      unsafe result = Result { () throws(Failure) in try body(&state) }
    }
    return try unsafe result!.get()
  }
}
