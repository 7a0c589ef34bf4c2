public import Rondo

/// Membership.
extension Loop {
  /// Adds a socket source to a mode. Any thread. A source can be in one loop at a time.
  ///
  /// - Returns: Whether it is a member afterwards: false if it is invalid, in another loop, or the loop has ended.
  @discardableResult
  public func add(_ source: SocketSource, to mode: Mode = .default) -> Bool {
    source.join(self, mode)
  }

  /// Removes a socket source from a mode, immediately. Any thread.
  public func remove(_ source: SocketSource, from mode: Mode = .default) {
    source.leave(self, mode)
  }

  /// Whether a socket source is in a mode. Any thread. With `.common`, whether it is in the common set.
  public func contains(_ source: SocketSource, in mode: Mode = .default) -> Bool {
    source.loopItem.map { contains($0, in: mode) } ?? false
  }
}

extension SocketSource {
  /// What stands in the loop for the source, for tests in virtual time.
  package var loopItem: Loop.DescriptorSource? {
    state.withLock { $0.item }
  }

  /// Nothing is held while the loop is asked: it may run anybody's code, which may touch this source. Calls out.
  fileprivate func join(_ loop: Loop, _ mode: Loop.Mode) -> Bool {
    let (item, stale) = state.withLock { state -> (Loop.DescriptorSource?, Loop.Timer?) in
      guard let socket = state.socket else { return (nil, nil) }
      let stale = state.item?.isValid != true ? state.forgetLoop() : nil
      if state.item != nil, state.loop !== loop { return (nil, stale) }
      let item = state.item ?? makeItem(for: socket, &state)
      if item != nil { state.membership.join(loop, mode) }
      state.item = item
      return (item, stale)
    }
    stale?.invalidate()
    guard let item else { return false }
    guard loop.add(item, to: mode) else {
      // The loop is gone, or still has the item's predecessor.
      leave(loop, mode)
      return false
    }
    settle(loop, mode)
    if let timer = state.withLock({ makeConnectTimer(&$0) }) { start(timer) }
    return state.withLock { $0.membership.contains(loop, mode) }
  }

  /// Calls out.
  fileprivate func leave(_ loop: Loop, _ mode: Loop.Mode) {
    let (item, timer, isLast) = state.withLock { state -> (Loop.DescriptorSource?, Loop.Timer?, Bool) in
      guard let item = state.item, state.loop === loop else { return (nil, nil, false) }
      let timer = state.timer
      let isLast = state.membership.leave(mode)
      if isLast { _ = state.forgetLoop() }
      return (item, timer, isLast)
    }
    guard let item else { return }
    if isLast {
      // Forgotten, and so invalid: a thread that is about to add it comes too late.
      item.invalidate()
      timer?.invalidate()
    } else {
      loop.remove(item, from: mode)
      if let timer { loop.remove(timer, from: mode) }
      settle(loop, mode)
    }
  }

  /// Brings the items in line with what was last asked for. Nothing may be held. Calls out.
  private func settle(_ loop: Loop, _ mode: Loop.Mode) {
    Membership.settle(loop, mode) {
      state.withLock { $0.membership }
    } _: { isMember in
      let items = state.withLock { [$0.item, $0.timer] as [Loop.Item?] }
      for case let item? in items {
        if isMember { loop.add(item, to: mode) } else { loop.remove(item, from: mode) }
      }
    }
  }

  /// The item holds the socket as well, so that it is closed when the loop has let go of it and not before.
  private func makeItem(for socket: Socket, _ state: inout SocketState) -> Loop.DescriptorSource? {
    let keeper = SocketKeeper(socket)
    state.keeper = keeper
    let item = try? Loop.ReportedDescriptorSource(
      socket.descriptor, for: state.interest, order: state.order
    ) { item, readiness in
      withExtendedLifetime(keeper) { readiness == .givenUp ? self.loopGaveUp(item) : self.ready(readiness) }
    }
    item?.label = state.label
    return item
  }

  /// A one-shot for the modes of the source; the caller starts it, with nothing held.
  func makeTimer(_ state: inout SocketState, after delay: Duration) -> Loop.Timer? {
    guard state.loop != nil else { return nil }
    let timer = Loop.Timer(after: delay) { _ in self.timeIsUp() }
    timer.label = state.label
    state.timer = timer
    return timer
  }

  /// Calls out.
  func start(_ timer: Loop.Timer) {
    Membership.place(timer) { state.withLock { $0.membership } }
  }

  /// The timer of a connection that is being made and has none.
  private func makeConnectTimer(_ state: inout SocketState) -> Loop.Timer? {
    guard state.timer == nil, state.loop != nil, case .connecting(var attempt) = state.phase else { return nil }
    if let timeout = attempt.timeout, attempt.deadline == nil {
      attempt.deadline = Loop.Timer(after: timeout) { _ in }.fireDate
    }
    state.phase = .connecting(attempt)
    return nextConnectTimer(&state)
  }
}

extension SocketState {
  /// The source is in no loop.
  ///
  /// - Returns: Its timer, to be invalidated when nothing is held.
  fileprivate mutating func forgetLoop() -> Loop.Timer? {
    defer {
      timer = nil
      item = nil
      keeper = nil
      membership.leaveAll()
      isPaused = false
    }
    return timer
  }
}
