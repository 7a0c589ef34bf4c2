/// A request that waits for its reply, and how to wake who waits. *the port's lock*
final class PendingReply {
  /// What came of it; nil as long as nothing did.
  private(set) var outcome: Result<[UInt8]?, MessagePortError>?
  private let waiter: Waiter

  /// Who waits.
  enum Waiter {
    /// A thread. Whoever may wake it holds what it is woken by: a number alone could stand for another file by then.
    case thread(ThreadWaiting)
    /// Nobody: it is told in the loop of the port.
    case handler((Result<[UInt8]?, MessagePortError>) -> Void)
  }

  init(_ waiter: Waiter) {
    self.waiter = waiter
  }

  /// It is over. Calls nobody.
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
