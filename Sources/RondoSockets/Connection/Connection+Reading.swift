internal import Rondo

extension Connection {
  /// Reads what has come, and suspends while nothing has. Any thread; one task at a time.
  ///
  /// The array uses the memory of the piece before, if you have released that.
  ///
  /// - Parameter limit: The most bytes to return. One call receives at most 65,536.
  /// - Returns: At least one byte; nil when the peer sends no more.
  /// - Throws: `.socket(.reset)` and other errors of recv(2), `.wait(.timedOut)`, `.wait(.cancelled)`, `.closed`.
  public nonisolated(nonsending) func read(upTo limit: Int = 65_536) async throws(ConnectionError) -> [UInt8]? {
    require(limit > 0, "A piece of what arrives has at least one byte: the limit is \(limit).")
    return try await readPiece(limit)
  }

  @inline(__always)
  fileprivate nonisolated(nonsending) func readPiece(_ limit: Int) async throws(ConnectionError) -> [UInt8]? {
    try beginReading()
    defer { endReading() }
    // An attempt may move bytes that are no data: records of TLS.
    while inbox.count == 0 {
      if try await !receive(limit: limit) { return nil }
    }
    return inbox.take(atMost: limit)
  }

  /// Reads as many of the received bytes as `measure` says; suspends while there are none. The others stay.
  package nonisolated(nonsending) func readMeasured(
    by measure: (ArraySlice<UInt8>) -> Int
  ) async throws(ConnectionError) -> [UInt8]? {
    try beginReading()
    defer { endReading() }
    while inbox.count == 0 {
      if try await !receive(limit: .max) { return nil }
    }
    return inbox.take(atMost: inbox.measure(measure))
  }

  /// Reads so many bytes, and suspends until they have come. Any thread; one task at a time.
  ///
  /// - Returns: The bytes; nil if the peer sends no more, and has sent none of them.
  /// - Throws: `.endedEarly` if the peer has sent a part of them; the part can still be read. Else as `read(upTo:)`.
  public nonisolated(nonsending) func read(exactly count: Int) async throws(ConnectionError) -> [UInt8]? {
    require(count >= 0, "A number of bytes is 0 or more, not \(count).")
    try beginReading()
    defer { endReading() }
    while inbox.count < count {
      if try await receive(limit: .max) { continue }
      if inbox.count == 0 { return nil }
      throw .endedEarly(received: inbox.count, expected: count)
    }
    return inbox.take(atMost: count)
  }

  /// Reads up to and with the first `delimiter`, and suspends until it has come. Any thread; one task at a time.
  ///
  /// - Parameter limit: The most bytes to look at.
  /// - Returns: The bytes; without the delimiter if the peer ended first. Nil if there are none.
  /// - Throws: `.tooLong` if none of the first `limit` bytes is the delimiter; nothing is then read. Else as
  ///   `read(upTo:)`.
  public nonisolated(nonsending) func read(
    through delimiter: UInt8, limit: Int = 65_536
  ) async throws(ConnectionError) -> [UInt8]? {
    require(limit > 0, "A piece of what arrives has at least one byte: the limit is \(limit).")
    try beginReading()
    defer { endReading() }
    var known = 0
    while true {
      if let count = inbox.countThrough(delimiter, after: known), count <= limit { return inbox.take(atMost: count) }
      if inbox.count >= limit { throw .tooLong(limit: limit) }
      known = inbox.count
      if try await !receive(limit: .max) { return inbox.count == 0 ? nil : inbox.take(atMost: .max) }
    }
  }

  /// Reads a line, without its end: LF, or CR and LF. Any thread; one task at a time.
  ///
  /// It strips a CR before the LF alone: a CR elsewhere, and at the end of a last line without LF, is a part of the line.
  ///
  /// - Parameter limit: The most bytes of a line with its end.
  /// - Returns: The line, in which U+FFFD replaces bytes that are not UTF-8. The last one may have no end. Nil if the
  ///   peer sends no more.
  /// - Throws: `.tooLong`, and as `read(upTo:)`.
  public nonisolated(nonsending) func readLine(limit: Int = 65_536) async throws(ConnectionError) -> String? {
    guard var line = try await read(through: UInt8(ascii: "\n"), limit: limit)?[...] else { return nil }
    if line.last == UInt8(ascii: "\n") {
      line.removeLast()
      if line.last == UInt8(ascii: "\r") { line.removeLast() }
    }
    return String(decoding: line, as: UTF8.self)
  }

