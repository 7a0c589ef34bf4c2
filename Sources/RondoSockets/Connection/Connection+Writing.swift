internal import Rondo
internal import Synchronization

extension Connection {
  /// Sends all bytes, and suspends while the peer has no room. Any thread; writes of several tasks follow each other.
  ///
  /// - Throws: `.socket(.reset)` if the peer closed the connection, and other errors of send(2); `.wait(.timedOut)`,
  ///   `.wait(.cancelled)`, `.closed`. If a part of the bytes was sent, later writes throw `.writeCutShort`.
  public nonisolated(nonsending) func write(_ bytes: RawSpan) async throws(ConnectionError) {
    try await whole { (isBegun: inout Bool) async throws(ConnectionError) in
      var sent = 0
      while sent < bytes.byteCount {
        sent += try await move(.write) { () throws(ConnectionError) in try transport.send(bytes.extracting(sent...)) }!
        isBegun = true
      }
    }
  }

  /// Sends all bytes; see ``write(_:)-(RawSpan)``.
  public nonisolated(nonsending) func write(_ bytes: [UInt8]) async throws(ConnectionError) {
    try await write(unsafe bytes.span.bytes)
  }

  /// Sends all bytes of a slice; see ``write(_:)-(RawSpan)``.
  public nonisolated(nonsending) func write(_ bytes: ArraySlice<UInt8>) async throws(ConnectionError) {
    try await write(unsafe bytes.span.bytes)
  }

  /// Sends a text in UTF-8; see ``write(_:)-(RawSpan)``.
  public nonisolated(nonsending) func write(_ text: String) async throws(ConnectionError) {
    try await write(Array(text.utf8))
  }

  /// Sends several pieces, one after the other, without copying them together. See sendmsg(2).
  ///
  /// - Throws: As ``write(_:)-(RawSpan)``.
  public nonisolated(nonsending) func write(pieces: [[UInt8]]) async throws(ConnectionError) {
    try await whole { (isBegun: inout Bool) async throws(ConnectionError) in
      var rest = pieces.drop(while: \.isEmpty)
      var start = 0
      while !rest.isEmpty {
        var sent = try await move(.write) { () throws(ConnectionError) in try transport.send(rest, from: start) }!
        isBegun = true
        while let first = rest.first, first.count - start <= sent {
          sent -= first.count - start
          rest.removeFirst()
          start = 0
        }
        start += sent
      }
    }
  }

  /// Sends bytes of an open file. Over a socket or a pipe the kernel does so without copying them: sendfile(2).
  ///
  /// Reading from the disk blocks the calling thread.
  ///
  /// - Parameters:
  ///   - file: Its own offset is neither used nor changed.
  ///   - offset: The first byte that is sent.
  ///   - count: The most bytes; nil for all to the end of the file.
  /// - Returns: How many bytes were sent: fewer than `count` if the file ended.
  /// - Throws: `.socket(.system)` if the file cannot be read. Else as ``write(_:)-(RawSpan)``.
  @discardableResult
  public nonisolated(nonsending) func write(
    file: CInt, from offset: Int = 0, count: Int? = nil
  ) async throws(ConnectionError) -> Int {
    require(offset >= 0 && count ?? 0 >= 0, "A part of a file begins at 0 or later, and has 0 bytes or more.")
    var sent = 0
    try await whole { (isBegun: inout Bool) async throws(ConnectionError) in
      // More than the kernel sends in one call.
      while sent < count ?? .max {
        let limit = Swift.min(1 << 30, (count ?? .max) - sent)
        guard
          let moved = try await move(
            .write, { () throws(ConnectionError) in try transport.send(file: file, from: offset + sent, count: limit) })
        else { break }
        sent += moved
        isBegun = true
      }
    }
    return sent
  }

  /// Has one task write at a time, and remembers a write that was cut short.
  private nonisolated(nonsending) func whole(
    _ body: nonisolated(nonsending) (inout Bool) async throws(ConnectionError) -> Void
  ) async throws(ConnectionError) {
    try await writers.enter()
    defer { writers.leave() }
    if isCutShort.load(ordering: .relaxed) { throw isClosed ? .closed : .writeCutShort }
    var isBegun = false
    do throws(ConnectionError) {
      try await body(&isBegun)
    } catch {
      if isBegun { isCutShort.store(true, ordering: .relaxed) }
      throw error
    }
  }
}
