import Rondo

/// What happens on the loop's thread.
extension SocketSource {
  /// The descriptor is ready. Calls out.
  func ready(_ readiness: Loop.DescriptorSource.Readiness) {
    if readiness.contains(.read) {
      switch takeInput() {
      case .connecting: return finishConnecting()
      case .accept(let socket): accept(socket)
      case .read: tell(.readable)
      case .data(let socket): receive(socket)
      case .nothing: break
      }
      // The handler may have ended it all, or taken the source out of the mode that runs; what it left is told again.
      guard readiness.contains(.write), isStillServed else { return }
    }
    if readiness.contains(.write) {
      if isConnecting { finishConnecting() } else { useRoom() }
    }
  }

  /// A pause or the time to connect is over. Calls out.
  func timeIsUp() {
    if isConnecting { return connectAgain() }
    state.withLock { state in
      state.timer = nil
      state.isPaused = false
      state.updateInterest()
    }
  }

  /// The loop cannot watch the socket, from the beginning or any longer. Calls out.
  func loopGaveUp(_ item: Loop.DescriptorSource) {
    // The source may have left the loop since, and joined one again with another item.
    guard let reason = item.invalidationReason, state.withLock({ $0.item === item }) else { return }
    if isConnecting { failToConnect(SocketError(reason)) } else { fail(SocketError(reason)) }
  }

  private var isStillServed: Bool {
    let (loop, item) = state.withLock { ($0.loop, $0.item) }
    guard let loop, let item else { return false }
    return loop.serves(item)
  }

  /// Calls out.
  private func tell(_ event: Event) {
    let handler = state.withLock { $0.handler }
    handler?(self, event)
  }

  /// The connection is over. Calls out.
  private func fail(_ error: SocketError) {
    tell(.failed(error))
    invalidate()
  }

  // MARK: - Input

  private enum Input {
    case accept(Socket)
    case read
    case data(Socket)
    /// It is not there yet: what is ready is the connection.
    case connecting
    case nothing
  }

  /// What the descriptor's being readable is for, which counts as told.
  private func takeInput() -> Input {
    state.withLock { state in
      if case .connecting = state.phase { return .connecting }
      guard let socket = state.socket, !state.isPaused, !state.hasEnded else { return .nothing }
      let input = state.enabled.intersection(.input)
      guard !input.isEmpty else { return .nothing }
      return input == .accept ? .accept(socket) : input == .read ? .read : .data(socket)
    }
  }

  private func accept(_ socket: Socket) {
    do {
      switch try socket.acceptNext() {
      case .connection(let connection, let peer):
        state.withLock { $0.patience.reset() }
        tell(.accepted(connection, from: peer))
      case .failed(let error):
        if let pause = state.withLock({ $0.patience.pauseAfterFailure() }) { pauseAccepting(error, for: pause) }
      case .nothing: break
      }
    } catch  where error.isShortage {
      pauseAccepting(error, for: state.withLock { $0.patience.pauseAfterShortage() })
    } catch {
      fail(error)
    }
  }

  /// The listener stays readable while no connection can be accepted: asking on would spin. Calls out.
  private func pauseAccepting(_ error: SocketError, for pause: Duration) {
    if let timer = state.withLock({ rest(&$0, for: pause) }) { place(timer) }
    tell(.acceptPaused(error, for: pause))
  }

  /// Accepts nothing for a while. The caller starts the timer.
  private func rest(_ state: inout SocketState, for pause: Duration) -> Loop.Timer? {
    guard let timer = makeTimer(&state, after: pause) else { return nil }
    state.isPaused = true
    state.updateInterest()
    return timer
  }

  /// The connection that was told of is sent away. The loop's thread. Calls out.
  ///
  /// After 64 of them the next ones wait for 10 ms, so that a client that connects over and over has a small part of
  /// the loop's time, and a full queue (net.core.somaxconn: 4,096) is still through within a second. Both chosen.
  package func noteRefusal() {
    let timer = state.withLock { state -> Loop.Timer? in
      state.refusals += 1
      guard state.refusals >= 64, !state.isPaused else { return nil }
      state.refusals = 0
      return rest(&state, for: .milliseconds(10))
    }
    if let timer { place(timer) }
  }

