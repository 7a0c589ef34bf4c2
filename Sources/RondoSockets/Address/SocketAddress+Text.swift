import Glibc

extension SocketAddress: CustomStringConvertible, LosslessStringConvertible {
  /// The address as text: `127.0.0.1:80`, `[::1]:80`, `[fe80::1%2]:80`, `/path`, `unix:path`, `@abstract`, `unix:`.
  public var description: String {
    switch self {
    case .ipv4(let address, let port): "\(address):\(port)"
    case .ipv6(let address, let port, 0): "[\(address)]:\(port)"
    case .ipv6(let address, let port, let scope): "[\(address)%\(scope)]:\(port)"
    case .unix(let address): "\(address)"
    }
  }

  /// Parses the forms of `description`; nil for any other text.
  public init?(_ description: String) {
    guard let address = try? SocketAddress(parsing: description) else { return nil }
    self = address
  }

  /// Parses the forms of `description`, and the name of an interface as a scope: `[fe80::1%eth0]:80`.
  ///
  /// It does not look up host names.
  ///
  /// - Throws: The first error in the text.
  public init(parsing text: String) throws(AddressError) {
    if text.isEmpty { throw .empty }
    if text == "unix:" {
      self = .unix(.unnamed)
    } else if text.hasPrefix("unix:") {
      self = .unix(try Self.unixAddress(.file, text.dropFirst(5), text))
    } else if text.hasPrefix("/") {
      self = .unix(try Self.unixAddress(.file, text[...], text))
    } else if text.hasPrefix("@") {
      self = .unix(try Self.unixAddress(.abstract, text.dropFirst(), text))
    } else {
      self = try Self.internetAddress(text)
    }
  }

  private static func unixAddress(
    _ place: UnixAddress.Place, _ name: Substring, _ text: String
  ) throws(AddressError) -> UnixAddress {
    guard let bytes = UnixAddress.unescape(name) else { throw .badEscape(text) }
    if place == .file, bytes.contains(0) { throw .containsZero(text) }
    return try UnixAddress(place, bytes, text: text)
  }

  private static func internetAddress(_ text: String) throws(AddressError) -> SocketAddress {
    guard let colon = text.lastIndex(of: ":"), !text.hasSuffix("]") else { throw .noPort(text) }
    let host = text[..<colon]
    let digits = text[text.index(after: colon)...]
    guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }), let port = UInt16(digits) else {
      throw .badPort(text)
    }
    if host.hasPrefix("[") && host.hasSuffix("]") {
      let parts = host.dropFirst().dropLast().split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
      guard let first = parts.first, let address = IPv6Address(String(first)) else { throw .badHost(text) }
      guard parts.count == 2 else { return .ipv6(address, port: port) }
      if parts[1].isEmpty { throw .badHost(text) }
      return .ipv6(address, port: port, scope: try scope(parts[1], text))
    }
    guard let address = IPv4Address(String(host)) else { throw .badHost(text) }
    return .ipv4(address, port: port)
  }

  /// The number of an interface, given as it is or by name: if_nametoindex(3).
  private static func scope(_ name: Substring, _ text: String) throws(AddressError) -> UInt32 {
    if name.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }), let number = UInt32(name) { return number }
    let number = name.utf8.contains(0) ? 0 : unsafe if_nametoindex(String(name))
    guard number > 0 else { throw .noInterface(text) }
    return number
  }
}
