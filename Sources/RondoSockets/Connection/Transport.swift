/// What an attempt to move bytes gave.
package enum Transfer {
  /// So many bytes have moved.
  ///
  /// `mayGoOn` is whether the next attempt may succeed without a wait.
  case moved(Int, mayGoOn: Bool)
  /// The peer sends no more.
  case end
  /// It would block.
  case blocked
}

/// What carries a connection's bytes: a socket or pipes. Its calls do not block.
///
/// A connection has one reader and one writer at a time, which may be on different threads.
package class Transport: @unchecked Sendable {
  // Unchecked, for a class that others derive from: each says what guards its fields.

  /// The most bytes of one record of TLS.
  static let recordLength = 16_384

  /// *constant* Tells when reading may succeed; nil if nothing can be read.
  package final let input: ReadinessLease?
  /// *constant* The same for writing.
  package final let output: ReadinessLease?

  init(input: ReadinessLease?, output: ReadinessLease?) {
    self.input = input
    self.output = output
  }

  /// The socket, if there is one.
  var socket: Socket? { nil }

  /// Whether bytes are on their way that no attempt to send has counted yet. The writer.
  var hasUncounted: Bool { false }

  /// Appends what can be read at once to `inbox`. The reader.
  package func receive(limit: Int, into inbox: inout [UInt8]) throws(ConnectionError) -> Transfer {
    fatalError("A transport overrides this.")
  }

  /// Sends a beginning of `bytes`, of which there is at least one. The writer.
  package func send(_ bytes: RawSpan) throws(ConnectionError) -> Transfer {
    fatalError("A transport overrides this.")
  }

  /// Sends a beginning of several pieces, from a place in the first one. The writer.
  ///
  /// Here a copy of them, up to the length of a record of TLS, unless the first one is as long.
  func send(_ pieces: ArraySlice<[UInt8]>, from start: Int) throws(ConnectionError) -> Transfer {
    let piece = pieces.first!
    if pieces.count == 1 || piece.count - start >= Self.recordLength {
      return try send(unsafe piece.span.bytes.extracting(start...))
    }
    var record = Array(piece[start...])
    for piece in pieces.dropFirst() where record.count < Self.recordLength {
      record += piece.prefix(Self.recordLength - record.count)
    }
    return try send(unsafe record.span.bytes)
  }

  /// Sends a part of a file. The writer.
  func send(file: CInt, from offset: Int, count: Int) throws(ConnectionError) -> Transfer {
    let bytes = try asking { () throws(SocketError) in try StreamCalls.read(file: file, from: offset, atMost: count) }
    return bytes.isEmpty ? .end : try send(unsafe bytes.span.bytes)
  }

  /// Tells the peer that nothing more comes. The writer.
  ///
  /// - Returns: Whether that is on its way; if not, it waits for room, and the call is made again.
  func finish() throws(ConnectionError) -> Bool {
    fatalError("A transport overrides this.")
  }

  /// Ends both directions. Any thread.
  package func close() {
    fatalError("A transport overrides this.")
  }
}
