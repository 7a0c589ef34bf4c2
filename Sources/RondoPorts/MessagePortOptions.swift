internal import Rondo
import RondoSockets

/// The peers that a message port accepts, and the limits of their use of it.
///
/// The peers of a local port make it hold at most `maximumHeldBytes` and one message of memory.
public struct MessagePortOptions: Sendable, Hashable {
  /// The users whose processes may be the peer. The kernel states the user: SO_PEERCRED.
  public var peers: Peers
  /// The longest message sent and accepted, in bytes.
  public var maximumMessageLength: Int
  /// The most connections of a local port.
  ///
  /// If a full port has a connection that was quiet for `maximumIdleTime`, it ends that one for a new one. Otherwise
  /// the new one gets `.refused(.crowded)`.
  public var maximumConnections: Int
  /// The most bytes of replies that wait for one slow reader.
  ///
  /// Beyond it, the port reads and serves none of that reader's requests. A reply is accepted while no more bytes wait,
  /// so at most this number and one message wait.
  public var maximumQueuedReplies: Int
  /// The most requests of one sender that wait for your reply.
  ///
  /// Beyond it, the port serves none of that sender's messages.
  public var maximumKeptRequests: Int
  /// The most memory that all senders together make a local port hold, in bytes.
  ///
  /// It includes partial messages, messages that wait for the handler, replies that wait for their readers, and
  /// requests that wait for a reply. Beyond it, the port ends the connection that has not moved a byte for longest,
  /// with `.refused(.crowded)`. Requests that wait for a reply may take half of it, each with 512 bytes beside its own.
  /// A further request gets `.refused(.crowded)`. The limit is at least the need of four messages.
  public var maximumHeldBytes: Int
  /// How long a sender may pause within a message or leave a reply unread.
  ///
  /// The pause lasts while no byte moves. The port ends the connection with `.refused(.tooSlow)` after one to two times
  /// this duration. Nil is no limit.
  public var maximumIdleTime: Duration?
  /// How long a sender may take for one message, or to read one reply.
  ///
  /// It limits a sender that moves bytes slowly. The port ends the connection with `.refused(.tooSlow)` after one to
  /// four times this duration. Nil is no limit.
  public var maximumMessageTime: Duration?

  public enum Peers: Sendable, Hashable {
    /// The effective user of this process.
    case sameUser
    case users(Set<UInt32>)
    case anyone
  }

  /// A quarter of the descriptors this process may open (RLIMIT_NOFILE), at most 1,024.
  public static var defaultMaximumConnections: Int {
    min(1024, max(1, descriptorLimit / 4))
  }

  public init(
    peers: Peers = .sameUser, maximumMessageLength: Int = 16 << 20,
    maximumConnections: Int = MessagePortOptions.defaultMaximumConnections,
    maximumQueuedReplies: Int = 1 << 20, maximumKeptRequests: Int = 256, maximumHeldBytes: Int = 128 << 20,
    maximumIdleTime: Duration? = .seconds(30), maximumMessageTime: Duration? = .seconds(120)
  ) {
    require(
      maximumMessageLength >= 0 && maximumConnections > 0 && maximumQueuedReplies > 0 && maximumKeptRequests > 0
        && maximumHeldBytes > 0 && maximumIdleTime ?? .seconds(1) > .zero
        && maximumMessageTime ?? .seconds(1) > .zero,
      "A message port's limits are positive. Use invalidate() for a port that takes nothing.")
    self.peers = peers
    self.maximumMessageLength = min(maximumMessageLength, Frame.longestPayload)
    self.maximumConnections = maximumConnections
    self.maximumQueuedReplies = maximumQueuedReplies
    self.maximumKeptRequests = maximumKeptRequests
    self.maximumHeldBytes = maximumHeldBytes
    self.maximumIdleTime = maximumIdleTime
    self.maximumMessageTime = maximumMessageTime
  }

  /// How often a port looks at what is unfinished; nil for never.
  var timeBetweenLooks: Duration? {
    [maximumIdleTime, maximumMessageTime].compactMap { $0 }.filter { $0 > .zero }.min()
  }

  func lets(_ peer: PeerCredentials, in user: UInt32) -> Bool {
    switch peers {
    case .sameUser: peer.user == user
    case .users(let users): users.contains(peer.user)
    case .anyone: true
    }
  }

  /// `maximumHeldBytes`, but never so little that a lone connection with a message in each direction exceeds its half.
  package var heldLimit: Int {
    let queued = min(maximumQueuedReplies, .max / 8)
    return max(maximumHeldBytes, 4 * maximumMessageLength + 2 * queued + 4 * Wire.longestPiece)
  }
}
