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
  ) throws(ConnectionError) -> IncomingConnections {
    IncomingConnections(
      socket: self, loop: loop, mode: mode, lease: try ReadinessLease(descriptor, of: self, on: loop, in: mode))
  }

  /// Connections to a listener; see `Socket.connections(on:in:)`.
  public struct IncomingConnections: AsyncSequence, Sendable {
    /// A connection on the loop that watches the listener.
    public typealias Element = Connection
    /// The reason why the sequence cannot continue.
    public typealias Failure = ConnectionError

    /// The listener.
    public let socket: Socket
    fileprivate let loop: Loop
    fileprivate let mode: Loop.Mode
    fileprivate let lease: ReadinessLease

    /// Returns an iterator. For one task.
    public func makeAsyncIterator() -> Iterator {
      Iterator(connections: self)
    }

    /// Accepts connections.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate let connections: IncomingConnections

      /// Waits for the next connection. Never returns nil.
      ///
      /// - Throws: `.wait(.cancelled)`, `.wait(.loopEnded)`, or the listener's error.
      public mutating func next() async throws(ConnectionError) -> Element? {
        try await next(isolation: nil)
      }

      /// Waits for the next connection. Never returns nil. Stays on the caller's actor.
      ///
      /// - Throws: `.wait(.cancelled)`, `.wait(.loopEnded)`, or the listener's error.
      public mutating func next(isolation actor: isolated (any Actor)?) async throws(ConnectionError) -> Element? {
        try Connection(try await connections.accept(), on: connections.loop, in: connections.mode)
      }
    }

    /// Waits for a connection, and for a descriptor if none is left.
    nonisolated(nonsending) func accept() async throws(ConnectionError) -> Socket {
      var backoff = Backoff.accepting
      let record = lease.record
      if try record.pay(for: .read) { try await record.letOthersRun() }
      while true {
        if record.begin(.read) {
          do throws(SocketError) {
            switch try socket.acceptNext() {
            case .connection(let socket, _):
              record.succeed(.read, mayGoOn: true)
              return socket
            case .failed:
              backoff.reset()
              record.succeed(.read, mayGoOn: true)
              continue
            case .nothing: backoff.reset()
            }
          } catch  where error.isShortage {
            record.succeed(.read, mayGoOn: true)
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
        try await record.wait(for: .read)
      }
    }
  }
}
