import Glibc
package import Rondo
public import RondoSockets

/// The receiving end of a named message port. See CFMessagePortCreateLocal.
///
/// Add it to a loop, which keeps it alive. The loop calls its handler with one message a callout, in the order of each
/// sender. A port is in one loop at a time, in several modes. Every member may be used from any thread.
/// `MessagePortOptions` limits the memory that its senders make it hold.
public final class LocalMessagePort: @unchecked Sendable {
  /// The name by which senders find the port.
  public let name: MessagePortName
  package let options: MessagePortOptions
  package let state: Guarded<State>
  /// The user this process acted as when the port was made.
  let user = geteuid()
  /// What the senders make it hold.
  package let account: PortAccount

  package struct State {
    /// Nil once the port is invalid.
    var claim: NameClaim?
    /// The loop owns it and it owns the port: weak, so that the loop's end is the end of the circle.
    weak var listener: SocketSource?
    var handler: ((MessagePortRequest) -> Void)?
    var ended: ((PeerCredentials, MessagePortError) -> Void)?
    package var connections: [ObjectIdentifier: ServedConnection] = [:]
    /// Connections with messages that were read and wait, in turn, each once.
    var backlog: [ServedConnection] = []
    /// Connections that were ended elsewhere than on the loop's thread, where that is still to be told.
    var ends: [(PeerCredentials, MessagePortError)] = []
    /// Signalled while there is a backlog, or an end to tell. Weak for the same reason.
    weak var turn: Loop.Source?
    /// Looks for senders that stand still, as long as one has something unfinished. Weak for the same reason.
    package weak var watch: Loop.Timer?
    package var membership = Membership()
    package var acceptError: SocketError?
  }

  /// Takes the name and listens. Senders wait until you add the port to a loop.
  ///
  /// - Parameters:
  ///   - connectionEnded: Called on the loop's thread when a sender's connection ends, usually with `.peerGone`.
  ///   - handler: Called on the loop's thread with each message. If you release a request without a reply, its sender
  ///     gets `.unanswered`.
  /// - Throws: `.nameTaken`; `.socket` if a system call fails; for a name in a directory also `.unsafeDirectory` and
  ///   `.noRuntimeDirectory`.
  public init(
    _ name: MessagePortName, options: MessagePortOptions = MessagePortOptions(),
    connectionEnded: ((PeerCredentials, MessagePortError) -> Void)? = nil,
    handler: @escaping (MessagePortRequest) -> Void
  ) throws(MessagePortError) {
    self.name = name
    self.options = options
    account = PortAccount(limit: options.heldLimit)
    state = Guarded(State(claim: try NameClaim(name), handler: handler, ended: connectionEnded))
  }

  /// Creates a port that replies to each message with the result of `answer`.
  ///
  /// Nil is a reply without bytes. If a result is too long for a reply, the sender gets `.unanswered`.
  ///
  /// - Throws: The errors of the other initializer.
  public convenience init(
    answering name: MessagePortName, options: MessagePortOptions = MessagePortOptions(),
    with answer: @escaping (MessagePortRequest) -> [UInt8]?
  ) throws(MessagePortError) {
    try self.init(name, options: options) { request in
      let bytes = answer(request)
      // If the answer is too long, or not awaited, the sender learns that by the request's end.
      if request.wantsReply { try? request.reply(bytes) }
    }
  }

  deinit {
    invalidate()
  }

  /// Whether the port can still receive. If its listener fails, it cannot, and writes the error to stderr.
  public var isValid: Bool {
    state.withLock { $0.claim != nil }
  }

  /// The number of connected senders.
  package var connectionCount: Int {
    state.withLock { $0.connections.count }
  }

  /// The memory that senders make the port hold, in bytes. See `MessagePortOptions.memoryLimit`.
  package var heldByteCount: Int { account.held }

  /// The error of the last attempt to accept a sender; nil if it succeeded.
  ///
  /// It is `.exhausted` if no descriptor was left. The sender waits, and the port tries again. The port writes a new
  /// error to stderr.
  public var acceptError: SocketError? {
    state.withLock { $0.acceptError }
  }

  /// Releases the name and ends every connection. See CFMessagePortInvalidate.
  ///
  /// Only a callout that is under way may still call a handler. Requests without a reply fail at their sender with
  /// `.refused(.closing)`. If you call it on the loop's thread, the name is free when it returns. On another thread, an
  /// abstract name is free once the loop has released the socket.
  public func invalidate() {
    let (old, turn, watch) = state.withLock { state in
      defer { state = State() }
      return (state, state.turn, state.watch)
    }
    old.listener?.invalidate()
    turn?.invalidate()
    watch?.invalidate()
    for connection in old.connections.values { connection.end(.closing, in: old.membership.loop) }
  }
}
