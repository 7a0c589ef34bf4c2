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
  /// Nil means no limit but ``idle``. The read then throws `.wait(.timedOut)`. Use nil if the server speaks and its clients may
  /// stay silent.
  public var firstByte: Duration?
  /// The most bytes of a request's head. HTTP answers a client beyond it with 431, or 414 within the first line.
  ///
  /// It is as well the limit of extensions between the chunks of a body, beside a few bytes for each of its own.
  public var headBytes: Int
  /// The longest time from a request's first byte to its head's end; nil for any. HTTP answers with 408.
  public var headTime: Duration?
  /// The most bytes of a request's body; a handler can choose another limit. HTTP answers with 413.
  public var bodyBytes: Int
  /// The longest time from the first wait for a body to its end. Nil for any. HTTP answers with 408.
  public var bodyTime: Duration?
  /// The most bytes that the server passes over of a body without a reader.
  ///
  /// Then the connection serves the next request. Beyond it, the connection ends after the response.
  public var unreadBytes: Int
  /// The most requests of one connection; nil for any number. The connection ends after the last response.
  ///
  /// That response of HTTP has the field `Connection: close`.
  public var requests: Int?

  /// Makes limits. Each that you leave out has its default.
  ///
  /// Those from `headBytes` on are for servers of requests, such as RondoHTTP.
  public init(
    connections: Int = 10_000, connectionsPerAddress: Int? = nil, idle: Duration? = .seconds(60),
    firstByte: Duration? = nil, headBytes: Int = 16_384, headTime: Duration? = .seconds(10),
    bodyBytes: Int = 1_048_576, bodyTime: Duration? = .seconds(60), unreadBytes: Int = 65_536, requests: Int? = nil
  ) {
    self.connections = connections
    self.connectionsPerAddress = connectionsPerAddress
    self.idle = idle
    self.firstByte = firstByte
    self.headBytes = headBytes
    self.headTime = headTime
    self.bodyBytes = bodyBytes
    self.bodyTime = bodyTime
    self.unreadBytes = unreadBytes
    self.requests = requests
  }

  /// No limits of connections, requests and time: the server is bounded by its descriptors alone.
  ///
  /// The limits of bytes have their defaults. They bound the memory that a client takes by its descriptor.
  public static let none = ServerLimits(connections: .max, idle: nil, headTime: nil, bodyTime: nil)

  /// Ends the process if a server cannot have these.
  func check() {
    require(connections > 0, "A server has at least one connection at a time, not \(connections).")
    if let most = connectionsPerAddress {
      require(most > 0, "A server has at least one connection of an address, not \(most).")
    }
    require(headBytes > 0, "headBytes: the head of a request has at least one byte, not \(headBytes).")
    require(bodyBytes >= 0, "bodyBytes: the body of a request has no bytes or more, not \(bodyBytes).")
    require(unreadBytes >= 0, "unreadBytes: a server passes over no bytes or more, not \(unreadBytes).")
    if let requests { require(requests > 0, "A connection has at least one request, not \(requests).") }
    let times = [("idle", idle), ("firstByte", firstByte), ("headTime", headTime), ("bodyTime", bodyTime)]
    for case (let name, let time?) in times {
      require(time > .zero, "\(name): a client has more time than \(time). Use nil for no limit.")
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
