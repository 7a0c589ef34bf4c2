import Glibc

/// An address as the kernel reads and writes it: struct sockaddr_in, sockaddr_in6 or sockaddr_un.
extension SocketAddress {
  /// The bytes of the matching sockaddr, without padding.
  package var socketBytes: [UInt8] {
    switch self {
    case .ipv4(let address, let port):
      Self.native(UInt16(AF_INET)) + Self.network(port) + address.bytes + [UInt8](repeating: 0, count: 8)
    case .ipv6(let address, let port, let scope):
      Self.native(UInt16(AF_INET6)) + Self.network(port) + [0, 0, 0, 0] + address.bytes + Self.native(scope)
    case .unix(let address):
      switch address.place {
      case .unnamed: Self.native(UInt16(AF_UNIX))
      // A path may fill sun_path to its last byte, and then no zero follows.
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
  package init(socketBytes bytes: [UInt8]) throws(AddressError) {
    try unsafe self.init(bytes.span.bytes)
  }

  /// Makes an address from the bytes of a sockaddr, where they lie.
  init(_ bytes: RawSpan) throws(AddressError) {
    let count = bytes.byteCount
    guard count >= 2 else { throw .badBytes(family: 0, count: count) }
    let family = bytes.load(0, as: UInt16.self)
    switch (CInt(family), count) {
    case (AF_INET, 16):
      self = .ipv4(
        IPv4Address(number: UInt32(bigEndian: bytes.load(4))), port: UInt16(bigEndian: bytes.load(2)))
    case (AF_INET6, 28):
      let address = IPv6Address(high: UInt64(bigEndian: bytes.load(8)), low: UInt64(bigEndian: bytes.load(16)))
      self = .ipv6(address, port: UInt16(bigEndian: bytes.load(2)), scope: bytes.load(24))
    case (AF_UNIX, ...111):
      // The kernel tells of a path that fills sun_path with a zero behind it.
      guard count < 111 || bytes.load(2, as: UInt8.self) != 0 && bytes.load(110, as: UInt8.self) == 0 else {
        throw .badBytes(family: family, count: count)
      }
      let name = unsafe bytes.withUnsafeBytes { unsafe [UInt8]($0.dropFirst(2)) }
      if name.isEmpty || name == [0] {
        self = .unix(.unnamed)
      } else if name.first == 0 {
        self = .unix(UnixAddress(unchecked: .abstract, Array(name.dropFirst())))
      } else {
        self = .unix(UnixAddress(unchecked: .file, Array(name.prefix { $0 != 0 })))
      }
    default:
      throw .badBytes(family: family, count: count)
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

  private static func network(_ port: UInt16) -> [UInt8] {
    [UInt8(port >> 8), UInt8(truncatingIfNeeded: port)]
  }
}

extension RawSpan {
  /// A number at an offset, which may have any alignment.
  fileprivate func load<Number: FixedWidthInteger & BitwiseCopyable>(
    _ offset: Int, as: Number.Type = Number.self
  ) -> Number {
    unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: Number.self)
  }
}
