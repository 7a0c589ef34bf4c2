internal import CLinux
internal import Glibc

/// System calls on the descriptor of a stream, and what each result means.
///
/// An edge that was told comes no more. So a call may be left out only where the one before has proved that a new edge
/// will come first:
///
/// - A receive that finds EAGAIN has proved it, and nothing else has. One that gets less than it asked for may have
///   stopped at a boundary, with bytes behind it: TCP's urgent mark; between Unix-domain sockets a message with
///   descriptors, one of another sender where credentials are passed, or an urgent byte; a record of the kernel's TLS.
///   epoll(7) says otherwise. The same edge may also have told of an error, or of a pipe's end. TCP_INQ would prove it
///   for TCP, at the price of the receive that it saves (0.2 of the 6 microseconds of an exchange over loopback).
/// - A send that takes less than it was given has met the full buffer: the kernel then notes that a sender waits, as it
///   does for EAGAIN (SOCK_NOSPACE; a pipe's full ring). An error in the middle of a send makes an edge of its own.
/// - sendfile(2) takes less where the file ends, too.
enum StreamCalls {
  /// The most pieces that one call sends.
  static let mostPieces = 16
  /// The most bytes that one call receives.
  private static let mostReceived = 65_536

  /// Has the descriptor's calls not block, and closes it on exec, unless it is a standard stream: a program that this
  /// process executes expects those.
  static func prepare(_ descriptor: CInt) throws(SocketError) {
    try check(.option, rondo_set_nonblocking(descriptor))
    if descriptor > STDERR_FILENO { try check(.option, rondo_close_on_exec(descriptor)) }
  }

  /// Appends what can be received at once to `inbox`.
  static func receive(
    from descriptor: CInt, atMost limit: Int, into inbox: inout [UInt8], isSocket: Bool
  ) throws(SocketError) -> Transfer {
    let limit = min(limit, mostReceived)
    let count = unsafe withUnsafeMutablePointer(to: &inbox) { inbox in
      unsafe rondo_receive_into(
        descriptor, isSocket ? 1 : 0, limit, { inbox, bytes, count in unsafe append(bytes, count, to: inbox) }, inbox)
    }
    switch count {
    case 1...: return .moved(count, mayGoOn: true)
    case 0: return .end
    case -Int(EAGAIN): return .blocked
    // So ends the master of a pseudo-terminal, when no process has the other side open.
    case -Int(EIO) where !isSocket && rondo_has_hung_up(descriptor) != 0: return .end
    default: throw SocketError(.receive, CInt(count))
    }
  }

  /// Sends a beginning of the pieces, of which there are at most `mostPieces`.
  static func send(
    _ pieces: ArraySlice<[UInt8]>, from start: Int, to descriptor: CInt
  ) throws(SocketError) -> Transfer {
    let all = pieces.reduce(-start) { $0 + $1.count }
    let sent = unsafe withUnsafeTemporaryAllocation(of: iovec.self, capacity: pieces.count) { vectors in
      unsafe pin(pieces, from: start, in: vectors) {
        unsafe rondo_send_pieces(descriptor, vectors.baseAddress, vectors.count)
      }
    }
    return try outcome(of: sent, of: all)
  }

  /// Runs `body` while the vectors have the addresses of the pieces: each is pinned in a call of its own, the last first.
  @unsafe private static func pin(
    _ pieces: ArraySlice<[UInt8]>, from first: Int, in vectors: UnsafeMutableBufferPointer<iovec>, _ body: () -> Int
  ) -> Int {
    guard let piece = pieces.last else { return body() }
    return unsafe piece.withUnsafeBytes { bytes in
      let start = pieces.count == 1 ? first : 0
      let base = unsafe UnsafeMutableRawPointer(mutating: bytes.baseAddress).map { unsafe $0 + start }
      let vector = unsafe iovec(iov_base: base, iov_len: bytes.count - start)
      unsafe vectors.initializeElement(at: pieces.count - 1, to: vector)
      return unsafe pin(pieces.dropLast(), from: first, in: vectors, body)
    }
  }

  /// Sends a part of a file to a socket, by sendfile(2). To a pipe that is full it would block.
  static func send(
    file: CInt, from offset: Int, count: Int, to descriptor: CInt
  ) throws(SocketError) -> Transfer {
    var place = off_t(offset)
    let sent = unsafe rondo_write_quietly(descriptor, nil, file, &place, count)
    // The file is shorter.
    if sent == 0 { return .end }
    return try outcome(of: sent, of: max(0, sent))
  }

  /// Reads a part of a file, by pread(2).
  static func read(file: CInt, from offset: Int, atMost limit: Int) throws(SocketError) -> [UInt8] {
    var count = 0
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: min(limit, mostReceived)) { room, initialized in
      repeat {
        count = unsafe pread(file, room.baseAddress, room.count, off_t(offset))
      } while count < 0 && errno == EINTR
      if count < 0 { count = -Int(errno) }
      initialized = max(0, count)
    }
    if count < 0 { throw SocketError(.send, CInt(count)) }
    return bytes
  }

  /// Sends a beginning of the bytes.
  static func send(_ bytes: RawSpan, to descriptor: CInt) throws(SocketError) -> Transfer {
    let sent = unsafe bytes.withUnsafeBytes { unsafe rondo_send(descriptor, $0.baseAddress, $0.count, nil, 0) }
    return try outcome(of: sent, of: bytes.byteCount)
  }

  /// Writes to what is no socket.
  static func write(_ bytes: RawSpan, to descriptor: CInt) throws(SocketError) -> Transfer {
    let sent = unsafe bytes.withUnsafeBytes {
      unsafe rondo_write_quietly(descriptor, $0.baseAddress, -1, nil, $0.count)
    }
    return try outcome(of: sent, of: bytes.byteCount)
  }

  private static func outcome(of sent: Int, of count: Int) throws(SocketError) -> Transfer {
    if sent == -Int(EAGAIN) { return .blocked }
    if sent < 0 { throw SocketError(.send, CInt(sent)) }
    return .moved(sent, mayGoOn: sent == count)
  }
}

/// Appends bytes that C has received to an array that it knows as a pointer.
@inline(__always)
@unsafe package func append(_ bytes: UnsafeRawPointer?, _ count: Int, to inbox: UnsafeMutableRawPointer?) {
  let bytes = unsafe UnsafeRawBufferPointer(start: bytes, count: count)
  unsafe inbox!.assumingMemoryBound(to: [UInt8].self).pointee.add(bytes)
}

extension [UInt8] {
  /// Appends bytes that were received.
  ///
  /// An empty array whose memory is free is used again, unless it has much more than the bytes need: the caller may
  /// keep it.
  fileprivate mutating func add(_ bytes: UnsafeRawBufferPointer) {
    if isEmpty, capacity > 4 * bytes.count + 512 { self = [] }
    unsafe append(contentsOf: bytes)
  }
}
