/// A value behind a lock of its own. It need not be Sendable itself: only a `body` of its users can take it out.
///
/// Its users in other modules inline what is generic here: unspecialised, a call costs some thousand instructions.
package final class Guarded<Value>: @unchecked Sendable {
  @usableFromInline package let lock = Lock()
  @safe @exclusivity(unchecked) @usableFromInline package var value: Value

  @inlinable
  package init(_ value: Value) {
    self.value = value
  }

  /// Nothing may be called out inside `body`, nor anything of the user's released.
  @inlinable
  package func withLock<Answer, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Answer
  ) throws(Failure) -> Answer {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
