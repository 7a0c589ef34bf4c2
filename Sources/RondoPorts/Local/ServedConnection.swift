import Rondo
import RondoSockets

/// One sender's connection to a local port.
final class ServedConnection: Sendable {
  let peer: PeerCredentials
  let options: MessagePortOptions
  private let state: Guarded<State>

  private struct State {
    /// Nil once the connection has ended.
    var wire: Wire?
    weak var item: Loop.DescriptorSource?
    /// What `item` holds the socket by.
    weak var keeper: SocketKeeper?
    /// Whether messages that were read wait for their turn: no more are read meanwhile.
    var hasBacklog = false
    let maximumQueued: Int

    /// Sends what there is room for. A peer that has gone is noticed by reading, which goes on.
    mutating func flush() {
      do {
        try wire?.flush()
      } catch {
        wire?.queue = SendQueue()
      }
      updateInterest()
    }

    /// Brings the loop's item in line with what can be done.
    func updateInterest() {
      guard let item, let wire else { return }
      let mayRead = !hasBacklog && wire.queue.count <= maximumQueued
      if mayRead { item.enable(.read) } else { item.disable(.read) }
      if wire.queue.isEmpty { item.disable(.write) } else { item.enable(.write) }
    }
  }

  init(_ socket: Socket, _ peer: PeerCredentials, _ options: MessagePortOptions) {
    self.peer = peer
    self.options = options
    state = Guarded(State(wire: Wire(socket, options), maximumQueued: options.maximumQueuedReplies))
  }

  /// The loop's item for the connection, made on first use; the loop owns it.
  func item(_ ready: @escaping @Sendable (Loop.DescriptorSource.Readiness) -> Void) -> Loop.DescriptorSource? {
    state.withLock { state in
      if let item = state.item { return item }
      guard let socket = state.wire?.socket else { return nil }
      let keeper = SocketKeeper(socket)
      let item = try? Loop.DescriptorSource(socket.descriptor, for: .read) { _, readiness in
        withExtendedLifetime(keeper) { ready(readiness) }
      }
      (state.item, state.keeper) = (item, keeper)
      return item
    }
  }

  /// The connection is in no loop any more.
  func forgetItem() {
    state.withLock { $0.item = nil }
  }

  var loopItem: Loop.DescriptorSource? {
    state.withLock { $0.item }
  }

  /// Sends a frame, or keeps what there is no room for. Any thread.
  ///
  /// - Returns: False if the connection has ended.
  @discardableResult
  func send(_ frame: Frame) -> Bool {
    state.withLock { state in
      guard state.wire != nil else { return false }
      _ = state.wire!.queue.append(frame)
      state.flush()
      return true
    }
  }

  /// Sends what waits.
  func flush() {
    state.withLock { $0.flush() }
  }

  /// The next message, read from the socket if need be.
  ///
  /// - Returns: Nil if there is none; and whether another one waits that no readiness will tell of.
  /// - Throws: Why the connection is over.
  func take(reading: Bool) throws(MessagePortError) -> (frame: Frame?, hasMore: Bool) {
    try state.withLock { state throws(MessagePortError) in
      guard state.wire != nil else { return (nil, false) }
      if reading, !state.hasBacklog { _ = state.wire!.read() }
      let frame = try state.wire!.next()
      state.hasBacklog = state.wire!.hasNext
      state.updateInterest()
      return (frame, state.hasBacklog)
    }
  }

  /// Ends the connection, after one last word if there is room for it.
  ///
  /// - Parameter loop: Where it is watched.
  func end(_ lastWord: Frame.FailureCode? = nil, in loop: Loop?) {
    let (item, keeper) = state.withLock { state -> (Loop.DescriptorSource?, SocketKeeper?) in
      if let lastWord, state.wire != nil {
        _ = state.wire!.queue.append(.failure(lastWord))
        try? state.wire!.flush()
      }
      state.wire = nil
      defer { state.item = nil }
      return (state.item, state.keeper)
    }
    item?.invalidate()
    keeper?.release(by: loop)
  }
}
