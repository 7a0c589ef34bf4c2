internal import Rondo
import RondoSockets

/// Whom a message port talks to, and how much it takes from them.
///
/// All the memory that its peers can make a local port hold is within `maximumHeldBytes`, and one message more.
public struct MessagePortOptions: Sendable, Hashable {
  /// Whose processes may be at the other end. The kernel's word counts (SO_PEERCRED), not the peer's.
  public var peers: Peers
  /// The longest message sent and accepted, in bytes.
  public var maximumMessageLength: Int
  /// How many connections a local port holds at once; one more is told `.refused(.crowded)`.
  ///
  /// If one of them has been quiet for `maximumIdleTime`, it has to make room instead.
  public var maximumConnections: Int
  /// How many bytes of replies wait for one slow reader at most. Beyond it, no more of its requests are read or served.
  ///
  /// A reply is accepted as long as no more wait; so this much and one message is the most that ever does.
  public var maximumQueuedReplies: Int
  /// How many requests of one sender are being answered at once. Beyond it, no more of its messages are served.
  public var maximumKeptRequests: Int
  /// What all senders together can make a local port hold, in bytes of memory. That is half messages, messages that
  /// were read and wait, replies that wait for their readers, and requests that wait for their answers.
  ///
  /// Beyond it, the connection that has stood still longest is ended with `.refused(.crowded)`. Requests that wait for
  /// their answers may be half of it, 512 bytes each beside their own; one more is answered `.refused(.crowded)`. It is
  /// never less than four messages need.
  public var maximumHeldBytes: Int
  /// How long a sender may leave a message unfinished or a reply unread. Without a byte that moves; nil is for ever.
  ///
  /// It is ended with `.refused(.tooSlow)`, never before this time and at most as long again after it.
  public var maximumIdleTime: Duration?
  /// How long a sender may take for one message, or for reading one reply. Though bytes move; nil is for ever.
  ///
  /// It is ended with `.refused(.tooSlow)`, never before this time and at most four times as long after the beginning.
  public var maximumMessageTime: Duration?

  public enum Peers: Sendable, Hashable {
    /// The user this process acts as (its effective user).
    case sameUser
    case users(Set<UInt32>)
    case anyone
  }

  /// A quarter of the descriptors this process may open (RLIMIT_NOFILE), and 1,024 at most. A port leaves room.
  public static var defaultMaximumConnections: Int {
    min(1024, max(1, descriptorLimit / 4))
  }

  public init(
    peers: Peers = .sameUser, maximumMessageLength: Int = 16 << 20,
    maximumConnections: Int = MessagePortOptions.defaultMaximumConnections,
    maximumQueuedReplies: Int = 1 << 20, maximumKeptRequests: Int = 256, maximumHeldBytes: Int = 128 << 20,
    maximumIdleTime: Duration? = .seconds(30), maximumMessageTime: Duration? = .seconds(120)
  ) {
    contract(
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
