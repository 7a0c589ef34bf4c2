public import Rondo

extension Socket {
  /// Returns the received data as a sequence, until the peer ends. Any thread; for one task.
  ///
  /// The sequence reads only when the task asks for data. A slow task therefore slows the peer down, and one piece is
  /// in memory at a time. The sequence does not close the socket. The loop watches the socket, edge-triggered, while the
  /// sequence or its iterator is there: a `SocketSource` of the same loop and socket is then refused.
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
    return IncomingData(socket: self, limit: limit, lease: try lease(on: loop, in: mode))
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
    fileprivate let lease: ReadinessLease

    /// Returns an iterator. For one task.
    public func makeAsyncIterator() -> Iterator {
      Iterator(socket: socket, limit: limit, lease: lease)
    }

    /// Receives data.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate let socket: Socket
      fileprivate let limit: Int
      fileprivate let lease: ReadinessLease

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
        try await lease.record.pay(for: .read)
        while true {
          if lease.record.begin(.read) {
            switch try asking({ () throws(SocketError) in try socket.receive(atMost: limit) }) {
            case .bytes(let bytes, _):
              // A stream that gave less has no more: its next bytes make an edge.
              if bytes.count == limit || socket.kind == .datagram { lease.record.mayGoOn(.read) }
              return bytes
            case .end:
              lease.record.mayGoOn(.read)
              return nil
            case .nothing: break
            }
          }
          try await lease.record.wait(for: .read)
        }
      }
    }
  }
}
