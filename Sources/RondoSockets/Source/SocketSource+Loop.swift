public import Rondo

/// Membership.
extension Loop {
  /// Puts a socket source into a mode. Any thread. A source can be in one loop at a time.
  ///
  /// - Returns: Whether it is a member afterwards: false if it is invalid, in another loop, or the loop is gone.
  @discardableResult
  public func add(_ source: SocketSource, to mode: Mode = .default) -> Bool {
    source.join(self, mode)
  }

  /// Takes a socket source out of a mode. It holds at once. Any thread.
  public func remove(_ source: SocketSource, from mode: Mode = .default) {
    source.leave(self, mode)
  }

  /// Whether a socket source is in a mode; with `.common`, whether it is in the common set. Any thread.
  public func contains(_ source: SocketSource, in mode: Mode = .default) -> Bool {
    source.loopItem.map { contains($0, in: mode) } ?? false
  }
}

extension SocketSource {
  /// What stands in the loop for the source, for tests in virtual time.
  package var loopItem: Loop.DescriptorSource? {
    state.withLock { $0.item }
  }

  fileprivate func join(_ loop: Loop, _ mode: Loop.Mode) -> Bool {
    state.withLock { state in
      guard let socket = state.socket else { return false }
      if state.item?.isValid != true { state.forgetLoop() }
      if state.item != nil, state.loop !== loop { return false }
      guard let item = state.item ?? makeItem(for: socket, &state), loop.add(item, to: mode) else { return false }
      state.item = item
      state.loop = loop
      if !state.modes.contains(mode) { state.modes.append(mode) }
      if let timer = state.timer {
        loop.add(timer, to: mode)
      } else if case .connecting(var attempt) = state.phase {
        if let timeout = attempt.timeout, attempt.deadline == nil {
          attempt.deadline = Loop.Timer(after: timeout) { _ in }.fireDate
        }
        state.phase = .connecting(attempt)
        startConnectTimer(&state)
      }
      return true
    }
  }

  fileprivate func leave(_ loop: Loop, _ mode: Loop.Mode) {
    state.withLock { state in
      guard let item = state.item, state.loop === loop else { return }
      loop.remove(item, from: mode)
      if let timer = state.timer { loop.remove(timer, from: mode) }
      state.modes.removeAll { $0 == mode }
      if state.modes.isEmpty { state.forgetLoop() }
    }
  }

  /// The item holds the socket as well, so that it is closed when the loop has let go of it and not before.
  private func makeItem(for socket: Socket, _ state: inout SocketState) -> Loop.DescriptorSource? {
    let keeper = SocketKeeper(socket)
    state.keeper = keeper
    return try? Loop.DescriptorSource(socket.descriptor, for: state.interest, order: state.order) { _, readiness in
      withExtendedLifetime(keeper) { self.ready(readiness) }
    }
  }

  /// A one-shot in the modes of the source.
  func startTimer(_ state: inout SocketState, after delay: Duration) {
    guard let loop = state.loop else { return }
    let timer = Loop.Timer(after: delay) { _ in self.timeIsUp() }
    for mode in state.modes { loop.add(timer, to: mode) }
    state.timer = timer
  }
}

extension SocketState {
  /// The source is in no loop.
  fileprivate mutating func forgetLoop() {
    timer?.invalidate()
    timer = nil
    item = nil
    loop = nil
    modes = []
    isPaused = false
  }
}
