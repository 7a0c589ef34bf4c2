public import RondoSockets

/// Why something with a message port failed.
public enum MessagePortError: Error, Hashable, Sendable {
  /// The name is empty, too long, or contains a slash or a zero byte.
  case badName(String)
  /// A live port has the name.
  case nameTaken(MessagePortName)
  /// No live port has the name.
  case notFound(MessagePortName)
  /// There is no directory for the user's runtime files: neither XDG_RUNTIME_DIR nor /run/user/UID.
  case noRuntimeDirectory
  /// Others than its owner may write to the directory, so they could replace the port.
  case unsafeDirectory(String)
  /// The peer belongs to a user who is not let in.
  case peerNotPermitted(PeerCredentials)
  /// The message could not be handed over in time, because the receiver does not read. It is not sent, unless its
  /// beginning had gone: then the rest will follow it, and a reply is ignored.
  case sendTimedOut
  /// The message was sent, and no reply came in time. One that comes later is ignored.
  case replyTimedOut
  /// The port was invalidated here.
  case invalid
  /// The peer has closed the connection, or died.
  case peerGone
  /// The receiver let go of the request without answering it.
  case unanswered
  /// The request has been answered before, or wants no answer.
  case notAwaited
  /// The sender has left too many bytes of earlier replies unread. The request still waits for an answer: it can be
  /// answered when some have gone.
  case tooManyReplies(waiting: Int, limit: Int)
  /// The message is longer than the port's limit.
  case messageTooLong(count: Int, limit: Int)
  /// The receiver ended the connection and said why.
  case refused(Refusal)
  /// What the peer sent is no message; the connection was closed.
  case malformed(FrameError)
  /// A system call on the port's socket or file failed.
  case socket(SocketError)

  /// Why a receiver ends a connection.
  public enum Refusal: String, Sendable {
    /// It could not read what it was sent.
    case malformed
    /// A message was longer than it takes.
    case tooLong
    /// The sender's user is not let in.
    case notPermitted
    /// It has as many connections, bytes or requests as its limits say.
    case crowded
    /// A message was left unfinished, or a reply unread, for longer than it waits.
    case tooSlow
    /// It was invalidated.
    case closing
  }
}

extension MessagePortError: CustomStringConvertible {
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
