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
      precondition(address.count <= 255, "A signature has room for an address of 255 bytes.")
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

  /// The frame's bytes, or nil if they are more than their length can state.
  package var encoded: [UInt8]? {
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
  static let dataType: UInt32 = 1
  static let portType: UInt32 = 2

  private static func big(_ number: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * UInt32($0))) }
  }
}

/// Makes socket-port frames of bytes that come in pieces. Pure, like `FrameDecoder`, and as strict.
package struct SocketPortFrameDecoder: Sendable {
  private var bytes: [UInt8] = []
  private var start = 0
  private var error: FrameError?
  private let limit: Int

  /// - Parameter limit: The longest frame accepted.
  package init(limit: Int) {
    self.limit = limit
  }

  /// How many bytes wait to become a frame.
  package var buffered: Int { bytes.count - start }

  package mutating func append(_ more: [UInt8]) {
    guard error == nil else { return }
    if start > 0 {
      bytes.removeFirst(start)
      start = 0
    }
    bytes += more
  }

  /// The next frame; nil if its end has not come yet. An error is final.
  package mutating func next() throws(FrameError) -> SocketPortFrame? {
    if let error { throw error }
    do throws(FrameError) {
      guard let length = try readLength(), buffered >= length else { return nil }
      let frame = try Self.parse(bytes[start..<start + length])
      start += length
      return frame
    } catch {
      self.error = error
      bytes = []
      start = 0
      throw error
    }
  }

  /// The bytes have ended.
  ///
  /// - Throws: `.truncated` if that was inside a frame.
  package func finish() throws(FrameError) {
    if let error { throw error }
    if buffered > 0 { throw .truncated }
  }

  /// The frame's length, once its first eight bytes are there.
  private func readLength() throws(FrameError) -> Int? {
    let rest = bytes[start...]
    let magic = (0..<4).map { UInt8(truncatingIfNeeded: SocketPortFrame.magic >> (24 - 8 * UInt32($0))) }
    guard rest.prefix(4).elementsEqual(magic.prefix(rest.count)) else { throw .noFrame }
    guard rest.count >= 8 else { return nil }
    let length = Int(Self.number(rest.dropFirst(4)))
    // The shortest has a signature without an address.
    if length < SocketPortFrame.headerLength + 4 { throw .inconsistent }
    if length > limit { throw .tooLong(stated: length, limit: limit) }
    return length
  }

  private static func parse(_ frame: ArraySlice<UInt8>) throws(FrameError) -> SocketPortFrame {
    let identifier = number(frame.dropFirst(8))
    var rest = frame.dropFirst(SocketPortFrame.headerLength)
    guard let sender = SocketPortFrame.Signature(&rest) else { throw .inconsistent }
    var components: [SocketPortFrame.Component] = []
    while !rest.isEmpty {
      guard rest.count >= 8 else { throw .inconsistent }
      let type = number(rest)
      let length = Int(number(rest.dropFirst(4)))
      var body = rest.dropFirst(8).prefix(length)
      guard body.count == length else { throw .inconsistent }
      rest = rest.dropFirst(8 + length)
      switch type {
      case SocketPortFrame.dataType:
        components.append(.data(Array(body)))
      case SocketPortFrame.portType:
        guard let signature = SocketPortFrame.Signature(&body), body.isEmpty else { throw .inconsistent }
        components.append(.port(signature))
      default:
        throw .inconsistent
      }
    }
    return SocketPortFrame(identifier: identifier, sender: sender, components: components)
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
  }
}
