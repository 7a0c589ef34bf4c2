import Rondo
package import RondoSockets

/// Letting senders in and serving them, on the loop's thread.
extension LocalMessagePort: BoundedPort {
  package var bounds: (connections: Int, timeBetweenLooks: Duration?) {
    (options.connectionLimit, options.timeBetweenLooks)
  }

  package var subject: String { "The message port \(name)" }

  package func fail() { invalidate() }

  package func welcome(_ socket: Socket, from _: SocketAddress) -> Bool {
    guard let peer = socket.peerCredentials else { return false }
    let connection = ServedConnection(socket, peer, self)
    guard options.lets(peer, in: user) else {
      connection.end(.notPermitted, in: nil)
      return false
    }
    guard hasRoom() else {
      connection.end(.crowded, in: nil)
      return false
    }
    if takeIn(connection) { return true }
    connection.end(.closing, in: nil)
    return false
  }

  /// Takes one message to the handler. Calls out.
  func serve(_ connection: ServedConnection, reading: Bool) {
    do {
      guard let frame = try connection.take(reading: reading) else { return }
      guard frame.kind == .request || frame.kind == .notice else {
        return end(connection, .malformed(.inconsistent))
      }
      if frame.kind == .request, !account.keep(frame.payload.count) {
        _ = connection.answer(.failure(.crowded, serial: frame.serial), isBounded: false)
        return
      }
      let handler = state.withLock { $0.handler }
      handler?(MessagePortRequest(frame, from: connection, account))
    } catch {
      end(connection, error)
    }
  }

  /// The connection has messages that were read and may be served. Any thread; nothing may be held.
  func giveTurn(to connection: ServedConnection) {
    let turn = state.withLock { state -> Loop.Source? in
      guard state.connections[ObjectIdentifier(connection)] != nil else { return nil }
      state.backlog.append(connection)
      return state.turn
    }
    turn?.signal()
  }

  /// One message of the connection that has waited longest, after whatever ended elsewhere. Calls out.
  func serveTurn() {
    let (connection, ends, ended, turn) = state.withLock { state in
      let first = state.backlog.isEmpty ? nil : state.backlog.removeFirst()
      defer { state.ends = [] }
      return (first, state.ends, state.ended, state.backlog.isEmpty ? nil : state.turn)
    }
    turn?.signal()
    for (peer, error) in ends { ended?(peer, error) }
    if let connection { serve(connection, reading: false) }
  }

  /// Any thread, inside `reply` for instance: the loop tells of it later.
  package func drop(_ connection: ServedConnection) {
    let (loop, turn) = state.withLock { state in
      if forget(connection, &state), state.ended != nil { state.ends.append((connection.peer, .refused(.crowded))) }
      return (state.membership.loop, state.turn)
    }
    connection.end(.crowded, in: loop)
    turn?.signal()
  }

  /// Ends a connection. The loop's thread. Calls out.
  package func end(_ connection: ServedConnection, _ error: MessagePortError) {
    let (wasIn, ended, loop) = state.withLock { state in
      (forget(connection, &state), state.ended, state.membership.loop)
    }
    connection.end(error.lastWord, in: loop)
    if wasIn { ended?(connection.peer, error) }
  }

  /// - Returns: Whether it was still there.
  private func forget(_ connection: ServedConnection, _ state: inout State) -> Bool {
    state.backlog.removeAll { $0 === connection }
    return state.connections.removeValue(forKey: ObjectIdentifier(connection)) != nil
  }
}

extension MessagePortError {
  /// What the peer is told of it.
  fileprivate var lastWord: Frame.FailureCode? {
    switch self {
    case .malformed(.tooLong): .tooLong
    case .malformed: .malformed
    case .refused(.crowded): .crowded
    case .refused(.tooSlow): .tooSlow
    default: nil
    }
  }
}
