import CLinux
import Glibc

extension Socket {
  /// A datagram that a socket received.
  public struct Datagram: Sendable, Hashable {
    /// The bytes, as many as the receiver had room for.
    public var bytes: [UInt8]
    /// The address of the sender; nil if it has none.
    public var sender: SocketAddress?
    /// Whether the datagram was longer than the room: the rest of it is lost. See recv(2), MSG_TRUNC.
    public var isTruncated: Bool

    /// Makes a datagram from its parts.
    package init(bytes: [UInt8], sender: SocketAddress? = nil, isTruncated: Bool = false) {
      self.bytes = bytes
      self.sender = sender
      self.isTruncated = isTruncated
    }
  }

  /// How many datagrams for this socket the kernel has dropped; nil if unknown. Any thread.
  ///
  /// Almost all for want of room: see `Option.receiveBuffer(bytes:)`. The kernel counts since the socket was made, as it
  /// does for SO_RXQ_OVFL, and wraps around: subtract two counts with `&-`. A Unix-domain socket has its senders wait.
  public var droppedDatagramCount: UInt32? {
    UInt32(exactly: rondo_dropped_count(descriptor))
  }

  /// Receives one datagram, with one system call.
  ///
  /// One of 64 that recvmmsg(2) receives together costs as much, as measured (430 ns). That call would also take datagrams
  /// out of the kernel before the program asks for them: a handler may disable its source, a task may drop its sequence,
  /// and a nested run may wait for the next one.
  func receiveDatagram(limit: Int) throws(SocketError) -> Received {
    var arrival = Arrival(limit: limit)
    let result = unsafe withUnsafeMutablePointer(to: &arrival) { arrival in
      if limit <= 65_536 { return unsafe rondo_receive_datagram(descriptor, nil, 0, Arrival.take, arrival) }
      // A Unix-domain datagram can have as many bytes. The kernel keeps it in one piece of memory, of 4 MiB at most.
      return unsafe withUnsafeTemporaryAllocation(byteCount: min(limit, 1 << 23), alignment: 1) {
        unsafe rondo_receive_datagram(descriptor, $0.baseAddress, $0.count, Arrival.take, arrival)
      }
    }
    if result == -Int(EAGAIN) { return .nothing }
    if result < 0 { throw SocketError(.receive, CInt(result)) }
    return .datagram(arrival.datagram)
  }
}

/// Where C puts what it has received.
private struct Arrival {
  let limit: Int
  var datagram = Socket.Datagram(bytes: [])

  typealias Take = @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<rondo_datagram>?) -> Void

  static let take: Take = { arrival, datagram in
    unsafe arrival!.assumingMemoryBound(to: Arrival.self).pointee.fill(datagram!.pointee)
  }

  private mutating func fill(_ found: rondo_datagram) {
    let bytes = unsafe UnsafeRawBufferPointer(start: found.bytes, count: min(found.count, limit))
    datagram.bytes = unsafe [UInt8](bytes)
    datagram.isTruncated = unsafe found.length > bytes.count
    let sender = unsafe UnsafeRawBufferPointer(start: found.sender, count: Int(found.sender_length))
    let address = try? unsafe SocketAddress(sender.bytes)
    datagram.sender = address == .unix(.unnamed) ? nil : address
  }
}
