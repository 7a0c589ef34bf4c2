import Glibc
public import Rondo
public import RondoSockets

/// The end of a named message port that receives. See CFMessagePortCreateLocal.
///
/// Add it to a loop; its handler is called there, one message a callout, in the order each sender sent them. One loop
/// at a time, several modes; the loop keeps an added port alive. Every member may be used from any thread.
public final class LocalMessagePort: @unchecked Sendable {
  public let name: MessagePortName
  public let options: MessagePortOptions
  private let state: Guarded<State>
  private let user = geteuid()

  private struct State {
    /// Nil once the port is invalid.
    var claim: NameClaim?
    /// The loop owns it and it owns the port: weak, so that the loop's end is the end of the circle.
    weak var listener: SocketSource?
    var handler: ((MessagePortRequest) -> Void)?
    var ended: ((PeerCredentials, MessagePortError) -> Void)?
    var connections: [ObjectIdentifier: ServedConnection] = [:]
    /// Connections with messages that were read and wait, in turn.
    var backlog: [ServedConnection] = []
    /// Signalled while there is a backlog. Weak for the same reason.
    weak var turn: Loop.Source?
    weak var loop: Loop?
    var modes: [Loop.Mode] = []
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
    state = Guarded(State(claim: try NameClaim(name), handler: handler, ended: connectionEnded))
  }

  /// A port that answers each message with what `answer` returns, nil being an answer without bytes.
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

  /// Gives up the name and ends every connection; nothing is called afterwards. See CFMessagePortInvalidate.
  ///
  /// Requests not yet answered fail at their sender with `.refused(.closing)`. On the loop's thread the name is free at
  /// once; asked for elsewhere, an abstract one is when the loop has let go.
  public func invalidate() {
    let (old, turn) = state.withLock { state in
      defer { state = State() }
      return (state, state.turn)
    }
    old.listener?.invalidate()
    turn?.invalidate()
    for connection in old.connections.values { connection.end(.closing, in: old.loop) }
  }

  // MARK: - Membership

  fileprivate func join(_ loop: Loop, _ mode: Loop.Mode) -> Bool {
    state.withLock { state in
      guard let claim = state.claim else { return false }
      let listener = state.listener ?? makeListener(claim.listener)
      guard loop.add(listener, to: mode) else { return false }
      let turn = state.turn ?? Loop.Source { self.serveBacklog() }
      loop.add(turn, to: mode)
      if state.loop !== loop { for connection in state.connections.values { connection.forgetItem() } }
      for connection in state.connections.values {
        if let item = item(of: connection) { loop.add(item, to: mode) }
      }
      (state.listener, state.turn, state.loop) = (listener, turn, loop)
      if !state.modes.contains(mode) { state.modes.append(mode) }
      if !state.backlog.isEmpty { turn.signal() }
      return true
    }
  }

  fileprivate func leave(_ loop: Loop, _ mode: Loop.Mode) {
    // Whatever the loop lets go of dies after the lock.
    let owned = state.withLock { state -> [AnyObject] in
      guard let listener = state.listener, state.loop === loop else { return [] }
      let turn = state.turn
      let items = state.connections.values.compactMap(\.loopItem)
      loop.remove(listener, from: mode)
      for item in items { loop.remove(item, from: mode) }
      if let turn { loop.remove(turn, from: mode) }
      state.modes.removeAll { $0 == mode }
      if state.modes.isEmpty {
        state.loop = nil
        state.turn = nil
        for connection in state.connections.values { connection.forgetItem() }
      }
      return [listener, turn as AnyObject] + items
    }
    _ = owned
  }

  fileprivate func belongs(to loop: Loop, _ mode: Loop.Mode) -> Bool {
    state.withLock { $0.listener }.map { loop.contains($0, in: mode) } ?? false
  }

  /// What stands in the loop for the port, for tests in virtual time.
  package var loopItems: (listener: Loop.DescriptorSource?, connections: [Loop.DescriptorSource]) {
    state.withLock { ($0.listener?.loopItem, $0.connections.values.compactMap(\.loopItem)) }
  }

