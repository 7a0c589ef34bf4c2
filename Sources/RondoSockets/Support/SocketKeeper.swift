package import Rondo

/// Holds a socket for a loop that watches it: closed before the loop has let go, its number could be another file's.
package final class SocketKeeper: Sendable {
  private let socket: Guarded<Socket?>

  package init(_ socket: Socket) {
    self.socket = Guarded(socket)
  }

  /// The loop's item for the socket has been invalidated, or has left its last mode.
  ///
  /// On the loop's own thread it is watched no longer; elsewhere the loop lets go of the item first, and so of this.
  package func release(by loop: Loop?) {
    guard loop?.isCurrent != false else { return }
    // The socket is closed after the lock, if this was the last to hold it.
    _ = socket.withLock { socket in
      defer { socket = nil }
      return socket
    }
  }
}
