internal import Rondo
internal import Synchronization

extension Connection {
  /// Sends all bytes, and suspends while the peer has no room. Any thread; writes of several tasks follow each other.
  ///
  /// - Throws: `.socket(.reset)` if the peer closed the connection, and other errors of send(2); `.wait(.timedOut)`,
  ///   `.wait(.cancelled)`, `.closed`. If a part of the bytes was sent, later writes throw `.writeCutShort`.
  public nonisolated(nonsending) func write(_ bytes: RawSpan) async throws(ConnectionError) {
    guard let start = try writeAtOnce(bytes) else { return }
    try await finish(start, of: bytes.byteCount) { sent throws(ConnectionError) in try send(bytes, from: &sent) }
  }

  /// Sends all bytes; see ``write(_:)-(RawSpan)``.
  public nonisolated(nonsending) func write(_ bytes: [UInt8]) async throws(ConnectionError) {
    guard let start = try writeAtOnce(unsafe bytes.span.bytes) else { return }
    try await finish(start, of: bytes.count) { sent throws(ConnectionError) in
      try send(unsafe bytes.span.bytes, from: &sent)
    }
  }

  /// Sends all bytes of a slice; see ``write(_:)-(RawSpan)``.
  public nonisolated(nonsending) func write(_ bytes: ArraySlice<UInt8>) async throws(ConnectionError) {
    try await write(unsafe bytes.span.bytes)
  }

  /// Sends a text in UTF-8; see ``write(_:)-(RawSpan)``.
  public nonisolated(nonsending) func write(_ text: String) async throws(ConnectionError) {
    try await write(Array(text.utf8))
  }

  /// Sends all that `body` appends, together: by one sendmsg(2), if the peer has room. Any thread.
  ///
  /// No other task's bytes come between. A secured connection fills its records.
  ///
  /// ```swift
  /// try await connection.write { writer in
  ///   writer.append("\(body.count)\n")
  ///   writer.append(body)
  /// }
  /// ```
  ///
  /// - Throws: As ``write(_:)-(RawSpan)``.
  public nonisolated(nonsending) func write(_ body: (inout Writer) -> Void) async throws(ConnectionError) {
    var writer = Writer()
    body(&writer)
    writer.endPiece()
    if writer.pieces.count < 2 { return try await write(writer.pieces.first ?? []) }
    var rest = writer.pieces[...]
    var start = 0
    try await finish(.inTurn, of: rest.reduce(0) { $0 + $1.count }) { sent throws(ConnectionError) in
      let transfer = try transport.send(rest, from: start)
      guard case .moved(var count, _) = transfer else { return transfer }
      sent += count
      while let first = rest.first, first.count - start <= count {
        count -= first.count - start
        rest.removeFirst()
        start = 0
      }
      start += count
      return transfer
    }
  }

  /// Collects the bytes of one write, which sends them together.
  public struct Writer {
    /// A shorter array is copied: that costs less than a piece of its own.
    private static let fewestAlone = 4_096

    /// None is empty.
    fileprivate var pieces: [[UInt8]] = []
    /// What was copied since the last one.
    private var copied: [UInt8] = []

    /// Appends bytes.
    public mutating func append(_ bytes: RawSpan) {
      unsafe bytes.withUnsafeBytes { unsafe copied.append(contentsOf: $0) }
    }

    /// Appends bytes, without a copy if they are 4,096 or more.
    public mutating func append(_ bytes: [UInt8]) {
      if bytes.count < Self.fewestAlone {
        copied += bytes
      } else {
        endPiece()
        pieces.append(bytes)
      }
    }

    /// Appends the bytes of a slice.
    public mutating func append(_ bytes: ArraySlice<UInt8>) { copied += bytes }

    /// Appends a text in UTF-8.
    public mutating func append(_ text: String) { copied += text.utf8 }

    fileprivate mutating func endPiece() {
      if !copied.isEmpty { pieces.append(copied) }
      copied = []
    }
  }