  // MARK: - Service, on the loop's thread

  private func makeListener(_ socket: Socket) -> SocketSource {
    SocketSource(socket, for: .accept) { _, event in
      switch event {
      case .accepted(let socket, _): self.welcome(socket)
      case .failed: self.invalidate()
      default: break
      }
    }
  }

  private func welcome(_ socket: Socket) {
    guard let peer = socket.peerCredentials else { return }
    let connection = ServedConnection(socket, peer, options)
    guard options.lets(peer, in: user) else { return connection.end(.notPermitted, in: nil) }
    let (loop, modes, isCrowded) = state.withLock { state -> (Loop?, [Loop.Mode], Bool) in
      guard state.claim != nil else { return (nil, [], false) }
      if state.connections.count >= options.maximumConnections { return (nil, [], true) }
      state.connections[ObjectIdentifier(connection)] = connection
      return (state.loop, state.modes, false)
    }
    if isCrowded { return connection.end(.crowded, in: nil) }
    guard let loop, let item = item(of: connection) else { return connection.end(.closing, in: nil) }
    for mode in modes { loop.add(item, to: mode) }
  }

  private func item(of connection: ServedConnection) -> Loop.DescriptorSource? {
    connection.item { readiness in
      if readiness.contains(.write) { connection.flush() }
      if readiness.contains(.read) { self.serve(connection, reading: true) }
    }
  }

  /// Takes one message to the handler. Calls out.
  private func serve(_ connection: ServedConnection, reading: Bool) {
    do {
      let (frame, hasMore) = try connection.take(reading: reading)
      if hasMore { wait(connection) }
      guard let frame else { return }
      guard frame.kind == .request || frame.kind == .notice else {
        return end(connection, .malformed(.inconsistent))
      }
      let handler = state.withLock { $0.handler }
      handler?(MessagePortRequest(frame, from: connection))
    } catch {
      end(connection, error)
    }
  }

  private func wait(_ connection: ServedConnection) {
    let turn = state.withLock { state in
      if !state.backlog.contains(where: { $0 === connection }) { state.backlog.append(connection) }
      return state.turn
    }
    turn?.signal()
  }

  /// One message of the connection that has waited longest. Calls out.
  private func serveBacklog() {
    let (connection, turn) = state.withLock { state -> (ServedConnection?, Loop.Source?) in
      guard !state.backlog.isEmpty else { return (nil, nil) }
      let first = state.backlog.removeFirst()
      return (first, state.backlog.isEmpty ? nil : state.turn)
    }
    turn?.signal()
    if let connection { serve(connection, reading: false) }
  }

  /// Calls out.
  private func end(_ connection: ServedConnection, _ error: MessagePortError) {
    let (ended, loop) = state.withLock { state in
      state.connections[ObjectIdentifier(connection)] = nil
      state.backlog.removeAll { $0 === connection }
      return (state.ended, state.loop)
    }
    switch error {
    case .malformed(.tooLong): connection.end(.tooLong, in: loop)
    case .malformed: connection.end(.malformed, in: loop)
    default: connection.end(in: loop)
    }
    ended?(connection.peer, error)
  }
}

extension Loop {
  /// Receives a port's messages in a mode. Any thread. See CFMessagePortCreateRunLoopSource.
  ///
  /// - Returns: False if the port is invalid or in another loop, or the loop is gone.
  @discardableResult
  public func add(_ port: LocalMessagePort, to mode: Mode = .default) -> Bool {
    port.join(self, mode)
  }

  /// No longer receives a port's messages in a mode. It holds at once; they wait. Any thread.
  public func remove(_ port: LocalMessagePort, from mode: Mode = .default) {
    port.leave(self, mode)
  }

  /// Whether a port's messages are received in a mode. Any thread.
  public func contains(_ port: LocalMessagePort, in mode: Mode = .default) -> Bool {
    port.belongs(to: self, mode)
  }
}
