import CLinux
import Glibc

extension Socket {
  /// The address the socket is bound to. See getsockname(2).
  public var localAddress: SocketAddress? {
    var room = AddressRoom()
    let result = unsafe room.fill { unsafe rondo_socket_name(descriptor, $0, $1) }
    return result == 0 ? room.address : nil
  }

  /// The address of the peer; nil if the socket is not connected. See getpeername(2).
  public var peerAddress: SocketAddress? {
    var room = AddressRoom()
    let result = unsafe room.fill { unsafe rondo_socket_peer_name(descriptor, $0, $1) }
    return result == 0 ? room.address : nil
  }

  /// The credentials of a Unix-domain peer, by the kernel. See unix(7), SO_PEERCRED.
  ///
  /// They belong to the process that connected, listened or made the pair. Nil for other sockets.
  public var peerCredentials: PeerCredentials? {
    var raw = rondo_credentials()
    // Without a peer the kernel answers 0 for the process and -1 for the others.
    guard unsafe rondo_peer_credentials(descriptor, &raw) == 0, raw.user != .max else { return nil }
    return PeerCredentials(process: raw.process, user: raw.user, group: raw.group)
  }

  /// Returns and clears the socket's pending error; nil for none. See socket(7), SO_ERROR.
  public func takeError(of call: SocketError.Call = .connect) -> SocketError? { takeError(of: call, at: nil) }

  /// The same for a call that concerned an address.
  func takeError(of call: SocketError.Call = .connect, at address: SocketAddress?) -> SocketError? {
    let error = rondo_socket_option(descriptor, SOL_SOCKET, SO_ERROR)
    return error == 0 ? nil : SocketError(call, error < 0 ? error : -error, at: address)
  }

  /// Returns the value of an option. See getsockopt(2).
  ///
  /// - Throws: `.system` if the socket has no such option.
  public func option(_ level: CInt, _ option: CInt) throws(SocketError) -> CInt {
    try check(.option, rondo_socket_option(descriptor, level, option))
  }

  /// Sets an option. See setsockopt(2).
  ///
  /// - Throws: `.notPermitted`, or `.system` if the socket has no such option, or not with this value.
  public func setOption(_ level: CInt, _ option: CInt, _ value: CInt) throws(SocketError) {
    try check(.option, rondo_set_socket_option(descriptor, level, option, value))
  }
}

/// The process at the other end of a Unix-domain socket, when it connected or listened.
public struct PeerCredentials: Hashable, Sendable {
  /// The process's number (PID).
  public let process: CInt
  /// The effective user's number (UID).
  public let user: UInt32
  /// The effective group's number (GID).
  public let group: UInt32

  /// Makes credentials from a process's, a user's and a group's number.
  package init(process: CInt, user: UInt32, group: UInt32) {
    self.process = process
    self.user = user
    self.group = group
  }
}