  private func receive(_ socket: Socket) {
    if socket.kind == .datagram { return receiveDatagrams(socket) }
    do {
      switch try socket.receive() {
      case .bytes(let bytes): tell(.received(bytes))
      case .datagram(let datagram): tell(.datagram(datagram))
      case .end:
        state.withLock { state in
          state.hasEnded = true
          state.updateInterest()
        }
        tell(.end)
      case .nothing: break
      }
    } catch {
      fail(error)
    }
  }

  /// Tells of the datagrams that wait, each as soon as it is received, while the handler takes more. Calls out.
  ///
  /// After 64 of them, or 100 us, the loop's other items have their turn: a turn takes about 1 us.
  private func receiveDatagrams(_ socket: Socket) {
    let (loop, item) = state.withLock { ($0.loop, $0.item) }
    guard let loop, let item else { return }
    let end = loop.now.advanced(by: 100_000)
    for count in 1...64 {
      do {
        guard case .datagram(let datagram) = try socket.receive() else { return }
        tell(.datagram(datagram))
      } catch {
        return tell(.failed(error))
      }
      guard count < 64, !loop.endsAfterCallout, loop.serves(item), loop.now < end else { return }
      guard case .data = takeInput() else { return }
    }
  }

  // MARK: - Output

  /// There is room. Calls out.
  private func useRoom() {
    do {
      if try state.withLock({ state throws(SocketError) in try state.flush() }) {
        tell(.sent)
        guard isStillServed else { return }
      }
    } catch {
      return fail(error)
    }
    let isTold = state.withLock { state in
      guard state.outbox.isEmpty, state.enabled.contains(.write) else { return false }
      // Before the callout, which may enable it again.
      state.enabled.remove(.write)
      state.updateInterest()
      return true
    }
    if isTold { tell(.writable) }
  }

  // MARK: - Connecting

  private var isConnecting: Bool { destination != nil }

  /// Where it is connecting to, as long as it is.
  private var destination: SocketAddress? {
    state.withLock { if case .connecting(let attempt) = $0.phase { attempt.address } else { nil } }
  }

  /// The socket is writable: it is connected, or has failed. Calls out.
  private func finishConnecting() {
    guard let socket else { return }
    if let error = socket.takeError(at: destination) { return failToConnect(error) }
    becomeConnected()
  }

  private func becomeConnected() {
    do {
      let timer = state.withLock { state in
        state.phase = .ready
        state.updateInterest()
        return state.takeTimer()
      }
      timer?.invalidate()
      try state.withLock { state throws(SocketError) in try state.finishIfSent() }
    } catch {
      return failToConnect(error)
    }
    tell(.connected)
  }

  private func failToConnect(_ error: SocketError) {
    tell(.connectFailed(error))
    invalidate()
  }

  /// The time to connect is over, or the listener may have room now. Calls out.
  private func connectAgain() {
    let attempt = state.withLock { state -> (ConnectAttempt, Socket)? in
      state.timer = nil
      guard case .connecting(let attempt) = state.phase, let socket = state.socket else { return nil }
      return (attempt, socket)
    }
    guard let (attempt, socket) = attempt else { return }
    let isLate = attempt.deadline.map { Loop.Timer(after: .zero) { _ in }.fireDate >= $0 } ?? false
    if !attempt.isBusy || isLate { return failToConnect(.timedOut) }
    do {
      if try socket.tryToConnect(to: attempt.address) == .busy {
        if let timer = state.withLock({ nextConnectTimer(&$0) }) { place(timer) }
        return
      }
    } catch {
      return failToConnect(error)
    }
    // A Unix-domain socket connects at once or not at all; it is told by the loop, as a connection always is.
    let timer = state.withLock { state -> Loop.Timer? in
      guard case .connecting(var attempt) = state.phase else { return nil }
      attempt.isBusy = false
      state.phase = .connecting(attempt)
      state.updateInterest()
      return nextConnectTimer(&state)
    }
    if let timer { place(timer) }
  }

  /// The timer for what comes first: the next try or the end of the time. The caller starts it.
  func nextConnectTimer(_ state: inout SocketState) -> Loop.Timer? {
    guard case .connecting(var attempt) = state.phase else { return nil }
    let left = attempt.deadline.map { Loop.Timer(after: .zero) { _ in }.fireDate.duration(to: $0) }
    let pause = attempt.isBusy ? attempt.pause.next() : nil
    state.phase = .connecting(attempt)
    guard let delay = [left, pause].compactMap({ $0 }).min() else { return nil }
    return makeTimer(&state, after: max(.zero, delay))
  }
}
