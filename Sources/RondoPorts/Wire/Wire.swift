import RondoSockets

/// A connection between two message ports: frames out, frames in. *its owner's lock*
struct Wire {
  /// How much is read at once: 64 KiB, as of a socket source. Chosen.
  static let longestPiece = 65_536

  let socket: Socket
  var queue = SendQueue()
  private var decoder: FrameDecoder<Frame>
  /// Set once nothing more will come; frames before it are still to be taken.
  private var end: MessagePortError?

  init(_ socket: Socket, _ options: MessagePortOptions) {
    self.socket = socket
    decoder = FrameDecoder<Frame>(limit: options.messageLimit)
  }

  /// Sends what waits, as far as there is room.
  mutating func flush() throws(SocketError) {
    try queue.send { bytes throws(SocketError) in try socket.send(bytes) }
  }

  /// Reads what is there, one piece.
  ///
  /// - Returns: False if there was nothing.
  mutating func read() -> Bool {
    guard end == nil else { return false }
    do {
      switch try socket.receive(limit: Self.longestPiece) {
      case .bytes(let bytes):
        decoder.append(bytes)
        return true
      case .end:
        end = .peerGone
      case .nothing, .datagram:
        return false
      }
    } catch {
      end = error == .reset ? .peerGone : .socket(error)
    }
    return false
  }

  /// The next frame that was read; nil if there is none.
  ///
  /// - Throws: Why no frame will ever come.
  mutating func next() throws(MessagePortError) -> Frame? {
    do throws(FrameError) {
      if let frame = try decoder.next() { return frame }
      if end == .peerGone { try decoder.finish() }
    } catch {
      throw .malformed(error)
    }
    if let end { throw end }
    return nil
  }

  /// Whether the beginning of a frame waits for its end.
  var hasHalfFrame: Bool { decoder.buffered > 0 && !decoder.hasNext }

  /// How much memory what waits takes, in both directions.
  var held: Int { decoder.held + queue.held }

  /// Whether `next()` would have something to say at once.
  var hasNext: Bool { decoder.hasNext || end != nil }
}
