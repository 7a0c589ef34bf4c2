public import Rondo

extension Socket {
  /// Returns the connections to a listener as a sequence. Any thread; for one task.
  ///
  /// The sequence accepts a connection only when the task asks for it; others wait in the listener's queue. If no
  /// descriptor or memory is left, it tries again after 10 ms, then after longer pauses up to one second. No connection
  /// is lost.
  ///
  /// - Throws: `.wait(.descriptor)` if the loop cannot watch the listener.
  public func connections(
    on loop: Loop, in mode: Loop.Mode = .common
  ) throws(StreamError) -> IncomingConnections {
    IncomingConnections(socket: self, loop: loop, lease: try lease(on: loop, in: mode))
  }

  /// Connections to a listener; see `Socket.connections(on:in:)`.
  public struct IncomingConnections: AsyncSequence, Sendable {
    /// A connection and the address of its peer.
    public typealias Element = (socket: Socket, peer: SocketAddress)
    /// The reason why the sequence cannot continue.
    public typealias Failure = StreamError

    /// The listener.
    public let socket: Socket
    fileprivate let loop: Loop
    fileprivate let lease: ReadinessLease

    /// Returns an iterator. For one task.
    public func makeAsyncIterator() -> Iterator {
      Iterator(socket: socket, loop: loop, lease: lease)
    }

    /// Accepts connections.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate let socket: Socket
      fileprivate let loop: Loop
      fileprivate let lease: ReadinessLease

      /// Waits for the next connection. Never returns nil.
      ///
      /// - Throws: `.wait(.cancelled)`, `.wait(.loopEnded)`, or the listener's error.
      public mutating func next() async throws(StreamError) -> Element? {
        try await next(isolation: nil)
      }

      /// Waits for the next connection. Never returns nil. Stays on the caller's actor.
      ///
      /// - Throws: `.wait(.cancelled)`, `.wait(.loopEnded)`, or the listener's error.
      public mutating func next(isolation actor: isolated (any Actor)?) async throws(StreamError) -> Element? {
        var backoff = Backoff.accepting
        let record = lease.record
        try await record.pay(for: .read)
        while true {
          guard record.begin(.read) else {
            try await record.wait(for: .read)
            continue
          }
          do throws(SocketError) {
            let accepted = try socket.acceptNext()
            backoff.reset()
            if case .nothing = accepted { continue }
            record.mayGoOn(.read)
            if case .connection(let socket, let peer) = accepted { return (socket, peer) }
          } catch  where error.isShortage {
            record.mayGoOn(.read)
            do {
              try await loop.clock.sleep(for: backoff.next())
            } catch {
              throw .wait(Task.isCancelled ? .cancelled : .loopEnded)
            }
            continue
          } catch {
            throw .socket(error)
          }
        }
      }
    }
  }
}
