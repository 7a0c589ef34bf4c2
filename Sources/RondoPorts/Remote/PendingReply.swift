/// A request that waits for its reply, and how to wake its waiter. *the port's lock*
final class PendingReply {
  /// What came of it; nil as long as nothing did.
  private(set) var outcome: Result<[UInt8]?, MessagePortError>?
  private let waiter: Waiter

  /// What waits: a thread, or a handler.
  enum Waiter {
    /// A thread. Its waker holds the object, not just the descriptor's number, which could be reused by then.
    case thread(ThreadWaiting)
    /// No thread: the handler is called in the loop of the port.
    case handler((Result<[UInt8]?, MessagePortError>) -> Void)
  }

  init(_ waiter: Waiter) {
    self.waiter = waiter
  }

  /// It is over. Calls no handler.
  ///
  /// - Returns: What is to be told in the loop.
  func settle(_ outcome: Result<[UInt8]?, MessagePortError>) -> (() -> Void)? {
    self.outcome = outcome
    switch waiter {
    case .thread(let waiting):
      waiting.wake()
    case .handler(let handler):
      return { handler(outcome) }
    }
    return nil
  }
}
