/// Where a socket is. That is an IPv4 or IPv6 address with a port, or a Unix-domain name.
///
/// Text and value are interchangeable: `SocketAddress("[::1]:80").description` is `[::1]:80`.
public enum SocketAddress: Hashable, Sendable {
  case ipv4(IPv4Address, port: UInt16)
  /// `scope` is the interface's number for a link-local address, else 0.
  case ipv6(IPv6Address, port: UInt16, scope: UInt32 = 0)
  case unix(UnixAddress)

  /// The port; nil for a Unix-domain name.
  public var port: UInt16? {
    switch self {
    case .ipv4(_, let port), .ipv6(_, let port, _): port
    case .unix: nil
    }
  }

  /// 127.0.0.1 with a port; 0 lets the kernel choose one.
  public static func loopback(port: UInt16 = 0) -> SocketAddress {
    .ipv4(.loopback, port: port)
  }

  /// The name of a file.
  public static func file(_ path: String) throws(AddressError) -> SocketAddress {
    .unix(try UnixAddress(path: path))
  }

  /// A name in the abstract namespace.
  public static func abstract(_ name: String) throws(AddressError) -> SocketAddress {
    .unix(try UnixAddress(abstract: name))
  }
}

/// Why a text or a row of bytes is no socket address.
public enum AddressError: Error, Hashable, Sendable, CustomStringConvertible {
  /// There is nothing to read a name from.
  case empty
  /// No port follows the host.
  case noPort(String)
  /// The port is no number from 0 to 65535.
  case badPort(String)
  /// The host is no IPv4 address, and no IPv6 address in brackets. Host names are not looked up.
  case badHost(String)
  /// The name has more bytes than fit.
  case tooLong(String, limit: Int)
  /// A path cannot contain a zero byte.
  case containsZero(String)
  /// A `\x` is not followed by two hexadecimal digits.
  case badEscape(String)
  /// The bytes are no sockaddr of a known family, or too few.
  case badBytes(family: UInt16, count: Int)

  public var description: String {
    switch self {
    case .empty: "an empty name is no socket address"
    case .noPort(let text): "'\(text)' has no port"
    case .badPort(let text): "'\(text)' has no port from 0 to 65535"
    case .badHost(let text): "'\(text)' names no IPv4 address, and no IPv6 address in brackets"
    case .tooLong(let text, let limit): "'\(text)' has more than the \(limit) bytes that fit"
    case .containsZero(let text): "'\(text)' contains a zero byte, which no path can"
    case .badEscape(let text): "'\(text)' has a \\x without two hexadecimal digits"
    case .badBytes(let family, let count): "\(count) bytes of family \(family) are no socket address"
    }
  }
}