  /// Waits between two requests, or before the first one. Any thread; one task at a time.
  ///
  /// A server that drains ends connections that wait here without delay, and gives its grace to those in the middle of a
  /// request. A client has a second from its acceptance for its first request. Read the request afterwards, by any of the
  /// other calls:
  ///
  /// ```swift
  /// while try await connection.awaitRequest(), let line = try await connection.readLine() {
  ///   try await connection.write(answer(to: line))
  /// }
  /// ```
  ///
  /// - Returns: True if a byte of the next request has come. False if the peer sends no more, or the server drains.
  /// - Throws: As ``read(upTo:)``.
  public nonisolated(nonsending) func awaitRequest() async throws(ConnectionError) -> Bool {
    try await awaitRequest(toLast: false)
  }

  /// The same.
  ///
  /// - Parameter toLast: Whether a drain leaves the client a second for one more request, because the answer says that it
  ///   is the last one.
  package nonisolated(nonsending) func awaitRequest(toLast: Bool) async throws(ConnectionError) -> Bool {
    try beginReading()
    defer { endReading() }
    // An attempt may move bytes that are no data: records of TLS.
    while inbox.count == 0 {
      switch try tryToMove(.read, { () throws(ConnectionError) in try fill(.max) }) {
      case .moved: continue
      case .end: return false
      case .delayed(let delay):
        inbox.shrink()
        if try await !waitForRequest(after: delay, isLast: toLast) { return false }
      }
    }
    return true
  }

  /// Reads as ``read(upTo:)`` does, but returns no bytes instead of a wait if `isOver` is true. Any thread.
  ///
  /// ``wakeReader()`` has a call that waits look again.
  package nonisolated(nonsending) func readNext(unless isOver: () -> Bool) async throws(ConnectionError) -> [UInt8]? {
    try beginReading()
    defer { endReading() }
    while inbox.count == 0 {
      switch try tryToMove(.read, { () throws(ConnectionError) in try fill(65_536) }) {
      case .moved(let count): _ = try goesOn(after: count)
      case .end: return nil
      case .delayed(let delay):
        if isOver() { return [] }
        inbox.shrink()
        try await waitToRead(after: delay)
      }
    }
    return inbox.take(atMost: .max)
  }

  /// Has a call that waits to read make one more attempt. Any thread.
  package func wakeReader() { transport.input?.record.wakeReader() }

  /// Has the next call read bytes that were read already, when no others have been received since. Any thread.
  package func putBack(_ bytes: [UInt8]) throws(ConnectionError) {
    try beginReading()
    defer { endReading() }
    require(inbox.count == 0, "Bytes are put back before others are received.")
    inbox.fill { $0 += bytes }
  }

  /// Receives what has come into the inbox.
  ///
  /// - Returns: False when the peer sends no more.
  @inline(__always)
  private nonisolated(nonsending) func receive(limit: Int) async throws(ConnectionError) -> Bool {
    switch try tryToMove(.read, { () throws(ConnectionError) in try fill(limit) }) {
    case .moved(let count): return try goesOn(after: count)
    case .end: return false
    case .delayed(let delay):
      inbox.shrink()
      let count = try await move(.read, after: delay) { () throws(ConnectionError) in try fill(limit) }
      guard let count else { return false }
      return try goesOn(after: count)
    }
  }

  /// Returns true: a call that moved no data is made again, until the deadline.
  @inline(__always)
  private func goesOn(after count: Int) throws(ConnectionError) -> Bool {
    if count == 0 { try transport.input?.record.checkDeadline() }
    return true
  }

  private func fill(_ limit: Int) throws(ConnectionError) -> Transfer {
    try inbox.fill { inbox throws(ConnectionError) in try transport.receive(limit: limit, into: &inbox) }
  }
}

extension Connection: AsyncSequence {
  /// Returns an iterator over what arrives. One task reads at a time; the next one continues there.
  ///
  /// An element is the bytes of one receive, at most 65,536.
  public func makeAsyncIterator() -> Iterator {
    Iterator(connection: self)
  }

  // Not opaque: a caller would look up an opaque type at each element.
  /// Reads what arrives, as ``read(upTo:)`` does.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let connection: Connection

    /// Waits for the next bytes; nil when the peer sends no more.
    ///
    /// - Throws: As ``Connection/read(upTo:)``.
    public func next(isolation actor: isolated (any Actor)?) async throws(ConnectionError) -> [UInt8]? {
      try await connection.readPiece(65_536)
    }
  }

  /// Returns the lines that arrive, as ``readLine(limit:)`` reads them. One task at a time.
  ///
  /// - Parameter limit: The most bytes of a line with its end.
  public func lines(limit: Int = 65_536) -> some AsyncSequence<String, ConnectionError> & Sendable {
    Lines(connection: self, limit: limit)
  }

  private struct Lines: AsyncSequence, AsyncIteratorProtocol, Sendable {
    let connection: Connection
    let limit: Int

    func makeAsyncIterator() -> Self { self }

    func next(isolation actor: isolated (any Actor)?) async throws(ConnectionError) -> String? {
      try await connection.readLine(limit: limit)
    }
  }
}
