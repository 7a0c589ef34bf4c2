internal import Glibc

/// An address of a socket, as the simulated network looks it up.
enum NetworkAddress: Hashable {
  /// Four or sixteen bytes, in the order of the network.
  case internet([UInt8], port: UInt16)
  /// The path of a file, or an abstract name, which begins with 0.
  case path([UInt8])
  case unnamed

  /// Reads what bind(2) and connect(2) are given; nil for a family that is not simulated.
  @unsafe init?(_ address: UnsafeRawPointer?, _ length: Int) {
    guard let address = unsafe address, length >= 2 else { return nil }
    let bytes = unsafe [UInt8](UnsafeRawBufferPointer(start: address, count: length))
    switch CInt(bytes[0]) | CInt(bytes[1]) << 8 {
    case AF_INET where length >= 16: self = .internet(Array(bytes[4..<8]), port: Self.port(bytes))
    case AF_INET6 where length >= 28: self = .internet(Array(bytes[8..<24]), port: Self.port(bytes))
    case AF_UNIX where length == 2: self = .unnamed
    case AF_UNIX:
      let name = bytes[2...]
      self = .path(name.first == 0 ? Array(name) : Array(name.prefix { $0 != 0 }))
    default: return nil
    }
  }

  private static func port(_ bytes: [UInt8]) -> UInt16 { UInt16(bytes[2]) << 8 | UInt16(bytes[3]) }

  /// As the kernel writes it.
  var socketBytes: [UInt8] {
    switch self {
    case .internet(let ip, let port):
      let head = Self.family(ip.count == 4 ? AF_INET : AF_INET6) + [UInt8(port >> 8), UInt8(port & 255)]
      return ip.count == 4 ? head + ip + Self.zeros(8) : head + Self.zeros(4) + ip + Self.zeros(4)
    case .path(let name): return Self.family(AF_UNIX) + name + (name.first == 0 ? [] : [0])
    case .unnamed: return Self.family(AF_UNIX)
    }
  }

  private static func family(_ number: CInt) -> [UInt8] { [UInt8(number & 255), UInt8(number >> 8)] }
  private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

  /// Writes the address where getsockname(2), accept(2) and recvfrom(2) are told to; nothing without a place.
  @unsafe func write(to address: Int, length: Int) {
    guard let place = unsafe UnsafeMutableRawPointer(bitPattern: address),
      let length = unsafe UnsafeMutablePointer<UInt32>(bitPattern: length)
    else { return }
    let bytes = socketBytes
    unsafe place.copyMemory(from: bytes, byteCount: min(bytes.count, Int(length.pointee)))
    unsafe length.pointee = UInt32(bytes.count)
  }

  /// The bytes of an address of IPv4 or IPv6 in text; nil if it is none.
  static func parse(_ text: String) -> [UInt8]? {
    for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
      var bytes = zeros(count)
      if unsafe inet_pton(family, text, &bytes) == 1 { return bytes }
    }
    return nil
  }

  /// Whether the bytes stand for every address of a host.
  static func isWildcard(_ ip: [UInt8]) -> Bool { ip.allSatisfy { $0 == 0 } }

  /// Whether the bytes stand for the host that uses them.
  static func isLoopback(_ ip: [UInt8]) -> Bool {
    ip.count == 4 ? ip[0] == 127 : ip.last == 1 && ip.dropLast().allSatisfy { $0 == 0 }
  }
}
