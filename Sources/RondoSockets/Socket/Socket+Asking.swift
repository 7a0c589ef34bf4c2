import CLinux
import Glibc

extension Socket {
  /// The address the socket is bound to. See getsockname(2).
  public var localAddress: SocketAddress? {
    var room = AddressRoom()
    let result = unsafe room.fill { unsafe rondo_socket_name(descriptor, $0, $1) }
    return result == 0 ? room.address : nil
  }

  /// The address the socket is connected to; nil if it is not. See getpeername(2).
  public var peerAddress: SocketAddress? {
    var room = AddressRoom()
    let result = unsafe room.fill { unsafe rondo_socket_peer_name(descriptor, $0, $1) }
    return result == 0 ? room.address : nil
  }

  /// Who made the other end of a Unix-domain connection: the kernel's word, not the peer's. See unix(7), SO_PEERCRED.
  public var peerCredentials: PeerCredentials? {
    var raw = rondo_credentials()
    // Without a peer the kernel answers 0 for the process and -1 for the others.
    guard unsafe rondo_peer_credentials(descriptor, &raw) == 0, raw.user != .max else { return nil }
    return PeerCredentials(process: raw.process, user: raw.user, group: raw.group)
  }

  /// The socket's error since it was last asked for; nil if there is none. See socket(7), SO_ERROR.
  public func takeError(of call: SocketError.Call = .connect) -> SocketError? { takeError(of: call, at: nil) }

  /// The same where the caller knows what the call was about.
  func takeError(of call: SocketError.Call = .connect, at address: SocketAddress?) -> SocketError? {
    let error = rondo_socket_option(descriptor, SOL_SOCKET, SO_ERROR)
    return error == 0 ? nil : SocketError(call, error < 0 ? error : -error, at: address)
  }

  /// An option's value. See getsockopt(2).
  public func option(_ level: CInt, _ option: CInt) throws(SocketError) -> CInt {
    try check(.option, rondo_socket_option(descriptor, level, option))
  }

  /// Sets an option. See setsockopt(2).
  public func setOption(_ level: CInt, _ option: CInt, _ value: CInt) throws(SocketError) {
    try check(.option, rondo_set_socket_option(descriptor, level, option, value))
  }
}

/// Who is at the other end of a Unix-domain socket. As of the moment it connected or listened.
public struct PeerCredentials: Hashable, Sendable {
  public let process: CInt
  public let user: UInt32
  public let group: UInt32

  public init(process: CInt, user: UInt32, group: UInt32) {
    self.process = process
    self.user = user
    self.group = group
  }
}
