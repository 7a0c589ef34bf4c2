import Glibc
public import Rondo
public import RondoSockets

/// The sending end of a named message port. See CFMessagePortCreateRemote.
///
/// Every member may be used from any thread, and several threads may wait for replies simultaneously. A loop keeps the
/// port alive, and notices the end of the peer even while you send nothing.
public final class RemoteMessagePort: @unchecked Sendable {
  /// The name by which the port was found.
  public let name: MessagePortName
  package let options: MessagePortOptions
  /// The credentials of the port's creator, as the kernel states them.
  public let peer: PeerCredentials
  package let state: Guarded<State>

  package struct State {
    /// Nil once the port is invalid.
    var wire: Wire?
    /// Why it is invalid.
    var end: MessagePortError?
    /// What had not gone when the port became invalid.
    var unsent: SendQueue?
    var pending: [UInt32: PendingReply] = [:]
    var lastSerial: UInt32 = 0
    var invalidation: ((MessagePortError) -> Void)?
    package var membership = Membership()
    /// The loop owns it and it owns the port: weak, so that the loop's end is the end of the circle.
    weak var item: Loop.DescriptorSource?
    /// What `item` holds the socket by.
    weak var keeper: SocketKeeper?
  }

  /// Connects to the port of a name. Blocks the thread up to `timeout`.
  ///
  /// - Parameters:
  ///   - timeout: The longest wait while the receiver's queue of connections is full.
  ///   - invalidated: Called once with the reason why the port became invalid, except after `invalidate()`. The port's
  ///     loop calls it in the port's modes. Without a loop, the thread that found the reason calls it.
  /// - Throws: `.notFound` if no live port has the name; `.peerNotPermitted` if a port of another user has it;
  ///   `.sendTimedOut`; `.peerGone`; `.noRuntimeDirectory`; `.socket` if a system call fails.
  @available(*, noasync, message: "It may block the thread. Call it from a synchronous function.")
  public init(
    _ name: MessagePortName, options: MessagePortOptions = MessagePortOptions(), timeout: Duration = .seconds(5),
    invalidated: ((MessagePortError) -> Void)? = nil
  ) throws(MessagePortError) {
    let address = try name.address
    let socket: Socket
    do {
      socket = try Socket(family: address.family, .stream)
      try socket.connect(to: address, timeout: timeout)
    } catch .refused, .notFound {
      throw .notFound(name)
    } catch .timedOut {
      throw .sendTimedOut
    } catch {
      throw .socket(error)
    }
    guard let peer = socket.peerCredentials else { throw .peerGone }
    guard options.lets(peer, in: geteuid()) else { throw .peerNotPermitted(peer) }
    self.name = name
    self.options = options
    self.peer = peer
    state = Guarded(State(wire: Wire(socket, options), invalidation: invalidated))
  }

  /// Whether the port can still send, as far as the port has noticed.
  public var isValid: Bool {
    state.withLock { $0.wire != nil }
  }

  /// The reason why the port is invalid; nil while it is valid.
  public var invalidationReason: MessagePortError? {
    state.withLock { $0.end }
  }

  /// Ends the connection. Waiting calls fail with `.invalid`. See CFMessagePortInvalidate.
  public func invalidate() {
    // It dies outside of the lock, with what it captured.
    _ = state.withLock { $0.invalidation.take() }
    end(.invalid)
  }

  // MARK: - Sending

  /// Sends a message that wants no reply. Blocks the thread up to `timeout`.
  ///
  /// It returns once the kernel has the message. The receiver may end before it reads the message.
  ///
  /// - Throws: `.sendTimedOut`, never before its time; `.messageTooLong`; `.socket(.exhausted)` if no descriptor is
  ///   left to wait with; the reason why the port is invalid.
  @available(*, noasync, message: "It blocks the thread. Call it from a synchronous function.")
  public func send(_ bytes: [UInt8], identifier: Int32 = 0, timeout: Duration) throws(MessagePortError) {
    let waiting = try ThreadWaiting()
    let ticket = try begin(Frame(.notice, identifier: identifier, bytes), nil)
    try waitUntilSent(ticket, nil, timeout, waiting)
  }

