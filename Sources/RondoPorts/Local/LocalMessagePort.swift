import Glibc
import Rondo
public import RondoSockets

/// The end of a named message port that receives. See CFMessagePortCreateLocal.
///
/// Add it to a loop; its handler is called there, one message a callout, in the order each sender sent them. One loop
/// at a time, several modes; the loop keeps an added port alive. Every member may be used from any thread. What its
/// senders can make it hold is bounded: see `MessagePortOptions`.
public final class LocalMessagePort: @unchecked Sendable {
  public let name: MessagePortName
  public let options: MessagePortOptions
  let state: Guarded<State>
  /// The user this process acted as when the port was made.
  let user = geteuid()
  /// What the senders make it hold.
  let account: PortAccount

  struct State {
    /// Nil once the port is invalid.
    var claim: NameClaim?
    /// The loop owns it and it owns the port: weak, so that the loop's end is the end of the circle.
    weak var listener: SocketSource?
    var handler: ((MessagePortRequest) -> Void)?
    var ended: ((PeerCredentials, MessagePortError) -> Void)?
    var connections: [ObjectIdentifier: ServedConnection] = [:]
    /// Connections with messages that were read and wait, in turn, each once.
    var backlog: [ServedConnection] = []
    /// Connections that were ended elsewhere than on the loop's thread, where that is still to be told.
    var ends: [(PeerCredentials, MessagePortError)] = []
    /// Signalled while there is a backlog, or an end to tell. Weak for the same reason.
    weak var turn: Loop.Source?
    /// Looks for senders that stand still, as long as one has something unfinished. Weak for the same reason.
    weak var watch: Loop.Timer?
    var membership = Membership()
    var acceptError: SocketError?
  }

  /// Takes the name and listens; senders wait until the port is added to a loop.
  ///
  /// - Parameters:
  ///   - connectionEnded: Told on the loop's thread when a sender's connection is over: `.peerGone` is the usual end.
  ///   - handler: Gets each message. A request it lets go of is answered with `.unanswered`.
  /// - Throws: `.nameTaken`; for files `.unsafeDirectory`, `.noRuntimeDirectory`, or `.socket` if they cannot be made.
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

  /// A port that answers each message with what `answer` returns. Nil is an answer without bytes.
  ///
  /// - Throws: What the other initialiser throws.
  public convenience init(
    answering name: MessagePortName, options: MessagePortOptions = MessagePortOptions(),
    with answer: @escaping (MessagePortRequest) -> [UInt8]?
  ) throws(MessagePortError) {
    try self.init(name, options: options) { request in
      let bytes = answer(request)
      // An answer that is too long, or that nobody wants, is the sender's to learn: by the request's end.
      if request.wantsReply { try? request.reply(bytes) }
    }
  }

  deinit {
    invalidate()
  }

  /// Whether the port can still receive.
  public var isValid: Bool {
    state.withLock { $0.claim != nil }
  }

  /// How many senders are connected.
  public var connectionCount: Int {
    state.withLock { $0.connections.count }
  }

  /// How much memory, in bytes, the senders make the port hold: see `MessagePortOptions.maximumHeldBytes`.
  public var heldByteCount: Int { account.held }

  /// Why the last sender could not be let in: `.exhausted` if no descriptor was left. Nil if the last one was.
  ///
  /// It goes on waiting, and is tried again by itself; that a port is short of descriptors is also said on stderr.
  public var acceptError: SocketError? {
    state.withLock { $0.acceptError }
  }

  /// Gives up the name and ends every connection; nothing is called afterwards. See CFMessagePortInvalidate.
  ///
  /// Requests not yet answered fail at their sender with `.refused(.closing)`. On the loop's thread the name is free at
  /// once; asked for elsewhere, an abstract one is when the loop has let go.
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
