public import Rondo
import RondoSockets

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
    port.belongs(to: self, mode)
  }
}

extension LocalMessagePort {
  /// Nothing is held while the loop is asked: it may run anybody's code, which may touch this port. Calls out.
  fileprivate func join(_ loop: Loop, _ mode: Loop.Mode) -> Bool {
    let (joined, stale) = state.withLock { state -> ((SocketSource, Loop.Source)?, [Loop.Item]) in
      guard let claim = state.claim else { return (nil, []) }
      let present = state.membership.loop
      if let present, present !== loop, state.listener != nil { return (nil, []) }
      let stale = present === loop ? [] : forgetItems(&state)
      let listener = state.listener ?? makeListener(claim.listener)
      let turn = state.turn ?? Loop.Source { self.serveTurn() }
      (state.listener, state.turn) = (listener, turn)
      state.membership.join(loop, mode)
      return ((listener, turn), stale)
    }
    for item in stale { item.invalidate() }
    guard let (listener, turn) = joined else { return false }
    guard loop.add(listener, to: mode) else {
      // The loop is gone, or another one has the listener.
      leave(loop, mode)
      return false
    }
    settle(loop, mode)
    if state.withLock({ !$0.backlog.isEmpty || !$0.ends.isEmpty }) { turn.signal() }
    return state.withLock { $0.membership.contains(loop, mode) }
  }

  /// Calls out.
  fileprivate func leave(_ loop: Loop, _ mode: Loop.Mode) {
    let (listener, forgotten) = state.withLock { state -> (SocketSource?, [Loop.Item]) in
      guard let listener = state.listener, state.membership.loop === loop else { return (nil, []) }
      let isLast = state.membership.leave(mode)
      return (listener, isLast ? forgetItems(&state) : [])
    }
    guard let listener else { return }
    loop.remove(listener, from: mode)
    // What is forgotten is invalid: a thread that is about to add it comes too late.
    for item in forgotten { item.invalidate() }
    settle(loop, mode)
  }

  fileprivate func belongs(to loop: Loop, _ mode: Loop.Mode) -> Bool {
    state.withLock { $0.listener }.map { loop.contains($0, in: mode) } ?? false
  }

  /// Brings everything that stands in the loop for the port in line with what was last asked for. Calls out.
  private func settle(_ loop: Loop, _ mode: Loop.Mode) {
    Membership.settle(loop, mode) {
      state.withLock { $0.membership }
    } _: { isMember in
      let (listener, own, connections) = state.withLock { state in
        (state.listener, [state.turn, state.watch] as [Loop.Item?], Array(state.connections.values))
      }
      let items = own.compactMap { $0 } + connections.compactMap { isMember ? item(of: $0) : $0.loopItem }
      if let listener {
        if isMember { loop.add(listener, to: mode) } else { loop.remove(listener, from: mode) }
      }
      for item in items {
        if isMember { loop.add(item, to: mode) } else { loop.remove(item, from: mode) }
      }
    }
  }

  /// The port is in no loop: what stood there for it is to be invalidated when nothing is held.
  private func forgetItems(_ state: inout State) -> [Loop.Item] {
    defer { (state.turn, state.watch) = (nil, nil) }
    let own: [Loop.Item?] = [state.turn, state.watch]
    return own.compactMap { $0 } + state.connections.values.compactMap { $0.forgetItem() }
  }

  /// The loop's item for a connection.
  func item(of connection: ServedConnection) -> Loop.DescriptorSource? {
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
