/// The address of a socket: IPv4 or IPv6 with a port, or a Unix-domain name.
///
/// Text and value are interchangeable: `SocketAddress("[::1]:80").description` is `[::1]:80`.
public enum SocketAddress: Hashable, Sendable {
  /// An IPv4 address with a port.
  case ipv4(IPv4Address, port: UInt16)
  /// An IPv6 address with a port. `scope` is the interface's number for a link-local address, else 0.
  case ipv6(IPv6Address, port: UInt16, scope: UInt32 = 0)
  /// A Unix-domain name.
  case unix(UnixAddress)

  /// The port; nil for a Unix-domain name.
  public var port: UInt16? {
    switch self {
    case .ipv4(_, let port), .ipv6(_, let port, _): port
    case .unix: nil
    }
  }

  /// 127.0.0.1 with a port. With 0, the kernel chooses a free one.
  public static func loopback(port: UInt16 = 0) -> SocketAddress {
    .ipv4(.loopback, port: port)
  }

  /// Makes the address of a socket in the file system. See `UnixAddress.init(path:)`.
  ///
  /// - Throws: `.empty`, `.tooLong`, or `.containsZero`.
  public static func file(_ path: String) throws(AddressError) -> SocketAddress {
    .unix(try UnixAddress(path: path))
  }

  /// Makes the address of a socket in the abstract namespace.
  ///
  /// - Throws: `.empty` or `.tooLong`.
  public static func abstract(_ name: String) throws(AddressError) -> SocketAddress {
    .unix(try UnixAddress(abstract: name))
  }
}

/// Why a text or bytes are no socket address.
public enum AddressError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The text or the name is empty.
  case empty
  /// No port follows the host.
  case noPort(String)
  /// The port is not a number from 0 to 65535.
  case badPort(String)
  /// The host is neither an IPv4 address nor an IPv6 address in brackets. Host names are not looked up.
  case badHost(String)
  /// The scope of an IPv6 address is no number and no interface's name.
  case noInterface(String)
  /// The name has more bytes than `limit`.
  case tooLong(String, limit: Int)
  /// A path contains a zero byte.
  case containsZero(String)
  /// A `\x` is not followed by two hexadecimal digits.
  case badEscape(String)
  /// The bytes are no sockaddr of a known family, or too few.
  case badBytes(family: UInt16, count: Int)

  /// A sentence with the cause.
  public var description: String {
    switch self {
    case .empty: "an empty name is no socket address"
    case .noPort(let text): "'\(text)' has no port"
    case .badPort(let text): "'\(text)' has no port from 0 to 65535"
    case .badHost(let text): "'\(text)' names no IPv4 address, and no IPv6 address in brackets"
    case .noInterface(let text): "'\(text)' has a scope behind its % that is no number, and no interface's name"
    case .tooLong(let text, let limit): "'\(text)' has more than the \(limit) bytes that fit"
    case .containsZero(let text): "'\(text)' contains a zero byte, which no path can"
    case .badEscape(let text): "'\(text)' has a \\x without two hexadecimal digits"
    case .badBytes(let family, let count): "\(count) bytes of family \(family) are no socket address"
    }
  }
}
