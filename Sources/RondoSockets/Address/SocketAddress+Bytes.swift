import Glibc

/// An address as the kernel reads and writes it: struct sockaddr_in, sockaddr_in6 or sockaddr_un.
extension SocketAddress {
  /// The bytes of the matching sockaddr, without padding.
  public var socketBytes: [UInt8] {
    switch self {
    case .ipv4(let address, let port):
      Self.native(UInt16(AF_INET)) + Self.network(port) + address.bytes + [UInt8](repeating: 0, count: 8)
    case .ipv6(let address, let port, let scope):
      Self.native(UInt16(AF_INET6)) + Self.network(port) + [0, 0, 0, 0] + address.bytes + Self.native(scope)
    case .unix(let address):
      switch address.place {
      case .unnamed: Self.native(UInt16(AF_UNIX))
      // A path of the kernel's may fill sun_path to its last byte, without a zero.
      case .file: Self.native(UInt16(AF_UNIX)) + address.bytes + (address.bytes.count < 108 ? [0] : [])
      case .abstract: Self.native(UInt16(AF_UNIX)) + [0] + address.bytes
      }
    }
  }

  /// Makes an address from the bytes of a sockaddr.
  ///
  /// Bytes beyond the family's size are an error, except for the padding of a path.
  ///
  /// - Throws: `.badBytes` for an unknown family or a wrong length.
  public init(socketBytes bytes: [UInt8]) throws(AddressError) {
    guard bytes.count >= 2 else { throw .badBytes(family: 0, count: bytes.count) }
    let family = Self.native(bytes[0..<2], as: UInt16.self)
    switch (CInt(family), bytes.count) {
    case (AF_INET, 16):
      self = .ipv4(IPv4Address(bytes[4..<8]), port: Self.network(bytes[2..<4]))
    case (AF_INET6, 28):
      let scope = Self.native(bytes[24..<28], as: UInt32.self)
      self = .ipv6(IPv6Address(bytes[8..<24]), port: Self.network(bytes[2..<4]), scope: scope)
    // The kernel counts a zero behind a path that fills sun_path.
    case (AF_UNIX, ...110),
      (AF_UNIX, 111) where bytes.last == 0:
      let name = bytes[2...]
      if name.isEmpty || name == [0] {
        self = .unix(.unnamed)
      } else if name.first == 0 {
        self = .unix(UnixAddress(unchecked: .abstract, Array(name.dropFirst())))
      } else {
        self = .unix(UnixAddress(unchecked: .file, Array(name.prefix { $0 != 0 })))
      }
    default:
      throw .badBytes(family: family, count: bytes.count)
    }
  }

  /// The kernel's number for the address family.
  public var family: CInt {
    switch self {
    case .ipv4: AF_INET
    case .ipv6: AF_INET6
    case .unix: AF_UNIX
    }
  }

  private static func native<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    (0..<Number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number.littleEndian >> Number(8 * $0)) }
  }

  private static func native<Number: FixedWidthInteger>(_ bytes: ArraySlice<UInt8>, as: Number.Type) -> Number {
    let value = bytes.reversed().reduce(0) { $0 << 8 | Number($1) }
    return Number(littleEndian: value)
  }

  private static func network(_ port: UInt16) -> [UInt8] {
    [UInt8(port >> 8), UInt8(truncatingIfNeeded: port)]
  }

  private static func network(_ bytes: ArraySlice<UInt8>) -> UInt16 {
    bytes.reduce(0) { $0 << 8 | UInt16($1) }
  }
}
