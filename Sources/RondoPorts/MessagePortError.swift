public import RondoSockets

/// The reason why a call on a message port failed.
public enum MessagePortError: Error, Hashable, Sendable {
  /// The name is empty, too long, `.` or `..`, or contains a slash or NUL.
  case badName(String)
  /// Another live port has the name.
  case nameTaken(MessagePortName)
  /// No live port has the name.
  case notFound(MessagePortName)
  /// The user has no runtime directory: neither $XDG_RUNTIME_DIR nor /run/user/UID.
  case noRuntimeDirectory
  /// Another user may write to the directory, and so could replace the port.
  case unsafeDirectory(String)
  /// `MessagePortOptions.peers` excludes the peer's user.
  case peerNotPermitted(PeerCredentials)
  /// The receiver did not make room in time, for a connection or for a message.
  ///
  /// The port drops a message of which no byte was sent. If it has sent the beginning, it sends the rest later and
  /// ignores the reply.
  case sendTimedOut
  /// The message was sent, and no reply came in time. A later reply is ignored.
  case replyTimedOut
  /// The port was invalidated by this process, or is in no loop.
  case invalid
  /// The peer closed the connection or ended.
  case peerGone
  /// The receiver released the request without a reply.
  case unanswered
  /// The request already has a reply, or wants none.
  case notAwaited
  /// The sender has left too many bytes of earlier replies unread.
  ///
  /// The request still waits. You can reply once the sender has read some of them.
  case tooManyReplies(waiting: Int, limit: Int)
  /// The message is longer than the port's limit, in bytes.
  case messageTooLong(count: Int, limit: Int)
  /// The receiver refused the request or ended the connection, for this reason.
  case refused(Refusal)
  /// The peer sent bytes that are no message. The port closed the connection.
  case malformed(FrameError)
  /// A system call on the port's socket or file failed.
  case socket(SocketError)

  /// The reason why a receiver refuses a request or ends a connection.
  public enum Refusal: String, Sendable {
    /// The sender's bytes are no message.
    case malformed
    /// A message was longer than the receiver's limit.
    case tooLong
    /// The receiver's options exclude the sender's user.
    case notPermitted
    /// The receiver has reached its limit of connections, bytes or requests.
    case crowded
    /// The sender left a message unfinished, or a reply unread, for too long.
    case tooSlow
    /// The receiver was invalidated.
    case closing
  }
}

extension MessagePortError: CustomStringConvertible {
  /// A sentence with the cause.
  public var description: String {
    switch self {
    case .badName(let name): "'\(name)' cannot be the name of a message port"
    case .nameTaken(let name): "another port has the name \(name)"
    case .notFound(let name): "no port has the name \(name)"
    case .noRuntimeDirectory: "there is no runtime directory: set XDG_RUNTIME_DIR"
    case .unsafeDirectory(let path): "others than its owner may write to \(path)"
    case .peerNotPermitted(let peer): "the peer, process \(peer.process), belongs to user \(peer.user)"
    case .sendTimedOut: "the receiver did not take the message in time"
    case .replyTimedOut: "no reply came in time"
    case .invalid: "the port was invalidated"
    case .peerGone: "the peer has gone"
    case .unanswered: "the receiver did not answer"
    case .notAwaited: "nobody waits for this answer"
    case .tooManyReplies(let waiting, let limit):
      "\(waiting) bytes of replies wait for the sender to read, more than the limit of \(limit)"
    case .messageTooLong(let count, let limit): "\(count) bytes are more than the limit of \(limit)"
    case .refused(let reason): "the receiver ended the connection: \(reason.rawValue)"
    case .malformed(let error): "the peer sent no message: \(error)"
    case .socket(let error): "\(error)"
    }
  }
}

extension MessagePortError {
  /// What a failure frame says.
  init(_ code: Frame.FailureCode) {
    switch code {
    case .malformed: self = .refused(.malformed)
    case .tooLong: self = .refused(.tooLong)
    case .notPermitted: self = .refused(.notPermitted)
    case .crowded: self = .refused(.crowded)
    case .unanswered: self = .unanswered
    case .closing: self = .refused(.closing)
    case .tooSlow: self = .refused(.tooSlow)
    }
  }
}
