internal import Rondo

/// The bounds of a server's clients.
///
/// The defaults suit a server that strangers reach.
public struct ServerLimits: Hashable, Sendable {
  /// The most connections at a time; others wait in the listener's queue.
  public var connections: Int
  /// The most connections of one client address; nil for any number.
  ///
  /// The server closes one beyond it when it accepts it. An IPv6 client has the 64 bits of its network. Clients behind
  /// one proxy share an address. Unix-domain clients have none, and no limit.
  public var connectionsPerAddress: Int?
  /// The longest time without a byte while a task waits; see ``Connection/idleLimit``.
  public var idle: Duration?
  /// The longest wait for a client's first byte, from its acceptance.
  ///
  /// Nil means no limit but ``idle``. The read then throws `.wait(.timedOut)`. Use nil if the server speaks and its clients may stay silent.
  public var firstByte: Duration?

  /// Makes limits. Each that you leave out has its default.
  public init(
    connections: Int = 10_000, connectionsPerAddress: Int? = nil, idle: Duration? = .seconds(60),
    firstByte: Duration? = nil
  ) {
    self.connections = connections
    self.connectionsPerAddress = connectionsPerAddress
    self.idle = idle
    self.firstByte = firstByte
  }

  /// No limits: the server is bounded by its descriptors alone.
  public static let none = ServerLimits(connections: .max, idle: nil)

  /// Ends the process if a server cannot have these.
  func check() {
    require(connections > 0, "A server has at least one connection at a time, not \(connections).")
    if let most = connectionsPerAddress {
      require(most > 0, "A server has at least one connection of an address, not \(most).")
    }
  }
}

/// What a server counts connections by.
enum ClientAddress: Hashable, Sendable {
  case ipv4(IPv4Address)
  /// The first 64 bits: a client may have all addresses of its network.
  case ipv6(network: UInt64)

  /// Nil for a Unix-domain address.
  init?(_ address: SocketAddress?) {
    switch address {
    case .ipv4(let address, port: _): self = .ipv4(address)
    case .ipv6(let address, port: _, scope: _):
      // ::ffff:0:0/96: a client of IPv4, at a listener of both families.
      let isMapped = address.high == 0 && address.low >> 32 == 0xFFFF
      self =
        isMapped ? .ipv4(IPv4Address(number: UInt32(truncatingIfNeeded: address.low))) : .ipv6(network: address.high)
    case .unix, nil: return nil
    }
  }
}
