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

  /// Reads a signature that came in a message.
  ///
  /// - Parameter peer: Where the message came from: the host of an internet address is the one it was sent from, since
  ///   a port on every interface does not know its own.
  init?(_ wire: SocketPortFrame.Signature, from peer: SocketAddress?) {
    let bytes = wire.address
    var address: SocketAddress?
    if bytes.count == 16, bytes[0] == 16, bytes[1] == Darwin.inet {
      address = try? SocketAddress(socketBytes: Self.native(AF_INET) + bytes[2...])
    } else if bytes.count == 28, bytes[0] == 28, bytes[1] == Darwin.inet6 || bytes[1] == UInt8(AF_INET6) {
      address = try? SocketAddress(socketBytes: Self.native(AF_INET6) + bytes[2...])
    } else {
      address = try? SocketAddress(socketBytes: bytes)
    }
    guard var found = address else { return nil }
    switch (found, peer) {
    case (.ipv4(_, let port), .ipv4(let host, _)): found = .ipv4(host, port: port)
    case (.ipv6(_, let port, _), .ipv6(let host, _, let scope)): found = .ipv6(host, port: port, scope: scope)
    default: break
    }
    self.init(Int32(wire.family), Int32(wire.type), Int32(wire.transport), found)
  }

  /// The two bytes a sockaddr begins with here.
  private static func native(_ family: Int32) -> [UInt8] {
    Array((family == AF_INET6 ? SocketAddress.ipv6(.any, port: 0) : .loopback()).socketBytes.prefix(2))
  }
}
