public import Rondo
internal import RondoAsync

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
    IncomingConnections(socket: self, loop: loop, readiness: try readiness(on: loop, in: mode))
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
    fileprivate let readiness: Loop.ReadinessSequence

    /// Returns an iterator. For one task.
    public func makeAsyncIterator() -> Iterator {
      Iterator(socket: socket, loop: loop, readiness: readiness.makeAsyncIterator())
    }

    /// Accepts connections.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate let socket: Socket
      fileprivate let loop: Loop
      fileprivate var readiness: Loop.ReadinessSequence.Iterator

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
        while true {
          do throws(SocketError) {
            if let connection = try socket.accept() { return connection }
            backoff.reset()
          } catch  where error.isShortage {
            do {
              try await loop.clock.sleep(for: backoff.next())
            } catch {
              throw .wait(Task.isCancelled ? .cancelled : .loopEnded)
            }
            continue
          } catch {
            throw .socket(error)
          }
          try await wait(for: &readiness)
        }
      }
    }
  }
}
