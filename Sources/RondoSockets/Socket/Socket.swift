import CLinux
import Glibc

/// An open socket, closed with the last reference to it. It never blocks, and is closed on exec.
///
/// Whoever uses it holds it, so no call can meet a number that stands for another file by now. Any thread.
public final class Socket: Sendable {
  /// The kernel's number for it. Valid as long as the socket is held.
  public let descriptor: CInt
  /// What it carries.
  public let kind: Kind

  /// What a socket carries.
  public enum Kind: Sendable, Hashable {
    /// Bytes, in order: SOCK_STREAM.
    case stream
    /// Messages, each whole or not at all: SOCK_DGRAM.
    case datagram

    var number: CInt {
      switch self {
      case .stream: CInt(SOCK_STREAM.rawValue)
      case .datagram: CInt(SOCK_DGRAM.rawValue)
      }
    }
  }

  /// Takes over an open descriptor. It becomes non-blocking, and closes on exec.
  ///
  /// - Throws: `.system` if it is no stream or datagram socket; it is then still the caller's.
  public init(owning descriptor: CInt) throws(SocketError) {
    let number = try check(.option, rondo_socket_option(descriptor, SOL_SOCKET, SO_TYPE))
    switch number {
    case Kind.stream.number: kind = .stream
    case Kind.datagram.number: kind = .datagram
    default: throw .system(.option, errno: ESOCKTNOSUPPORT)
    }
    try check(.option, rondo_set_nonblocking(descriptor))
    try check(.option, rondo_close_on_exec(descriptor))
    self.descriptor = descriptor
  }

  init(accepted descriptor: CInt, _ kind: Kind) {
    self.descriptor = descriptor
    self.kind = kind
  }

  deinit {
    _ = Glibc.close(descriptor)
  }
}

/// The result of a call, or the error that minus errno means.
@discardableResult
func check(
  _ call: SocketError.Call, _ result: CInt, at address: @autoclosure () -> SocketAddress? = nil
) throws(SocketError) -> CInt {
  if result < 0 { throw SocketError(call, result, at: address()) }
  return result
}

// MARK: - Making

extension Socket {
  /// A socket of a family (AF_INET and so on) that is neither bound nor connected. See socket(2).
  public convenience init(family: CInt, _ kind: Kind) throws(SocketError) {
    self.init(accepted: try check(.socket, rondo_socket(family, kind.number, 0)), kind)
  }

  /// A stream socket that listens at `address`.
  ///
  /// An internet address can be taken again at once after its last owner's end (SO_REUSEADDR). A file stays behind
  /// and has to be removed by its owner.
  ///
  /// - Parameters:
  ///   - backlog: How many connections may wait to be accepted. The kernel caps it: net.core.somaxconn.
  ///   - options: Set before it is bound. What it accepts has the same.
  public static func listening(
    at address: SocketAddress, backlog: Int = Socket.usualBacklog, options: [Option] = []
  ) throws(SocketError) -> Socket {
    let socket = try Socket(family: address.family, .stream)
    if address.port != nil { try socket.setOption(SOL_SOCKET, SO_REUSEADDR, 1) }
    for option in options { try socket.set(option) }
    try socket.bind(to: address)
    try socket.listen(backlog: backlog)
    return socket
  }

  /// A datagram socket bound to `address`.
  public static func datagram(at address: SocketAddress) throws(SocketError) -> Socket {
    let socket = try Socket(family: address.family, .datagram)
    try socket.bind(to: address)
    return socket
  }

  /// Two Unix-domain sockets connected to each other. See socketpair(2).
  public static func pair(_ kind: Kind = .stream) throws(SocketError) -> (Socket, Socket) {
    var ends: [CInt] = [0, 0]
    try check(.socket, unsafe rondo_socket_pair(kind.number, &ends))
    return (Socket(accepted: ends[0], kind), Socket(accepted: ends[1], kind))
  }

  /// Gives the socket its name. See bind(2).
  public func bind(to address: SocketAddress) throws(SocketError) {
    let bytes = address.socketBytes
    try check(.bind, unsafe rondo_bind(descriptor, bytes, UInt32(bytes.count)), at: address)
  }

  /// How many connections wait to be accepted where nobody says otherwise: net.core.somaxconn since Linux 5.4.
  ///
  /// Of a client that finds the queue full the kernel lets the handshake pass, drops what it sends, and breaks off later.
  public static let usualBacklog = 4_096

  /// Lets others connect. See listen(2).
  public func listen(backlog: Int = Socket.usualBacklog) throws(SocketError) {
    try check(.listen, rondo_listen(descriptor, CInt(clamping: backlog)), at: localAddress)
  }

  /// Begins to connect. See connect(2).
  ///
  /// - Returns: True if that is done already; false if the socket becomes writable when it is, or has failed.
  /// - Throws: What failed at once; `.busy` when a Unix-domain listener's queue is full and it may be tried again.
  public func connect(to address: SocketAddress) throws(SocketError) -> Bool {
    let bytes = address.socketBytes
    let result = unsafe rondo_connect(descriptor, bytes, UInt32(bytes.count))
    if result == -EINPROGRESS { return false }
    try check(.connect, result, at: address)
    return true
  }

  /// The next waiting connection; nil if none waits, or if the next has failed.
  ///
  /// The errors of the network that accept(2) lists are the connection's and not the listener's, and so is a firewall's
  /// EPERM: ask again when the listener is readable.
  ///
  /// - Throws: `.exhausted` if no descriptor is left, `.noMemory`; the connection goes on waiting.
  public func accept() throws(SocketError) -> (socket: Socket, peer: SocketAddress)? {
    var room = AddressRoom()
    let result = unsafe room.fill { unsafe rondo_accept(descriptor, $0, $1) }
    switch -result {
    case EAGAIN, ECONNABORTED, EPERM: return nil
    case ENETDOWN, EPROTO, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH: return nil
    default: break
    }
    let accepted = Socket(accepted: try check(.accept, result), kind)
    return (accepted, room.address ?? .unix(.unnamed))
  }
}

/// Room for an address that the kernel tells.
struct AddressRoom {
  private var bytes = [UInt8](repeating: 0, count: 128)
  private var length: UInt32 = 128

  /// Has `body` fill the room.
  mutating func fill<Result>(_ body: (UnsafeMutableRawPointer, UnsafeMutablePointer<UInt32>) -> Result) -> Result {
    length = 128
    return unsafe bytes.withUnsafeMutableBytes { unsafe body($0.baseAddress!, &length) }
  }

  /// The address told; nil if it is of no known family.
  var address: SocketAddress? {
    try? SocketAddress(socketBytes: Array(bytes.prefix(Int(length))))
  }
}
