import RondoSockets

/// Whom a message port talks to, and how much it takes from them.
public struct MessagePortOptions: Sendable, Hashable {
  /// Whose processes may be at the other end. The kernel's word counts (SO_PEERCRED), not the peer's.
  public var peers: Peers
  /// The longest message sent and accepted, in bytes.
  public var maximumMessageLength: Int
  /// How many connections a local port holds at once.
  public var maximumConnections: Int
  /// Replies waiting for one slow reader, in bytes; beyond it, no more of its requests are read.
  public var maximumQueuedReplies: Int

  public enum Peers: Sendable, Hashable {
    /// The user this process acts as (its effective user).
    case sameUser
    case users(Set<UInt32>)
    case anyone
  }

  public init(
    peers: Peers = .sameUser, maximumMessageLength: Int = 16 << 20, maximumConnections: Int = 1024,
    maximumQueuedReplies: Int = 1 << 20
  ) {
    precondition(
      maximumMessageLength >= 0 && maximumConnections > 0 && maximumQueuedReplies > 0,
      "A message port's limits are positive. Use invalidate() for a port that takes nothing.")
    self.peers = peers
    self.maximumMessageLength = min(maximumMessageLength, Frame.longestPayload)
    self.maximumConnections = maximumConnections
    self.maximumQueuedReplies = maximumQueuedReplies
  }

  func lets(_ peer: PeerCredentials, in user: UInt32) -> Bool {
    switch peers {
    case .sameUser: peer.user == user
    case .users(let users): users.contains(peer.user)
    case .anyone: true
    }
  }
}
