internal import Rondo

/// A message as Foundation's SocketPort sends it, so that both kinds of process understand each other.
///
/// Numbers are big-endian: magic number, length of the whole, message identifier, the signature of the port to answer
/// to, and components, each a type, a length and its bytes.
package struct SocketPortFrame: Hashable, Sendable {
  package var identifier: UInt32
  package var sender: Signature
  package var components: [Component]

  package enum Component: Hashable, Sendable {
    case data([UInt8])
    case port(Signature)
  }

  /// What a port is reached by: the numbers of socket(2), and an address laid out as Darwin's sockaddr.
  package struct Signature: Hashable, Sendable {
    package var family: UInt8
    package var type: UInt8
    package var transport: UInt8
    package var address: [UInt8]

    /// - Parameter address: 255 bytes at most.
    package init(family: UInt8, type: UInt8, transport: UInt8, address: [UInt8]) {
      require(address.count <= 255, "A signature has room for an address of 255 bytes.")
      self.family = family
      self.type = type
      self.transport = transport
      self.address = address
    }

    var encoded: [UInt8] { [family, type, transport, UInt8(address.count)] + address }

    /// Takes a signature off the front.
    init?(_ bytes: inout ArraySlice<UInt8>) {
      guard bytes.count >= 4 else { return nil }
      let header = Array(bytes.prefix(4))
      guard bytes.count >= 4 + Int(header[3]) else { return nil }
      self.init(
        family: header[0], type: header[1], transport: header[2],
        address: Array(bytes.dropFirst(4).prefix(Int(header[3]))))
      bytes = bytes.dropFirst(4 + address.count)
    }
  }

  package init(identifier: UInt32, sender: Signature, components: [Component]) {
    self.identifier = identifier
    self.sender = sender
    self.components = components
  }

  /// The frame's bytes, or nil if they are more than their length can state, or the components more than are accepted.
  package var encoded: [UInt8]? {
    if components.count > Self.mostComponents { return nil }
    var body = sender.encoded
    for component in components {
      let (type, bytes) =
        switch component {
        case .data(let bytes): (Self.dataType, bytes)
        case .port(let signature): (Self.portType, signature.encoded)
        }
      guard let length = UInt32(exactly: bytes.count) else { return nil }
      body += Self.big(type) + Self.big(length) + bytes
    }
    guard let length = UInt32(exactly: Self.headerLength + body.count) else { return nil }
    return Self.big(Self.magic) + Self.big(length) + Self.big(identifier) + body
  }

  static let magic: UInt32 = 0xD0CF_50C0
  /// Magic number, length and identifier.
  static let headerLength = 12
  /// The most components a message may have. Chosen.
  package static let mostComponents = 1024
  static let dataType: UInt32 = 1
  static let portType: UInt32 = 2

  private static func big(_ number: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * UInt32($0))) }
  }
}