  /// Sends bytes of an open file. Over a socket the kernel does so without copying them: sendfile(2).
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
    return try await finish(.inTurn, of: count ?? .max) { sent throws(ConnectionError) in
      // The kernel sends no more in one call.
      let limit = Swift.min(1 << 30, (count ?? .max) - sent)
      let transfer = try transport.send(file: file, from: offset + sent, count: limit)
      if case .moved(let count, _) = transfer { sent += count }
      return transfer
    }
  }

  /// Sends the bytes that `take` returns when the writes before this one are done. Any thread.
  ///
  /// - Parameter putBack: Given the bytes that are left if the task was cancelled. The next write begins with them.
  package nonisolated(nonsending) func writeNext(
    _ take: () -> [UInt8], puttingBack putBack: (ArraySlice<UInt8>) -> Void
  ) async throws(ConnectionError) {
    if !writers.tryToEnter() { try await writers.enter() }
    let bytes = take()
    try await finish(.begun(sent: 0, nil), of: bytes.count) { sent throws(ConnectionError) in
      try send(unsafe bytes.span.bytes, from: &sent)
    } onCancel: {
      putBack(bytes[$0...])
      return true
    }
  }

  // MARK: - Turns

  /// Where a write stands that cannot be done at once.
  private enum Start {
    /// It takes its turn first.
    case inTurn
    /// It has its turn, and has sent so many bytes.
    case begun(sent: Int, Delay?)
  }

  /// Sends bytes that no other task and no want of room hold up: the usual case, without a suspension.
  ///
  /// - Returns: Nil if all is sent.
  private func writeAtOnce(_ bytes: RawSpan) throws(ConnectionError) -> Start? {
    guard writers.tryToEnter() else { return .inTurn }
    var sent = 0
    do throws(ConnectionError) {
      try checkForCut()
      if !bytes.isEmpty {
        let attempt = try tryToMove(.write) { () throws(ConnectionError) in try send(bytes, from: &sent) }
        if case .delayed(let delay) = attempt { return .begun(sent: 0, delay) }
        if sent < bytes.byteCount { return .begun(sent: sent, nil) }
      }
    } catch {
      writers.leave()
      throw error
    }
    writers.leave()
    return nil
  }

  /// Sends a beginning of the bytes after those that are sent.
  private func send(_ bytes: RawSpan, from sent: inout Int) throws(ConnectionError) -> Transfer {
    let transfer = try transport.send(bytes.extracting(sent...))
    if case .moved(let count, _) = transfer { sent += count }
    return transfer
  }

  /// Makes attempts until so many bytes are sent or an attempt finds the end, as the only writer.
  ///
  /// - Parameters:
  ///   - attempt: Adds to the number of bytes that were sent.
  ///   - onCancel: Given that number, says whether the next write goes on there.
  /// - Returns: That number.
  @discardableResult
  private nonisolated(nonsending) func finish(
    _ start: Start, of count: Int, _ attempt: (inout Int) throws(ConnectionError) -> Transfer,
    onCancel: (Int) -> Bool = { _ in false }
  ) async throws(ConnectionError) -> Int {
    var sent = 0
    var delay: Delay?
    if case .begun(let count, let reason) = start {
      (sent, delay) = (count, reason)
    } else if !writers.tryToEnter() {
      try await writers.enter()
    }
    defer { writers.leave() }
    try checkForCut()
    do throws(ConnectionError) {
      while sent < count {
        if let reason = delay {
          delay = nil
          let moved = try await move(.write, after: reason) { () throws(ConnectionError) in try attempt(&sent) }
          if moved == nil { break }
        } else {
          switch try tryToMove(.write, { () throws(ConnectionError) in try attempt(&sent) }) {
          case .moved: break
          case .end: return sent
          case .delayed(let reason): delay = reason
          }
        }
      }
      return sent
    } catch {
      if error == .wait(.cancelled), onCancel(sent) { throw error }
      if sent > 0 || transport.hasUncounted { isCutShort.store(true, ordering: .relaxed) }
      throw error
    }
  }

  func checkForCut() throws(ConnectionError) {
    if isCutShort.load(ordering: .relaxed) { throw isClosed || isCovered ? .closed : .writeCutShort }
  }
}
