import CLinux
import Rondo
import RondoSockets

/// One sender's connection to a local port.
package final class ServedConnection: BoundedConnection, Sendable {
  let peer: PeerCredentials
  let options: MessagePortOptions
  /// What it makes the port hold.
  package let share: PortShare
  private let account: PortAccount
  private let state: Guarded<State>
  /// Whom to tell, with nothing held, that the connection wants something. It may have gone before its connections.
  private weak let host: LocalMessagePort?

  private struct State {
    /// Nil once the connection has ended.
    var wire: Wire?
    weak var item: Loop.DescriptorSource?
    /// What `item` holds the socket by.
    weak var keeper: SocketKeeper?
    /// Whether messages that were read wait for their turn: no more are read until then.
    var hasBacklog = false
    /// Whether the port knows of that.
    var isInTurn = false
    /// How many messages were taken.
    var taken = 0
    /// How many requests are being answered.
    var kept = 0
    /// Whether the peer takes nothing any more. What it sent before is still to be served.
    var isDeaf = false
    /// Whether the peer has a message to finish or a reply to read.
    var isUnfinished = false
  }

  /// What is to be done when nothing is held any more.
  private struct Wishes {
    var needsTurn = false
    var isUnfinished = false
  }

  init(_ socket: Socket, _ peer: PeerCredentials, _ host: LocalMessagePort) {
    self.peer = peer
    self.host = host
    options = host.options
    account = host.account
    share = PortShare(of: account)
    state = Guarded(State(wire: Wire(socket, options)))
  }

  /// The loop's item for the connection, made on first use; the loop owns it, and tells `refused` if it cannot watch it.
  func item(
    _ ready: @escaping @Sendable (Loop.DescriptorSource.Readiness) -> Void,
    refused: @escaping @Sendable (SocketError) -> Void
  ) -> Loop.DescriptorSource? {
    state.withLock { state in
      if let item = state.item { return item }
      guard let socket = state.wire?.socket else { return nil }
      let keeper = SocketKeeper(socket)
      let item = try? Loop.ReportedDescriptorSource(socket.descriptor, for: .read) { item, readiness in
        withExtendedLifetime(keeper) {
          if readiness == .givenUp, let reason = item.invalidationReason { return refused(SocketError(reason)) }
          ready(readiness)
        }
      }
      (state.item, state.keeper) = (item, keeper)
      updateInterest(&state)
      return item
    }
  }

  /// The connection is in no loop any more.
  ///
  /// - Returns: What stood in the loop for it.
  func forgetItem() -> Loop.DescriptorSource? {
    state.withLock { state in
      defer { state.item = nil }
      return state.item
    }
  }

  var loopItem: Loop.DescriptorSource? {
    state.withLock { $0.item }
  }

  // MARK: - Messages

  /// What became of a frame that was to be sent.
  enum Sending: Equatable {
    case accepted
    /// More than the limit waits already.
    case refused(waiting: Int)
    /// The connection has ended.
    case gone
  }

  /// Sends what answers a request that was taken, or keeps what there is no room for. Any thread.
  ///
  /// - Parameter isBounded: Whether it is refused while more than `replyLimit` bytes wait.
  func answer(_ frame: Frame, isBounded: Bool) -> Sending {
    let (outcome, wishes) = state.withLock { state -> (Sending, Wishes) in
      let waiting = state.wire?.queue.count ?? 0
      if isBounded, waiting > options.replyLimit { return (.refused(waiting: waiting), Wishes()) }
      state.kept -= 1
      guard state.wire != nil else { return (.gone, Wishes()) }
      if state.isDeaf { return (.gone, update(&state)) }
      _ = state.wire!.queue.append(frame)
      return (.accepted, flush(&state))
    }
    grant(wishes)
    return outcome
  }

  /// Sends what waits.
  func flush() {
    grant(state.withLock { flush(&$0) })
  }

  /// The next message, read from the socket if need be; a request counts as kept until its answer is sent.
  ///
  /// - Parameter reading: Whether it is said to be readable; otherwise the connection has its turn.
  /// - Returns: Nil if there is none, or if the sender has to take or await replies first.
  /// - Throws: Why the connection is over.
  func take(reading: Bool) throws(MessagePortError) -> Frame? {
    let (frame, wishes) = try state.withLock { state throws(MessagePortError) -> (Frame?, Wishes) in
      if !reading { state.isInTurn = false }
      guard state.wire != nil, mayServe(state) else {
        updateInterest(&state)
        return (nil, Wishes())
      }
      if reading, !state.hasBacklog, state.wire!.read() { share.move() }
      let frame = try state.wire!.next()
      if frame != nil { state.taken += 1 }
      if frame?.kind == .request { state.kept += 1 }
      state.hasBacklog = state.wire!.hasNext
      return (frame, update(&state))
    }
    grant(wishes)
    return frame
  }

  // MARK: - Bounds

  /// Whether it waits for the peer to finish a message or to read a reply. The loop's thread.
  ///
  /// What has come, or what there is room for by now, counts, though the loop has not got to it.
  package func look(at now: SuspendingClock.Instant) -> (isUnfinished: Bool, isTooSlow: Bool) {
    let isUnfinished = state.withLock { state in
      let wishes = flush(&state)
      let input = state.wire?.hasHalfFrame == true && !isPaused(state) ? state.taken : nil
      let output = state.wire?.queue.isEmpty == false ? state.wire?.queue.firstWaiting : nil
      share.look(at: now, input: input, output: output)
      return wishes.isUnfinished
    }
    guard isUnfinished else { return (false, false) }
    let isTooSlow = share.isTooSlow(idle: options.idleLimit, message: options.messageTimeout, at: now) {
      state.withLock { state in
        state.wire.map { !isPaused(state) && rondo_is_readable($0.socket.descriptor) != 0 } ?? true
      }
    }
    return (true, isTooSlow)
  }

  /// Whether nothing has come or gone since the port last looked, and nothing is owed: it may make room for another.
  package func isQuiet(at now: SuspendingClock.Instant) -> Bool {
    share.isStill(for: options.idleLimit, at: now)
      && state.withLock { state in
        state.kept == 0 && !state.hasBacklog && state.wire.map { !$0.hasHalfFrame && $0.queue.isEmpty } ?? true
      }
  }

  // MARK: - The end

  /// Ends the connection, after one last word if there is room for it. Nothing may be held.
  ///
  /// - Parameter loop: Where it is watched.
  func end(_ lastWord: Frame.FailureCode? = nil, in loop: Loop?) {
    let (item, keeper) = state.withLock { state -> (Loop.DescriptorSource?, SocketKeeper?) in
      if let lastWord, state.wire != nil {
        _ = state.wire!.queue.append(.failure(lastWord))
        try? state.wire!.flush()
      }
      state.wire = nil
      share.hold(0)
      defer { state.item = nil }
      return (state.item, state.keeper)
    }
    item?.invalidate()
    keeper?.release(by: loop)
  }

  // MARK: - Under the lock

  /// Whether the peer has taken enough of its replies, and awaits few enough.
  private func mayServe(_ state: State) -> Bool {
    state.kept < options.requestLimit && (state.wire?.queue.count ?? 0) <= options.replyLimit
  }

  /// Whether nothing is read for a reason of ours.
  private func isPaused(_ state: State) -> Bool {
    state.hasBacklog || !mayServe(state)
  }

  /// Sends what there is room for. A peer that has gone is noticed by reading, which goes on.
  private func flush(_ state: inout State) -> Wishes {
    let before = state.wire?.queue.count
    do {
      try state.wire?.flush()
    } catch {
      // The peer hears that the connection ends, and cannot know why.
      if error != .reset { warn("An answer to process \(peer.process) by a message port is lost: \(error).") }
      state.wire?.queue = SendQueue()
      state.isDeaf = true
    }
    if state.wire?.queue.count != before { share.move() }
    return update(&state)
  }

  /// Brings the loop's item and the account in line with what can be done.
  private func update(_ state: inout State) -> Wishes {
    updateInterest(&state)
    guard let wire = state.wire else { return Wishes() }
    share.hold(wire.held)
    var wishes = Wishes()
    if state.hasBacklog, !state.isInTurn, mayServe(state) {
      state.isInTurn = true
      wishes.needsTurn = true
    }
    wishes.isUnfinished = !wire.queue.isEmpty || (wire.hasHalfFrame && !isPaused(state))
    // From now on it is waited for.
    if wishes.isUnfinished, !state.isUnfinished { share.move() }
    state.isUnfinished = wishes.isUnfinished
    return wishes
  }

  private func updateInterest(_ state: inout State) {
    guard let item = state.item, let wire = state.wire else { return }
    if isPaused(state) { item.disable(.read) } else { item.enable(.read) }
    if wire.queue.isEmpty { item.disable(.write) } else { item.enable(.write) }
  }

  /// Nothing may be held.
  private func grant(_ wishes: Wishes) {
    guard let host else { return }
    if wishes.needsTurn { host.giveTurn(to: self) }
    if wishes.isUnfinished { host.watchForStalls() }
    if account.isExceeded { host.makeRoom() }
  }
}
