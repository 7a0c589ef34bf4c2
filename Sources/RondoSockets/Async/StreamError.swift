public import Rondo

extension Socket {
  /// Why an async call on a socket failed.
  public enum StreamError: Error, Hashable, Sendable {
    /// A system call on the socket failed.
    case socket(SocketError)
    /// The wait for the socket failed. It was cancelled, its time passed, or the loop ended.
    case wait(Loop.WaitError)
  }
}

extension Socket.StreamError: CustomStringConvertible {
  /// A sentence with the cause.
  public var description: String {
    switch self {
    case .socket(let error): "\(error)"
    case .wait(let error): "the wait for the socket ended: \(error)"
    }
  }
}
