extension Socket: CustomStringConvertible {
  /// The socket's kind, number and addresses, for people. Any thread.
  public var description: String {
    let peer = peerAddress.map { ", connected to \($0)" } ?? ""
    return "\(kind) socket \(descriptor)" + (localAddress.map { " at \($0)" } ?? "") + peer
  }
}

extension SocketSource: CustomStringConvertible {
  /// The source's socket, for people. Any thread.
  public var description: String { socket.map { "source of \($0)" } ?? "source of a socket, invalid" }
}
