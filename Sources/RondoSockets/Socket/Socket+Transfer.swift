import CLinux
import Glibc
import Rondo

extension Socket {
  /// The result of a receive.
  public enum Received: Sendable, Hashable {
    /// Bytes of a stream.
    case bytes([UInt8])
    /// One datagram, with its sender's address.
    case datagram(Datagram)
    /// The peer sends no more.
    case end
    /// No data is available now.
    case nothing
  }

  /// Sends as many bytes as the socket takes immediately. Never raises SIGPIPE. See send(2).
  ///
  /// - Returns: The number of bytes taken: 0 if it would block. A datagram is sent whole or not at all.
  /// - Throws: `.reset` if the connection is closed or reset, `.tooLong` for a datagram that does not fit, `.busy` if
  ///   there is no room for a datagram without bytes, and other errors of send(2).
  public func send(_ bytes: RawSpan, to address: SocketAddress? = nil) throws(SocketError) -> Int {
    let destination = address?.socketBytes ?? []
    let result = unsafe bytes.withUnsafeBytes { buffer in
      unsafe destination.withUnsafeBytes { name in
        unsafe rondo_send(
          descriptor, buffer.baseAddress, buffer.count, name.isEmpty ? nil : name.baseAddress, UInt32(name.count))
      }
    }
    if result == -Int(EAGAIN) {
      // 0 says of an empty datagram that it was sent.
      if bytes.isEmpty, kind == .datagram { throw .busy }
      return 0
    }
    if result < 0 { throw SocketError(.send, CInt(result)) }
    return result
  }

  /// Sends bytes; see `send(_:to:)` of a `RawSpan`.
  public func send(_ bytes: [UInt8], to address: SocketAddress? = nil) throws(SocketError) -> Int {
    try unsafe send(bytes.span.bytes, to: address)
  }

  /// Sends bytes of a slice, without a copy; see `send(_:to:)` of a `RawSpan`.
  public func send(_ bytes: ArraySlice<UInt8>, to address: SocketAddress? = nil) throws(SocketError) -> Int {
    try unsafe send(bytes.span.bytes, to: address)
  }

  /// Receives at most `limit` bytes without waiting. Any thread. See recv(2).
  ///
  /// One call receives at most 64 KiB of a stream, or one datagram. If the datagram is longer than `limit`, the rest of
  /// it is lost, and `isTruncated` is true.
  ///
  /// - Throws: `.reset` if the peer closed the connection abruptly, and other errors of recv(2).
  public func receive(limit: Int = 65_536) throws(SocketError) -> Received {
    require(limit > 0, "A receive has room for at least one byte: the limit is \(limit).")
    if kind == .datagram { return try receiveDatagram(limit: limit) }
    // Out of the stack into an array of their own size: a room of 64 KiB on the heap would cost more than all the rest.
    var bytes: [UInt8] = []
    switch try StreamCalls.receive(from: descriptor, atMost: limit, into: &bytes, isSocket: true) {
    case .moved: return .bytes(bytes)
    case .end: return .end
    case .blocked: return .nothing
    }
  }

  /// Ends sending. The peer reads up to the end, and can still send. See shutdown(2).
  public func finishWriting() throws(SocketError) {
    try check(.shutdown, rondo_shutdown(descriptor, CInt(SHUT_WR)))
  }

  // MARK: - Waiting

  /// Sends all bytes, and waits for room up to `timeout`. Blocks the thread. See CFSocketSendData.
  ///
  /// - Throws: `.timedOut`, never early, and errors of send(2). Part of the bytes may have been sent.
  @available(*, noasync, message: "It blocks the thread. Use a SocketSource.")
  public func send(_ bytes: [UInt8], timeout: Duration) throws(SocketError) {
    let deadline = SuspendingClock.now.advanced(by: max(.zero, timeout))
    var rest = bytes[...]
    while true {
      rest = rest.dropFirst(try send(rest))
      if rest.isEmpty { return }
      try waitUntilWritable(deadline)
    }
  }

  /// Connects, and waits for the connection up to `timeout`. Blocks the thread. See CFSocketConnectToAddress.
  ///
  /// If the queue of a Unix-domain listener is full, it tries again every few milliseconds.
  ///
  /// - Throws: `.timedOut`, `.refused`, and other errors of connect(2).
  @available(*, noasync, message: "It blocks the thread. Use SocketSource(connectingTo:).")
  public func connect(to address: SocketAddress, timeout: Duration) throws(SocketError) {
    let deadline = SuspendingClock.now.advanced(by: max(.zero, timeout))
    var pause = Backoff.connecting
    var state = try tryToConnect(to: address)
    while state == .busy {
      let left = SuspendingClock.now.duration(to: deadline)
      if left <= .zero { throw .timedOut }
      _ = rondo_poll_two(-1, 0, -1, min(pause.next(), left).pollMilliseconds)
      state = try tryToConnect(to: address)
    }
    if state == .connected { return }
    try waitUntilWritable(deadline)
    if let error = takeError(at: address) { throw error }
  }

  private func waitUntilWritable(_ deadline: SuspendingClock.Instant) throws(SocketError) {
    try wait(for: CInt(POLLOUT), until: deadline)
  }

  /// Waits for poll(2)'s `events`, or an error.
  private func wait(for events: CInt, until deadline: SuspendingClock.Instant) throws(SocketError) {
    while true {
      let left = SuspendingClock.now.duration(to: deadline)
      let result = try check(.poll, rondo_poll_two(descriptor, events, -1, left.pollMilliseconds))
      if result > 0 { return }
      if left <= .zero { throw .timedOut }
    }
  }
}

extension Duration {
  /// Whole milliseconds for poll(2), rounded up so that nothing is early; 0 for a time that has passed.
  package var pollMilliseconds: CInt {
    // poll(2) would take it for no limit.
    if self <= .zero { return 0 }
    let (seconds, attoseconds) = components
    if seconds >= Int64(CInt.max / 1000) - 1 { return CInt.max }
    let unit: Int64 = 1_000_000_000_000_000
    return CInt(seconds * 1000 + attoseconds / unit + (attoseconds % unit > 0 ? 1 : 0))
  }
}
