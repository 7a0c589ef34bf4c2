public import Rondo

extension Socket {
  /// Who connects to a listener, one by one. Any thread; for one task.
  ///
  /// A connection is not accepted before it is asked for: others wait in the listener's queue. Where no descriptor or memory
  /// is left, it tries again after 10 ms at first and every second at last; nothing is lost and nothing spins.
  ///
  /// - Throws: `.wait(.descriptor)` if the loop cannot watch it.
  public func connections(
    on loop: Loop, in mode: Loop.Mode = .common
  ) throws(StreamError) -> IncomingConnections {
    IncomingConnections(socket: self, loop: loop, readiness: try readiness(on: loop, in: mode))
  }

  /// Who connects to a listener; see `Socket.connections(on:in:)`.
  public struct IncomingConnections: AsyncSequence, Sendable {
    public typealias Element = (socket: Socket, peer: SocketAddress)
    public typealias Failure = StreamError

    /// The listener.
    public let socket: Socket
    fileprivate let loop: Loop
    fileprivate let readiness: Loop.ReadinessSequence

    public func makeAsyncIterator() -> Iterator {
      Iterator(socket: socket, loop: loop, readiness: readiness.makeAsyncIterator())
    }

    public struct Iterator: AsyncIteratorProtocol {
      fileprivate let socket: Socket
      fileprivate let loop: Loop
      fileprivate var readiness: Loop.ReadinessSequence.Iterator

      /// The next connection. It never ends by itself: cancelling the task, or the loop's end, is thrown.
      public mutating func next() async throws(StreamError) -> Element? {
        try await next(isolation: nil)
      }

      /// The next connection. The actor is not left.
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
