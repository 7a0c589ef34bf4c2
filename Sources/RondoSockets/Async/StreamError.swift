public import Rondo

extension Socket {
  /// Why async code got no further with a socket.
  public enum StreamError: Error, Hashable, Sendable {
    /// What the socket said.
    case socket(SocketError)
    /// The wait for it ended too early: cancelled, its time over, or the loop gone.
    case wait(Loop.WaitError)
  }
}

extension Socket.StreamError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .socket(let error): "\(error)"
    case .wait(let error): "the wait for the socket ended: \(error)"
    }
  }
}
