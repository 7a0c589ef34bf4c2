internal import Rondo
package import RondoSockets

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
    return Self.magic + Self.big(length) + Self.big(identifier) + body
  }

  private static let magic: [UInt8] = [0xD0, 0xCF, 0x50, 0xC0]
  /// Magic number, length and identifier.
  private static let headerLength = 12
  /// The most components a message may have. Chosen.
  package static let mostComponents = 1024
  private static let dataType: UInt32 = 1
  private static let portType: UInt32 = 2

  private static func big(_ number: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * UInt32($0))) }
  }
}

extension SocketPortFrame: DecodableFrame {
  package static func length(of bytes: ArraySlice<UInt8>, limit: Int) throws(FrameError) -> Int? {
    guard bytes.starts(with: magic.prefix(bytes.count)) else { throw .noFrame }
    guard bytes.count >= 8 else { return nil }
    let length = Int(bytes.number(at: 4))
    // The shortest has a signature without an address.
    if length < headerLength + 4 { throw .inconsistent }
    if length > limit { throw .tooLong(stated: length, limit: limit) }
    return length
  }

  package static func takeOut(_ length: Int, of bytes: inout ByteQueue) throws(FrameError) -> SocketPortFrame {
    let frame = try SocketPortFrame(bytes.rest.prefix(length))
    bytes.consume(length)
    bytes.trim()
    return frame
  }

  private init(_ frame: ArraySlice<UInt8>) throws(FrameError) {
    var rest = frame.dropFirst(Self.headerLength)
    guard let sender = Signature(&rest) else { throw .inconsistent }
    self.init(identifier: frame.number(at: 8), sender: sender, components: [])
    while !rest.isEmpty {
      // Each is an object at least, and takes but eight bytes here.
      if components.count == Self.mostComponents { throw .tooManyComponents(limit: components.count) }
      guard rest.count >= 8 else { throw .inconsistent }
      let type = rest.number(at: 0)
      let length = Int(rest.number(at: 4))
      var body = rest.dropFirst(8).prefix(length)
      guard body.count == length else { throw .inconsistent }
      rest = rest.dropFirst(8 + length)
      switch type {
      case Self.dataType: components.append(.data(Array(body)))
      case Self.portType:
        guard let signature = Signature(&body), body.isEmpty else { throw .inconsistent }
        components.append(.port(signature))
      default: throw .inconsistent
      }
    }
  }
}
