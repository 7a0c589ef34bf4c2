package import Rondo
package import RondoSockets

/// One sender's connection to a bounded port. The loop's thread.
package protocol BoundedConnection: AnyObject {
  /// What it makes the port hold.
  var share: PortShare { get }
  /// Whether nothing has come or gone for so long that it may make room for another.
  func isQuiet(at now: SuspendingClock.Instant) -> Bool
  /// Whether it waits for the peer, and for too long.
  func look(at now: SuspendingClock.Instant) -> (isUnfinished: Bool, isTooSlow: Bool)
}

/// The state of a bounded port. *its owner's lock*
package protocol BoundedState: CompositeState {
  associatedtype Connection: BoundedConnection
  var connections: [ObjectIdentifier: Connection] { get set }
  /// Whether the port can still receive.
  var isValid: Bool { get }
  /// Looks for senders that stand still, as long as one has something unfinished. Weak: the loop owns it.
  var watch: Loop.Timer? { get set }
  /// Why the last connection could not be accepted; nil if it could.
  var acceptError: SocketError? { get set }
}

/// A port that keeps its senders from exhausting it. Nothing is held where its members are called.
package protocol BoundedPort: CompositeItem, Sendable where State: BoundedState {
  /// What the senders make it hold.
  var account: PortAccount { get }
  /// The most connections, and how often to look at what is unfinished; nil for never.
  var bounds: (connections: Int, timeBetweenLooks: Duration?) { get }
  /// The port in a message.
  var subject: String { get }
  /// Lets a connection in. Calls out.
  ///
  /// - Returns: False if it was sent away.
  func welcome(_ socket: Socket, from peer: SocketAddress) -> Bool
  /// The loop's item for a connection, made if need be; nil if none can be made.
  func item(of connection: State.Connection) -> (any LoopMember)?
  /// The listener has failed: the port becomes invalid. Calls out.
  func fail()
  /// Ends a connection. The loop's thread. Calls out.
  func end(_ connection: State.Connection, _ error: MessagePortError)
  /// Ends a connection that holds too much. The thread that calls `makeRoom`.
  func drop(_ connection: State.Connection)
}

extension BoundedPort {
  package func drop(_ connection: State.Connection) { end(connection, .refused(.crowded)) }

  /// Takes what the listener tells. The loop's thread. Calls out.
  package func hear(_ event: SocketSource.Event, of listener: SocketSource) {
    switch event {
    case .accepted(let socket, let peer):
      state.withLock { $0.acceptError = nil }
      if !welcome(socket, from: peer) { listener.noteRefusal() }
    case .acceptPaused(let error, _):
      let isNew = state.withLock { state in
        defer { state.acceptError = error }
        return state.acceptError == nil
      }
      if isNew { warn("\(subject) cannot let its next sender in: \(error). \(descriptorAdvice)") }
    // A datagram may fail alone.
    case .failed(let error) where listener.socket?.kind != .datagram || !listener.isValid:
      warn("\(subject) can receive nothing more, and becomes invalid: \(error).")
      fail()
    default: break
    }
  }

  /// Ends those connections that have stood still longest, until what is held is no more than the limit.
  package func makeRoom() {
    while account.isExceeded {
      let victim = state.withLock { state in
        state.connections.values.lazy.filter { $0.share.held > 0 }.min { $0.share.age < $1.share.age }
      }
      guard let victim else { return }
      drop(victim)
    }
  }

  /// Whether there is room for one more connection, by the end of a quiet one if need be. The loop's thread. Calls out.
  package func hasRoom() -> Bool {
    if state.withLock({ $0.connections.count }) < bounds.connections { return true }
    let (connections, loop) = state.withLock { (Array($0.connections.values), $0.membership.loop) }
    let now = loop?.clock.now
    let quiet = connections.filter { connection in now.map { connection.isQuiet(at: $0) } ?? false }
    guard let quietest = quiet.min(by: { $0.share.age < $1.share.age }) else {
      // A connection that is quiet from now on has to make room.
      watchForStalls()
      return false
    }
    end(quietest, .refused(.crowded))
    return true
  }

  /// Takes a connection in, and has the loop watch it. Calls out.
  ///
  /// - Returns: False if the port is invalid, or the connection cannot be watched.
  package func takeIn(_ connection: State.Connection) -> Bool {
    let isIn = state.withLock { state in
      if state.isValid { state.connections[ObjectIdentifier(connection)] = connection }
      return state.isValid
    }
    guard isIn, let item = item(of: connection) else {
      _ = state.withLock { $0.connections.removeValue(forKey: ObjectIdentifier(connection)) }
      return false
    }
    place(item)
    return true
  }

  /// Looks from time to time for senders that stand still. Any thread.
  package func watchForStalls() {
    guard let time = bounds.timeBetweenLooks else { return }
    let watch = state.withLock { state -> Loop.Timer? in
      guard state.isValid, state.watch == nil, state.membership.loop != nil else { return nil }
      let watch = Loop.Timer(every: time) { _ in self.lookForStalls() }
      state.watch = watch
      return watch
    }
    if let watch { place(watch) }
  }

  /// Ends what has stood still since the last look with something unfinished. The loop's thread. Calls out.
  private func lookForStalls() {
    // The watch is forgotten before anything is looked at: what becomes unfinished from here on starts another one.
    let (connections, watch, loop) = state.withLock { state in
      defer { state.watch = nil }
      return (Array(state.connections.values), state.watch, state.membership.loop)
    }
    guard let now = loop?.clock.now else { return }
    let bounds = bounds
    var isNeeded = connections.count >= bounds.connections
    for connection in connections {
      let (isUnfinished, isTooSlow) = connection.look(at: now)
      if isTooSlow { end(connection, .refused(.tooSlow)) } else if isUnfinished { isNeeded = true }
    }
    let isKept = state.withLock { state in
      guard isNeeded, state.isValid, state.watch == nil, state.membership.loop != nil else { return false }
      state.watch = watch
      return true
    }
    if isKept, let time = bounds.timeBetweenLooks {
      // However late this look is, the next one is not too early.
      watch?.setFireDate(after: time)
    } else {
      watch?.invalidate()
    }
  }
}
