public import Rondo

extension Socket {
  /// What arrives, piece by piece, to the peer's end. Any thread; for one task.
  ///
  /// Nothing is read before it is asked for: a task that is slow slows the peer down, and memory is one piece. The loop
  /// watches the socket while the task waits. When the sequence is let go, the socket is still open.
  ///
  /// - Parameters:
  ///   - loop: Waits for the socket.
  ///   - limit: The most bytes of a piece.
  ///   - mode: The mode whose runs wait for it.
  /// - Throws: `.wait(.descriptor)` if the loop cannot watch it.
  public func data(
    on loop: Loop, atMost limit: Int = 65_536, in mode: Loop.Mode = .common
  ) throws(StreamError) -> IncomingData {
    contract(limit > 0, "A piece of what arrives has at least one byte: the limit is \(limit).")
    return IncomingData(socket: self, limit: limit, readiness: try readiness(on: loop, in: mode))
  }

  /// What arrives at a socket; see `Socket.data(on:atMost:in:)`.
  public struct IncomingData: AsyncSequence, Sendable {
    public typealias Element = [UInt8]
    public typealias Failure = StreamError

    /// Where it arrives.
    public let socket: Socket
    fileprivate let limit: Int
    fileprivate let readiness: Loop.ReadinessSequence

    public func makeAsyncIterator() -> Iterator {
      Iterator(socket: socket, limit: limit, readiness: readiness.makeAsyncIterator())
    }

    public struct Iterator: AsyncIteratorProtocol {
      fileprivate let socket: Socket
      fileprivate let limit: Int
      fileprivate var readiness: Loop.ReadinessSequence.Iterator

      /// The next piece, or datagram; nil when the peer sends no more.
      ///
      /// - Throws: `.socket(.reset)` and so on; `.wait(.cancelled)`, which is not the peer's end.
      public mutating func next() async throws(StreamError) -> [UInt8]? {
        try await next(isolation: nil)
      }

      /// The next piece, or datagram; nil when the peer sends no more. The actor is not left.
      public mutating func next(isolation actor: isolated (any Actor)?) async throws(StreamError) -> [UInt8]? {
        while true {
          switch try asking({ () throws(SocketError) in try socket.receive(atMost: limit) }) {
          case .bytes(let bytes, _): return bytes
          case .end: return nil
          case .nothing: try await wait(for: &readiness)
          }
        }
      }
    }
  }

  /// How often the loop finds the socket readable.
  func readiness(on loop: Loop, in mode: Loop.Mode) throws(StreamError) -> Loop.ReadinessSequence {
    do {
      return try loop.readiness(of: descriptor, for: .read, in: mode)
    } catch {
      throw .wait(.descriptor(error))
    }
  }
}

/// What a call to a socket gave, or why it gave nothing, as async code is told.
func asking<Answer>(_ call: () throws(SocketError) -> Answer) throws(Socket.StreamError) -> Answer {
  do {
    return try call()
  } catch {
    throw .socket(error)
  }
}

/// Waits until the socket is readable. That nobody waits any more is no end of what arrives.
nonisolated(nonsending) func wait(
  for readiness: inout Loop.ReadinessSequence.Iterator
) async throws(Socket.StreamError) {
  do throws(Loop.DescriptorSource.InvalidationReason) {
    if try await readiness.next(isolation: #isolation) != nil { return }
  } catch {
    throw .wait(.invalidated(error))
  }
  throw .wait(Task.isCancelled ? .cancelled : .loopEnded)
}
