internal import CLinux
internal import Glibc
internal import Rondo

/// A stream socket as a transport.
final class SocketTransport: Transport, @unchecked Sendable {
  /// *constant*
  private let stream: Socket

  @available(*, unavailable)
  override init(input: ReadinessLease?, output: ReadinessLease?) {
    fatalError("The other initializer makes the leases.")
  }

  init(_ socket: Socket, on loop: Loop, in mode: Loop.Mode) throws(ConnectionError) {
    stream = socket
    let lease = try ReadinessLease(socket.descriptor, of: socket, on: loop, in: mode)
    super.init(input: lease, output: lease)
  }

  override var socket: Socket? { stream }

  override package func receive(limit: Int, into inbox: inout [UInt8]) throws(ConnectionError) -> Transfer {
    try asking { () throws(SocketError) in
      try StreamCalls.receive(from: stream.descriptor, atMost: limit, into: &inbox, isSocket: true)
    }
  }

  override package func send(_ bytes: RawSpan) throws(ConnectionError) -> Transfer {
    try asking { () throws(SocketError) in try StreamCalls.send(bytes, to: stream.descriptor) }
  }

  override func send(_ pieces: ArraySlice<[UInt8]>, from start: Int) throws(ConnectionError) -> Transfer {
    let pieces = pieces.prefix(StreamCalls.mostPieces)
    return try asking { () throws(SocketError) in
      try StreamCalls.send(pieces, from: start, to: stream.descriptor)
    }
  }

  override func send(file: CInt, from offset: Int, count: Int) throws(ConnectionError) -> Transfer {
    try asking { () throws(SocketError) in
      try StreamCalls.send(file: file, from: offset, count: count, to: stream.descriptor)
    }
  }

  override func finish() throws(ConnectionError) -> Bool {
    try asking { () throws(SocketError) in try stream.finishWriting() }
    return true
  }

  override package func close() {
    // Bytes that came and were not read would make the kernel reset the connection, and the peer might lose what was
    // sent to it: some of them are dropped.
    for _ in 0..<4 {
      guard case .bytes? = try? stream.receive() else { break }
    }
    _ = rondo_shutdown(stream.descriptor, CInt(SHUT_RDWR))
  }
}
