public import Rondo
package import RondoSockets

/// Moving bytes. A thread that has reason to moves those of all requests.
extension RemoteMessagePort {
  /// What is read at most of a peer that reads no more: 4 MiB, where a socket holds 208 KiB (net.core.wmem_max) of one
  /// that has gone. A peer that goes on sending must not hold the pumping thread.
  private static let mostLastPieces = 64

  /// Looks whether the peer has ended. Any thread. Calls out only without a loop, at the port's end.
  package func notice() { pump() }

  /// Sends what waits, reads what is there, and settles requests. Calls out only without a loop, at the port's end.
  func pump(reading: Bool = true) {
    var tellings: [() -> Void] = []
    let error: MessagePortError? = state.withLock { state in
      guard state.wire != nil else { return nil }
      var failure: SocketError?
      do throws(SocketError) {
        try state.wire!.flush()
      } catch {
        // What the peer said before it went is still to be read.
        failure = error
      }
      do throws(MessagePortError) {
        if reading || failure != nil {
          for _ in 0..<(failure == nil ? 1 : Self.mostLastPieces) {
            let hasRead = state.wire!.read()
            while let frame = try state.wire!.next() { try state.take(frame, &tellings) }
            if !hasRead { break }
          }
          if let failure { throw failure == .reset ? .peerGone : .socket(failure) }
        }
        state.updateInterest()
        return nil
      } catch {
        return error
      }
    }
    for telling in tellings { post(telling) }
    if let error { end(error) }
  }

  /// The port is invalid from now on: everybody who waits is told. Calls out only without a loop.
  func end(_ error: MessagePortError) {
    var tellings: [() -> Void] = []
    let old = state.withLock { state -> State? in
      guard state.wire != nil else { return nil }
      let old = state
      state.unsent = state.wire?.queue
      state.wire = nil
      state.end = error
      for pending in state.pending.values {
        if let telling = pending.settle(.failure(error)) { tellings.append(telling) }
      }
      state.pending = [:]
      if let invalidation = state.invalidation { tellings.append { invalidation(error) } }
      state.invalidation = nil
      return old
    }
    for telling in tellings { post(telling) }
    guard let old else { return }
    let keeper = old.keeper
    old.item?.invalidate()
    keeper?.release(by: old.membership.loop)
  }

  /// Has the loop call it, in the modes of the port; without a loop, calls it.
  private func post(_ telling: @escaping () -> Void) {
    let membership = state.withLock { $0.membership }
    guard let loop = membership.loop else { return telling() }
    nonisolated(unsafe) let telling = telling
    loop.perform(in: membership.modes) { unsafe telling() }
  }
}

extension RemoteMessagePort.State {
  /// What a frame from the peer means.
  mutating func take(_ frame: Frame, _ tellings: inout [() -> Void]) throws(MessagePortError) {
    let outcome: Result<[UInt8]?, MessagePortError>
    switch frame.kind {
    case .reply: outcome = .success(frame.payload)
    case .emptyReply: outcome = .success(nil)
    case .failure:
      let error = Frame.FailureCode(rawValue: frame.identifier).map(MessagePortError.init) ?? .peerGone
      if frame.serial == 0 { throw error }
      outcome = .failure(error)
    case .request, .notice: throw .malformed(.inconsistent)
    }
    // A reply that comes too late has no waiter.
    if let telling = pending.removeValue(forKey: frame.serial)?.settle(outcome) { tellings.append(telling) }
  }

  /// Whether the kernel has all of a frame, whatever became of the port since.
  func hasSent(_ ticket: SendQueue.Ticket) -> Bool {
    (wire?.queue ?? unsent)?.hasSent(ticket) ?? false
  }

  /// Brings the loop's item in line.
  func updateInterest() {
    guard let item, let wire else { return }
    if wire.queue.isEmpty { item.disable(.write) } else { item.enable(.write) }
  }
}

// MARK: - Membership

extension RemoteMessagePort: CompositeItem {
  package func enter(_ state: inout State) -> [any LoopMember] {
    guard let socket = state.wire?.socket else { return [] }
    if let item = state.item { return [item] }
    let keeper = SocketKeeper(socket)
    let item = try? Loop.ReportedDescriptorSource(socket.descriptor, for: .read) { item, readiness in
      withExtendedLifetime(keeper) {
        guard readiness == .givenUp, let reason = item.invalidationReason else { return self.pump() }
        self.end(.socket(SocketError(reason)))
      }
    }
    guard let item else { return [] }
    (state.item, state.keeper) = (item, keeper)
    return [item]
  }

  package func didJoin() {
    state.withLock { $0.updateInterest() }
  }

  /// What stands in the loop for the port, for tests in virtual time.
  package var loopItem: Loop.DescriptorSource? {
    state.withLock { $0.item }
  }
}

extension RemoteMessagePort.State: CompositeState {
  package var members: [(any LoopMember)?] { [item] }

  package mutating func forget() -> [(any LoopMember)?] {
    defer { item = nil }
    return members
  }
}

extension Loop {
  /// Adds a port to a mode of the loop. Any thread.
  ///
  /// The loop calls the port's completions there, and `invalidated` when the peer ends.
  ///
  /// - Returns: False if the port is invalid or in another loop, or if the loop has ended.
  @discardableResult
  public func add(_ port: RemoteMessagePort, to mode: Mode = .default) -> Bool {
    port.join(self, mode)
  }

  /// Removes a port from a mode of the loop. Any thread.
  public func remove(_ port: RemoteMessagePort, from mode: Mode = .default) {
    port.leave(self, mode)
  }

  /// Whether a port is in a mode of the loop. Any thread.
  public func contains(_ port: RemoteMessagePort, in mode: Mode = .default) -> Bool {
    port.loopItem.map { contains($0, in: mode) } ?? false
  }
}
