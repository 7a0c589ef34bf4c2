public import Rondo
internal import RondoAsync

extension Socket {
  /// Returns the received data as a sequence, until the peer ends. Any thread; for one task.
  ///
  /// The sequence reads only when the task asks for data. A slow task therefore slows the peer down, and one piece is
  /// in memory at a time. The loop watches the socket while the task waits. The sequence does not close the socket.
  ///
  /// - Parameters:
  ///   - loop: Watches the socket.
  ///   - limit: The most bytes of a piece.
  ///   - mode: The mode in whose runs the loop watches the socket.
  /// - Throws: `.wait(.descriptor)` if the loop cannot watch the socket.
  public func data(
    on loop: Loop, atMost limit: Int = 65_536, in mode: Loop.Mode = .common
  ) throws(StreamError) -> IncomingData {
    require(limit > 0, "A piece of what arrives has at least one byte: the limit is \(limit).")
    return IncomingData(socket: self, limit: limit, readiness: try readiness(on: loop, in: mode))
  }

  /// Data received by a socket; see `Socket.data(on:atMost:in:)`.
  public struct IncomingData: AsyncSequence, Sendable {
    /// A piece of a stream, or a datagram.
    public typealias Element = [UInt8]
    /// The reason why the sequence cannot continue.
    public typealias Failure = StreamError

    /// The socket that receives the data.
    public let socket: Socket
    fileprivate let limit: Int
    fileprivate let readiness: Loop.ReadinessSequence

    /// Returns an iterator. For one task.
    public func makeAsyncIterator() -> Iterator {
      Iterator(socket: socket, limit: limit, readiness: readiness.makeAsyncIterator())
    }

    /// Receives data.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate let socket: Socket
      fileprivate let limit: Int
      fileprivate var readiness: Loop.ReadinessSequence.Iterator

      /// Waits for the next piece or datagram; nil when the peer sends no more.
      ///
      /// - Throws: `.socket(.reset)` and other errors of recv(2); `.wait(.cancelled)`, which is not the peer's end.
      public mutating func next() async throws(StreamError) -> [UInt8]? {
        try await next(isolation: nil)
      }

      /// Waits for the next piece or datagram; nil when the peer sends no more. Stays on the caller's actor.
      ///
      /// - Throws: `.socket(.reset)` and other errors of recv(2); `.wait(.cancelled)`, which is not the peer's end.
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

/// Waits until the socket is readable. The end of the sequence is thrown as an error: it is no end of the data.
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
