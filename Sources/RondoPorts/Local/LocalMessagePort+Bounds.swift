import Rondo
import RondoSockets

/// What keeps senders from exhausting a port.
extension LocalMessagePort {
  /// Ends those connections that have stood still longest, until what is held is no more than the limit.
  ///
  /// Any thread, inside `reply` for instance: the loop tells of it later. Nothing may be held.
  func makeRoom() {
    while account.isExceeded {
      let (victim, loop, turn) = state.withLock { state -> (ServedConnection?, Loop?, Loop.Source?) in
        let holders = state.connections.values.lazy.filter { $0.share.held > 0 }
        guard let victim = holders.min(by: { $0.share.age < $1.share.age }) else { return (nil, nil, nil) }
        _ = forget(victim, &state)
        if state.ended != nil { state.ends.append((victim.peer, .refused(.crowded))) }
        return (victim, state.membership.loop, state.turn)
      }
      guard let victim else { return }
      victim.end(.crowded, in: loop)
      turn?.signal()
    }
  }

  /// The connection that has been quiet longest, if one has been for `maximumIdleTime`.
  func quietConnection() -> ServedConnection? {
    let (connections, loop) = state.withLock { (Array($0.connections.values), $0.membership.loop) }
    guard let now = loop?.clock.now else { return nil }
    return connections.filter { $0.isQuiet(at: now) }.min { $0.share.age < $1.share.age }
  }

  /// Looks from time to time for senders that stand still. Any thread; nothing may be held.
  func watchForStalls() {
    guard let time = options.timeBetweenLooks else { return }
    let watch = state.withLock { state -> Loop.Timer? in
      guard state.claim != nil, state.watch == nil, state.membership.loop != nil else { return nil }
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
    var isNeeded = connections.count >= options.maximumConnections
    for connection in connections {
      let (isUnfinished, isStalled) = connection.look(at: now)
      if isStalled { end(connection, .refused(.tooSlow)) } else if isUnfinished { isNeeded = true }
    }
    let isKept = state.withLock { state in
      guard isNeeded, state.claim != nil, state.watch == nil, state.membership.loop != nil else { return false }
      state.watch = watch
      return true
    }
    if isKept, let time = options.timeBetweenLooks {
      // However late this look is, the next one is not too early.
      watch?.setFireDate(after: time)
    } else {
      watch?.invalidate()
    }
  }
}
