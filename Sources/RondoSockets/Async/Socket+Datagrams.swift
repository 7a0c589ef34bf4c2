public import Rondo

extension Socket {
  /// Returns the datagrams that arrive as a sequence. Any thread; for one task.
  ///
  /// The sequence receives a datagram only when the task asks for one; others wait in the kernel, which drops those
  /// without room: see `Option.receiveBuffer(bytes:)` and `droppedDatagramCount`. The loop watches the socket,
  /// edge-triggered, while the sequence or its iterator is there: a `SocketSource` of the same loop and socket is then
  /// refused.
  ///
  /// - Parameters:
  ///   - loop: Watches the socket.
  ///   - limit: The most bytes of a datagram; the rest of a longer one is lost, and `isTruncated` is true.
  ///   - mode: The mode in whose runs the loop watches the socket.
  /// - Throws: `.wait(.descriptor)` if the loop cannot watch the socket. The sequence throws `.wait(.cancelled)`, and
  ///   `.socket(.refused)` and other errors of recv(2), after which it may go on.
  public func datagrams(
    on loop: Loop, limit: Int = 65_536, in mode: Loop.Mode = .common
  ) throws(ConnectionError) -> some AsyncSequence<Datagram, ConnectionError> & Sendable {
    require(kind == .datagram, "A stream has no datagrams. Use Connection(socket, on: loop).")
    require(limit > 0, "A datagram has room for at least one byte: the limit is \(limit).")
    return IncomingDatagrams(
      socket: self, limit: limit, lease: try ReadinessLease(descriptor, of: self, on: loop, in: mode))
  }

  private struct IncomingDatagrams: AsyncSequence, AsyncIteratorProtocol, Sendable {
    let socket: Socket
    let limit: Int
    let lease: ReadinessLease

    func makeAsyncIterator() -> Self { self }

    func next(isolation actor: isolated (any Actor)?) async throws(ConnectionError) -> Datagram? {
      let record = lease.record
      if try record.pay(for: .read) { try await record.letOthersRun() }
      while true {
        if record.begin(.read) {
          let received: Received
          do throws(SocketError) {
            received = try socket.receive(limit: limit)
          } catch {
            // An error of one datagram leaves the others where they are.
            record.succeed(.read, mayGoOn: true)
            throw ConnectionError(error)
          }
          if case .datagram(let datagram) = received {
            record.succeed(.read, mayGoOn: true)
            return datagram
          }
        }
        try await record.wait(for: .read)
      }
    }
  }

  /// Sends a datagram, and suspends while the socket has no room for it. Any thread.
  ///
  /// - Parameters:
  ///   - address: The receiver; nil for the peer of a connected socket.
  ///   - timeout: The longest wait for room; nil for no limit.
  /// - Throws: `.socket(.tooLong)`, `.socket(.refused)` and other errors of send(2), `.wait(.timedOut)`,
  ///   `.wait(.cancelled)`.
  public nonisolated(nonsending) func send(
    datagram bytes: [UInt8], to address: SocketAddress? = nil, on loop: Loop, timeout: Duration? = nil,
    in mode: Loop.Mode = .common
  ) async throws(ConnectionError) {
    require(kind == .datagram, "A stream has no datagrams. Use Connection(socket, on: loop).")
    if Task.isCancelled { throw .wait(.cancelled) }
    if loop.takeOperation() == false { await loop.yield() }
    var pause = Backoff.connecting
    let deadline = loop.deadline(after: timeout)
    while try !hasSent(bytes, to: address) {
      let left = loop.timeLeft(until: deadline)
      do {
        try await loop.writable(descriptor, timeout: left, in: mode)
      } catch {
        throw .wait(error)
      }
      // It is writable for good, and the receiver has no room: of that, nothing tells.
      if try hasSent(bytes, to: address) { return }
      try await loop.pause(for: pause.next(), atMost: left)
    }
  }

  /// Sends a datagram, if there is room.
  private func hasSent(_ bytes: [UInt8], to address: SocketAddress?) throws(ConnectionError) -> Bool {
    do throws(SocketError) {
      return try send(bytes[...], to: address) > 0 || bytes.isEmpty
    } catch .busy {
      return false
    } catch {
      throw ConnectionError(error)
    }
  }
}