  /// Sends a message and waits for its reply. See CFMessagePortSendRequest.
  ///
  /// Without a mode, it blocks the thread. With a mode, it runs the thread's loop in that mode, which serves the other
  /// items of the mode too. Name the mode of a local port so that two processes can send requests to each other
  /// simultaneously, or a mode without other items. If a handler stops the loop, the call still waits for the reply,
  /// and the run around the call ends after it.
  ///
  /// - Parameters:
  ///   - sendTimeout: How long the receiver may take to make room for the message.
  ///   - replyTimeout: How long the reply may take after that.
  /// - Returns: The reply; nil for a reply without bytes.
  /// - Throws: `.sendTimedOut` and `.replyTimedOut`, never before their time; `.unanswered`; `.refused(.crowded)`;
  ///   `.messageTooLong`; `.socket(.exhausted)` if no descriptor is left to wait with; the reason why the port is
  ///   invalid, such as `.peerGone`.
  @available(*, noasync, message: "It blocks the thread. Call it from a synchronous function.")
  public func request(
    _ bytes: [UInt8], identifier: Int32 = 0, sendTimeout: Duration, replyTimeout: Duration,
    running mode: Loop.Mode? = nil
  ) throws(MessagePortError) -> [UInt8]? {
    let waiting: any Waiting = if let mode { try RunWaiting(mode) } else { try ThreadWaiting() }
    let serial = nextSerial()
    let pending = PendingReply(waiting.waiter)
    let ticket = try begin(Frame(.request, serial: serial, identifier: identifier, bytes), pending)
    defer { state.withLock { $0.pending[serial] = nil } }
    try waitUntilSent(ticket, pending, sendTimeout, waiting)
    let isSettled = waiting.wait(on: self, for: replyTimeout) { _ in pending.outcome != nil }
    guard isSettled, let outcome = state.withLock({ _ in pending.outcome }) else { throw .replyTimedOut }
    return try outcome.get()
  }

  /// Sends a message and returns immediately. The port's loop calls `completion` with the reply.
  ///
  /// - Parameters:
  ///   - replyTimeout: How long the reply may take from now on.
  ///   - completion: Called once with the result of a blocking `request`: on the loop's thread, in the port's modes. If
  ///     the port has left its loop, the thread that makes it invalid calls it. If the loop ends before, nothing calls it.
  /// - Throws: `.sendTimedOut` if more than `replyLimit` bytes already wait for room; `.invalid` if the port
  ///   is in no loop; `.messageTooLong`; the reason why the port is invalid.
  public func request(
    _ bytes: [UInt8], identifier: Int32 = 0, replyTimeout: Duration,
    completion: @escaping (Result<[UInt8]?, MessagePortError>) -> Void
  ) throws(MessagePortError) {
    let (loop, queued) = state.withLock { ($0.membership.loop, $0.wire?.queue.count ?? 0) }
    guard loop != nil else { throw .invalid }
    if queued > options.replyLimit { throw .sendTimedOut }
    let serial = nextSerial()
    let timer = Loop.Timer(after: replyTimeout) { _ in self.giveUp(serial) }
    let pending = PendingReply(
      .handler { outcome in
        timer.invalidate()
        completion(outcome)
      })
    _ = try begin(Frame(.request, serial: serial, identifier: identifier, bytes), pending)
    place(timer)
  }

  /// The reply of a request has not come in time. Calls out.
  private func giveUp(_ serial: UInt32) {
    let tell = state.withLock { $0.pending.removeValue(forKey: serial)?.settle(.failure(.replyTimedOut)) }
    tell?()
  }

  private func nextSerial() -> UInt32 {
    state.withLock { state in
      // 0 stands for none; a number still in use belongs to a request of long ago.
      repeat { state.lastSerial &+= 1 } while state.lastSerial == 0 || state.pending[state.lastSerial] != nil
      return state.lastSerial
    }
  }

  /// Queues a frame and sends what there is room for.
  private func begin(_ frame: Frame, _ pending: PendingReply?) throws(MessagePortError) -> SendQueue.Ticket {
    let limit = options.messageLimit
    if frame.payload.count > limit { throw .messageTooLong(count: frame.payload.count, limit: limit) }
    let ticket = try state.withLock { state throws(MessagePortError) in
      guard state.wire != nil else { throw state.end ?? .invalid }
      if let pending { state.pending[frame.serial] = pending }
      return state.wire!.queue.append(frame)
    }
    pump(reading: false)
    return ticket
  }

  /// Waits for room; a receiver that answers before it has read it all will do.
  private func waitUntilSent(
    _ ticket: SendQueue.Ticket, _ pending: PendingReply?, _ timeout: Duration, _ waiting: any Waiting
  ) throws(MessagePortError) {
    let isSent = waiting.wait(on: self, for: timeout) { state in
      state.hasSent(ticket) || pending?.outcome != nil
    }
    if isSent { return }
    try state.withLock { state throws(MessagePortError) in
      if state.wire == nil { throw state.end ?? .invalid }
      state.wire!.queue.revoke(ticket)
      state.updateInterest()
      throw .sendTimedOut
    }
  }
}
