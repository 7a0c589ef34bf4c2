import Glibc
import RondoPorts
import RondoSockets

/// What a socket port is reached by.
struct SocketPortSignature: Hashable, Sendable {
  let family: Int32
  let type: Int32
  let transport: Int32
  /// The bytes of a sockaddr.
  let address: [UInt8]

  init(_ family: Int32, _ type: Int32, _ transport: Int32, _ address: SocketAddress) {
    self.init(family, type, transport, raw: address.socketBytes)
  }

  init(_ family: Int32, _ type: Int32, _ transport: Int32, raw address: [UInt8]) {
    self.family = family
    self.type = type
    self.transport = transport
    self.address = address
  }

  /// The address, if it is one that a message can be sent to.
  var destination: SocketAddress? {
    try? SocketAddress(socketBytes: address)
  }

  var isStream: Bool { type == CInt(SOCK_STREAM.rawValue) }

  // MARK: - As messages carry it

  /// Darwin's numbers for the internet families; its sockaddr has one byte for its length and one for the family.
  private enum Darwin {
    static let inet: UInt8 = 2
    static let inet6: UInt8 = 30
  }

  /// The signature as messages carry it; nil if its numbers do not fit.
  var wire: SocketPortFrame.Signature? {
    guard let family = UInt8(exactly: family), let type = UInt8(exactly: type),
      let transport = UInt8(exactly: transport), let destination
    else { return nil }
    let rest = Array(address.dropFirst(2))
    let bytes: [UInt8] =
      switch destination {
      case .ipv4: [16, Darwin.inet] + rest
      case .ipv6: [28, Darwin.inet6] + rest
      case .unix: address
      }
    return SocketPortFrame.Signature(family: family, type: type, transport: transport, address: bytes)
  }

  /// The sender of a message; nil if it is of another family than the peer.
  ///
  /// The host is the peer's, since a port on every interface does not know its own. So who answers a sender connects to
  /// the host that the message came from, and a stranger in the network to no socket in the file system.
  ///
  /// - Parameter peer: Where the message came from; nil for a local socket without a name.
  init?(sender wire: SocketPortFrame.Signature, from peer: SocketAddress?) {
    guard let claimed = Self.address(in: wire) else { return nil }
    let found: SocketAddress
    switch (claimed, peer) {
    case (.ipv4(_, let port), .ipv4(let host, _)): found = .ipv4(host, port: port)
    case (.ipv4(_, let port), .ipv6(let host, _, _)):
      // An IPv6 socket sees who comes by IPv4 as ::ffff:a.b.c.d.
      guard host.bytes.starts(with: Self.mapped) else { return nil }
      found = .ipv4(IPv4Address(host.bytes[12...]), port: port)
    case (.ipv6(_, let port, _), .ipv6(let host, _, let scope)): found = .ipv6(host, port: port, scope: scope)
    case (.unix, .unix), (.unix, nil): found = claimed
    default: return nil
    }
    self.init(Int32(wire.family), Int32(wire.type), Int32(wire.transport), found)
  }

  /// What an IPv4 address as an IPv6 address begins with: RFC 4291, 2.5.5.2.
  private static let mapped = [UInt8](repeating: 0, count: 10) + [255, 255]

  /// A port that a message brings, on any host; nil if it is no address, or a local one that came from the network.
  init?(component wire: SocketPortFrame.Signature, from peer: SocketAddress?) {
    guard let found = Self.address(in: wire) else { return nil }
    if case .unix = found {
      guard peer?.port == nil else { return nil }
    }
    self.init(Int32(wire.family), Int32(wire.type), Int32(wire.transport), found)
  }

  private static func address(in wire: SocketPortFrame.Signature) -> SocketAddress? {
    let bytes = wire.address
    if bytes.count == 16, bytes[0] == 16, bytes[1] == Darwin.inet {
      return try? SocketAddress(socketBytes: native(AF_INET) + bytes[2...])
    }
    if bytes.count == 28, bytes[0] == 28, bytes[1] == Darwin.inet6 || bytes[1] == UInt8(AF_INET6) {
      return try? SocketAddress(socketBytes: native(AF_INET6) + bytes[2...])
    }
    return try? SocketAddress(socketBytes: bytes)
  }

  /// The two bytes a sockaddr begins with here.
  private static func native(_ family: Int32) -> [UInt8] {
    Array((family == AF_INET6 ? SocketAddress.ipv6(.any, port: 0) : .loopback()).socketBytes.prefix(2))
  }
}
