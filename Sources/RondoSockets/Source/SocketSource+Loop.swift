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

extension SocketSource: CompositeItem {
  /// What stands in the loop for the source, for tests in virtual time.
  package var loopItem: Loop.DescriptorSource? {
    state.withLock { $0.item }
  }

  package func enter(_ state: inout SocketState) -> [any LoopMember] {
    guard let socket = state.socket, let item = state.item ?? makeItem(for: socket, &state) else { return [] }
    state.item = item
    return [item]
  }

  package func didJoin() {
    if let timer = state.withLock({ makeConnectTimer(&$0) }) { place(timer) }
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

extension SocketState: CompositeState {
  package var members: [(any LoopMember)?] { [item, timer] }

  package mutating func forget() -> [(any LoopMember)?] {
    defer {
      timer = nil
      item = nil
      keeper = nil
      isPaused = false
    }
    return members
  }
}
