internal import Rondo
import RondoSockets

/// The peers that a message port accepts, and the limits of their use of it.
///
/// The peers of a local port make it hold at most `memoryLimit` and one message of memory.
public struct MessagePortOptions: Sendable, Hashable {
  /// The users whose processes may be the peer. The kernel states the user: SO_PEERCRED.
  public var peers: Peers
  /// The longest message sent and accepted, in bytes.
  public var messageLimit: Int
  /// The most connections of a local port.
  ///
  /// If a full port has a connection that was quiet for `idleLimit`, it ends that one for a new one. Otherwise
  /// the new one gets `.refused(.crowded)`.
  public var connectionLimit: Int
  /// The most bytes of replies that wait for one slow reader.
  ///
  /// Beyond it, the port reads and serves none of that reader's requests. A reply is accepted while no more bytes wait,
  /// so at most this number and one message wait.
  public var replyLimit: Int
  /// The most requests of one sender that wait for your reply.
  ///
  /// Beyond it, the port serves none of that sender's messages.
  public var requestLimit: Int
  /// The most memory that all senders together make a local port hold, in bytes.
  ///
  /// It includes partial messages, messages that wait for the handler, replies that wait for their readers, and
  /// requests that wait for a reply. Beyond it, the port ends the connection that has not moved a byte for longest,
  /// with `.refused(.crowded)`. Requests that wait for a reply may take half of it, each with 512 bytes beside its own.
  /// A further request gets `.refused(.crowded)`. The limit is at least the need of four messages.
  public var memoryLimit: Int
  /// How long a sender may pause within a message or leave a reply unread.
  ///
  /// The pause lasts while no byte moves. The port ends the connection with `.refused(.tooSlow)` after one to two times
  /// this duration. Nil is no limit.
  public var idleLimit: Duration?
  /// How long a sender may take for one message, or to read one reply.
  ///
  /// It limits a sender that moves bytes slowly. The port ends the connection with `.refused(.tooSlow)` after one to
  /// four times this duration. Nil is no limit.
  public var messageTimeout: Duration?

  /// The users whose processes a port accepts, or whose port a sender accepts.
  public enum Peers: Sendable, Hashable {
    /// The effective user of this process.
    case sameUser
    /// Users with these numbers, as geteuid(2) returns them.
    case users(Set<UInt32>)
    /// Every user.
    case anyone
  }

  /// A quarter of the descriptors this process may open (RLIMIT_NOFILE), at most 1,024.
  @usableFromInline package static var usualConnectionLimit: Int {
    min(1024, max(1, descriptorLimit / 4))
  }

  /// Makes options; a port with the default ones serves its own user.
  public init(
    peers: Peers = .sameUser, messageLimit: Int = 16 << 20,
    connectionLimit: Int = MessagePortOptions.usualConnectionLimit,
    replyLimit: Int = 1 << 20, requestLimit: Int = 256, memoryLimit: Int = 128 << 20,
    idleLimit: Duration? = .seconds(30), messageTimeout: Duration? = .seconds(120)
  ) {
    require(
      messageLimit >= 0 && connectionLimit > 0 && replyLimit > 0 && requestLimit > 0
        && memoryLimit > 0 && idleLimit ?? .seconds(1) > .zero
        && messageTimeout ?? .seconds(1) > .zero,
      "A message port's limits are positive. Use invalidate() for a port that takes nothing.")
    self.peers = peers
    self.messageLimit = min(messageLimit, Frame.longestPayload)
    self.connectionLimit = connectionLimit
    self.replyLimit = replyLimit
    self.requestLimit = requestLimit
    self.memoryLimit = memoryLimit
    self.idleLimit = idleLimit
    self.messageTimeout = messageTimeout
  }

  /// How often a port looks at what is unfinished; nil for never.
  var timeBetweenLooks: Duration? {
    [idleLimit, messageTimeout].compactMap { $0 }.filter { $0 > .zero }.min()
  }

  func lets(_ peer: PeerCredentials, in user: UInt32) -> Bool {
    switch peers {
    case .sameUser: peer.user == user
    case .users(let users): users.contains(peer.user)
    case .anyone: true
    }
  }

  /// `memoryLimit`, but never so little that a lone connection with a message in each direction exceeds its half.
  package var heldLimit: Int {
    let queued = min(replyLimit, .max / 8)
    return max(memoryLimit, 4 * messageLimit + 2 * queued + 4 * Wire.longestPiece)
  }
}
