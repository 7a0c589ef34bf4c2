public import Rondo
package import RondoSockets

/// Membership.
extension Loop {
  /// Adds a port to a mode of the loop. Any thread. See CFMessagePortCreateRunLoopSource.
  ///
  /// - Returns: False if the port is invalid or in another loop, or if the loop has ended.
  @discardableResult
  public func add(_ port: LocalMessagePort, to mode: Mode = .default) -> Bool {
    port.join(self, mode)
  }

  /// Removes a port from a mode of the loop. Any thread.
  ///
  /// The port's messages wait until you add it again.
  public func remove(_ port: LocalMessagePort, from mode: Mode = .default) {
    port.leave(self, mode)
  }

  /// Whether a port is in a mode of the loop. Any thread.
  public func contains(_ port: LocalMessagePort, in mode: Mode = .default) -> Bool {
    port.state.withLock { $0.listener }.map { contains($0, in: mode) } ?? false
  }
}

extension LocalMessagePort: CompositeItem {
  package func enter(_ state: inout State) -> [any LoopMember] {
    guard let claim = state.claim else { return [] }
    let listener = state.listener ?? SocketSource(claim.listener, for: .accept) { self.hear($1, of: $0) }
    let turn = state.turn ?? Loop.Source { self.serveTurn() }
    (state.listener, state.turn) = (listener, turn)
    return [listener, turn]
  }

  package func others(making: Bool) -> [(any LoopMember)?] {
    state.withLock { Array($0.connections.values) }.map { making ? item(of: $0) : $0.loopItem }
  }

  package func didJoin() {
    let turn = state.withLock { $0.backlog.isEmpty && $0.ends.isEmpty ? nil : $0.turn }
    turn?.signal()
  }

  /// The loop's item for a connection.
  package func item(of connection: ServedConnection) -> (any LoopMember)? {
    connection.item { readiness in
      if readiness.contains(.write) { connection.flush() }
      if readiness.contains(.read) { self.serve(connection, reading: true) }
    } refused: { error in
      warn("A connection of process \(connection.peer.process) to the message port \(self.name) ends: \(error).")
      self.end(connection, .socket(error))
    }
  }

  /// What stands in the loop for the port, for tests in virtual time.
  package var loopItems: (listener: Loop.DescriptorSource?, connections: [Loop.DescriptorSource]) {
    state.withLock { ($0.listener?.loopItem, $0.connections.values.compactMap(\.loopItem)) }
  }
}

extension LocalMessagePort.State: BoundedState {
  package var isValid: Bool { claim != nil }
  package var members: [(any LoopMember)?] { [listener, turn, watch] }

  package mutating func forget() -> [(any LoopMember)?] {
    defer { (turn, watch) = (nil, nil) }
    return [turn, watch] + connections.values.map { $0.forgetItem() }
  }
}
