import Glibc

/// An IPv4 address.
public struct IPv4Address: Hashable, Sendable, CustomStringConvertible {
  /// The address as a number in host byte order: 127.0.0.1 is 0x7f000001.
  public let number: UInt32

  /// Makes an address from its number in host byte order.
  public init(number: UInt32) {
    self.number = number
  }

  /// Parses four decimal parts, as inet_pton(3) does; nil for any other text.
  public init?(_ text: String) {
    guard let bytes = InternetText.bytes(of: text, family: AF_INET, count: 4) else { return nil }
    self.init(bytes[...])
  }

  /// Four bytes in network order.
  package init(_ bytes: ArraySlice<UInt8>) {
    number = bytes.reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// The address in network order.
  package var bytes: [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * UInt32($0))) }
  }

  /// The address in four decimal parts: `127.0.0.1`.
  public var description: String {
    bytes.map(String.init).joined(separator: ".")
  }

  /// 127.0.0.1.
  public static let loopback = IPv4Address(number: 0x7f00_0001)
  /// 0.0.0.0, which means every interface.
  public static let any = IPv4Address(number: 0)
}

/// An IPv6 address.
public struct IPv6Address: Hashable, Sendable, CustomStringConvertible {
  /// The first and the last eight bytes, as numbers in host byte order.
  public let high, low: UInt64

  /// Makes an address from its two halves, in host byte order.
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Parses the forms of inet_pton(3); nil for any other text. A zone is no part of an address.
  public init?(_ text: String) {
    guard let bytes = InternetText.bytes(of: text, family: AF_INET6, count: 16) else { return nil }
    self.init(bytes[...])
  }

  /// Sixteen bytes in network order.
  init(_ bytes: ArraySlice<UInt8>) {
    high = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    low = bytes.dropFirst(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// The address in network order.
  package var bytes: [UInt8] {
    [high, low].flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> (56 - 8 * UInt64($0))) } }
  }

  /// The address in its shortest form, by RFC 5952.
  public var description: String {
    InternetText.text(of: bytes, family: AF_INET6)
  }

  /// ::1.
  public static let loopback = IPv6Address(high: 0, low: 1)
  /// ::, which means every interface.
  public static let any = IPv6Address(high: 0, low: 0)
}

/// inet_pton(3) and inet_ntop(3).
private enum InternetText {
  static func bytes(of text: String, family: CInt, count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    // The C string would end at a NUL.
    guard !text.utf8.contains(0), unsafe inet_pton(family, text, &bytes) == 1 else { return nil }
    return bytes
  }

  static func text(of bytes: [UInt8], family: CInt) -> String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    _ = unsafe inet_ntop(family, bytes, &text, socklen_t(text.count))
    return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
