/// A value behind a lock of its own. It need not be Sendable itself: it leaves the lock by its users' doing alone.
package final class Guarded<Value>: @unchecked Sendable {
  private let lock = Lock()
  @safe @exclusivity(unchecked) private var value: Value

  package init(_ value: Value) {
    self.value = value
  }

  /// Nothing may be called out inside `body`, nor anything of the user's released.
  package func withLock<Answer, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Answer
  ) throws(Failure) -> Answer {
    try lock.withLock { Result { () throws(Failure) in try body(&value) } }.get()
  }
}
