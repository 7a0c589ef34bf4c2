import CLinux
import Glibc

/// An open socket, closed on exec and when its last reference is released. Any thread.
///
/// Its descriptor is non-blocking. No method blocks but `send(_:timeout:)` and `connect(to:timeout:)`. While you keep a
/// reference, the descriptor's number cannot refer to another file.
public final class Socket: Sendable {
  /// The descriptor's number. Valid while you keep the socket.
  public let descriptor: CInt
  /// The kind of data.
  public let kind: Kind

  /// The kind of data that a socket carries.
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

  /// Takes ownership of an open descriptor. The descriptor becomes non-blocking, and closes on exec.
  ///
  /// - Throws: `.system` if it is no stream or datagram socket; you then still own it.
  public init(owning descriptor: CInt) throws(SocketError) {
    let number = try check(.option, rondo_socket_option(descriptor, SOL_SOCKET, SO_TYPE))
    switch number {
    case Kind.stream.number: kind = .stream
    case Kind.datagram.number: kind = .datagram
    default: throw .system(.option, errno: ESOCKTNOSUPPORT)
    }
    try StreamCalls.prepare(descriptor)
    self.descriptor = descriptor
  }

  init(accepted descriptor: CInt, _ kind: Kind) {
    self.descriptor = descriptor
    self.kind = kind
  }

  deinit {
    rondo_close(descriptor)
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
  /// Makes a socket of a family (AF_INET and others), neither bound nor connected. See socket(2).
  ///
  /// An internet stream sends small pieces immediately, and so do the streams that it accepts: `Option.noDelay`.
  ///
  /// - Throws: `.exhausted` if no descriptor is left, `.noMemory`, `.system` for an unknown family.
  public convenience init(family: CInt, _ kind: Kind) throws(SocketError) {
    self.init(accepted: try check(.socket, rondo_socket(family, kind.number, 0)), kind)
    // A kernel that refuses delays small pieces, and the stream works.
    if kind == .stream, family == AF_INET || family == AF_INET6 { try? set(.noDelay) }
  }

  /// Makes a stream socket that listens at `address`.
  ///
  /// An internet address is free immediately after its last listener has closed (SO_REUSEADDR). A socket's file stays
  /// in the file system: remove it yourself.
  ///
  /// - Parameters:
  ///   - backlog: How many connections may wait to be accepted. The kernel caps it: net.core.somaxconn.
  ///   - options: Set before it is bound. Accepted sockets inherit them.
  /// - Throws: `.addressInUse`, `.notPermitted`, `.notFound` for a missing directory, `.exhausted`, and other errors of
  ///   socket(2), bind(2) and listen(2).
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

  /// Makes a datagram socket bound to `address`.
  ///
  /// - Throws: `.addressInUse`, `.notPermitted`, `.notFound` for a missing directory, `.exhausted`, and other errors of
  ///   socket(2) and bind(2).
  public static func datagram(at address: SocketAddress) throws(SocketError) -> Socket {
    let socket = try Socket(family: address.family, .datagram)
    try socket.bind(to: address)
    return socket
  }

  /// Makes two Unix-domain sockets connected to each other. See socketpair(2).
  ///
  /// - Throws: `.exhausted` if no descriptor is left, `.noMemory`.
  public static func pair(_ kind: Kind = .stream) throws(SocketError) -> (Socket, Socket) {
    var ends: [CInt] = [0, 0]
    try check(.socket, unsafe rondo_socket_pair(kind.number, &ends))
    return (Socket(accepted: ends[0], kind), Socket(accepted: ends[1], kind))
  }

  /// Binds the socket to an address. See bind(2).
  ///
  /// - Throws: `.addressInUse`, `.notPermitted`, `.notFound` for a missing directory, and other errors of bind(2).
  public func bind(to address: SocketAddress) throws(SocketError) {
    let bytes = address.socketBytes
    try check(.bind, unsafe rondo_bind(descriptor, bytes, UInt32(bytes.count)), at: address)
  }

  /// The default number of connections that may wait to be accepted: net.core.somaxconn since Linux 5.4.
  ///
  /// If the queue is full, the kernel completes a client's handshake, drops its data, and ends the connection later.
  @usableFromInline package static let usualBacklog = 4_096

  /// Starts to accept connections into a queue. See listen(2).
  ///
  /// - Throws: `.addressInUse`, and other errors of listen(2).
  public func listen(backlog: Int = Socket.usualBacklog) throws(SocketError) {
    try check(.listen, rondo_listen(descriptor, CInt(clamping: backlog)), at: localAddress)
  }

  /// Begins to connect. See connect(2).
  ///
  /// - Returns: True if the socket is connected; false if it becomes writable when it is connected or has failed.
  /// - Throws: `.refused` and other immediate errors; `.busy` if the queue of a Unix-domain listener is full and you
  ///   may try again.
  public func connect(to address: SocketAddress) throws(SocketError) -> Bool {
    let bytes = address.socketBytes
    let result = unsafe rondo_connect(descriptor, bytes, UInt32(bytes.count))
    if result == -EINPROGRESS { return false }
    try check(.connect, result, at: address)
    return true
  }

  /// How far an attempt to connect is.
  enum Connecting {
    case connected
    /// The socket becomes writable when it is connected or has failed.
    case underWay
    /// A Unix-domain listener's queue is full: try again, by `Backoff.connecting`.
    case busy
  }

  /// Begins to connect, for those that try again.
  func tryToConnect(to address: SocketAddress) throws(SocketError) -> Connecting {
    do {
      return try connect(to: address) ? .connected : .underWay
    } catch SocketError.busy {
      return .busy
    } catch {
      throw error
    }
  }

  /// Accepts the next waiting connection; nil if none waits.
  ///
  /// A connection that failed in the queue is left out, as the network errors of accept(2) and a firewall's EPERM say
  /// of one. When it is nil, call again once the listener is readable.
  ///
  /// - Throws: `.exhausted` if no descriptor is left, `.noMemory`: the connection stays in the queue. The error of the
  ///   last connection if 17 in a row have failed; others may wait. `.system` with EBADF, EINVAL, ENOTSOCK, EFAULT, or
  ///   EOPNOTSUPP of a datagram socket, if the socket accepts none, now and later.
  public func accept() throws(SocketError) -> (socket: Socket, peer: SocketAddress)? {
    var patience = AcceptPatience()
    while true {
      switch try acceptNext() {
      case .connection(let socket, let peer): return (socket, peer)
      case .failed(let error): if patience.pauseAfterFailure() != nil { throw error }
      case .nothing: return nil
      }
    }
  }

  /// What accept(2) found.
  package enum Accepted {
    case connection(Socket, from: SocketAddress)
    /// A connection that has failed, or a call that was refused. Others may wait.
    case failed(SocketError)
    case nothing
  }

  /// Accepts the next waiting connection.
  ///
  /// - Throws: A shortage (`isShortage`), or an error of the listener, which accepts no more.
  package func acceptNext() throws(SocketError) -> Accepted {
    var room = AddressRoom()
    let result = unsafe room.fill { unsafe rondo_accept(descriptor, $0, $1) }
    if result >= 0 { return .connection(Socket(accepted: result, kind), from: room.address ?? .unix(.unnamed)) }
    let error = SocketError(.accept, result)
    switch -result {
    case EAGAIN: return .nothing
    case EBADF, EINVAL, ENOTSOCK, EFAULT: throw error
    // Of a stream's listener it is an error of the connection: accept(2).
    case EOPNOTSUPP where kind == .datagram: throw error
    default:
      if error.isShortage { throw error }
      return .failed(error)
    }
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
