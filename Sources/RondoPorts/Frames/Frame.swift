package import RondoSockets

/// One message as it crosses between two message ports.
///
/// A header of 20 bytes, numbers little-endian, and the payload:
///
/// | bytes | what |
/// |---|---|
/// | 0-3 | `RndP` |
/// | 4 | version, 1 |
/// | 5 | kind |
/// | 6-7 | zero |
/// | 8-11 | serial: the same in a request and its answer |
/// | 12-15 | the sender's message identifier; of a failure, its code |
/// | 16-19 | length of the payload |
package struct Frame: Hashable, Sendable {
  package var kind: Kind
  package var serial: UInt32
  package var identifier: Int32
  package var payload: [UInt8]

  package enum Kind: UInt8, Sendable, CaseIterable {
    /// Wants an answer.
    case request = 1
    /// Wants none; serial 0.
    case notice = 2
    /// An answer with a payload, which may be empty.
    case reply = 3
    /// An answer without one.
    case emptyReply = 4
    /// There will be no answer; with serial 0, to nothing any more: the connection ends.
    case failure = 5
  }

  /// Why there is no answer.
  package enum FailureCode: Int32, Sendable, CaseIterable {
    case malformed = 1
    case tooLong = 2
    case notPermitted = 3
    case crowded = 4
    case unanswered = 5
    case closing = 6
    case tooSlow = 7
  }

  package init(_ kind: Kind, serial: UInt32 = 0, identifier: Int32 = 0, _ payload: [UInt8] = []) {
    self.kind = kind
    self.serial = serial
    self.identifier = identifier
    self.payload = payload
  }

  package static func failure(_ code: FailureCode, serial: UInt32 = 0) -> Frame {
    Frame(.failure, serial: serial, identifier: code.rawValue)
  }

  /// The frame's bytes. There is one spelling for each frame.
  package var encoded: [UInt8] {
    var bytes = Self.magic
    bytes.reserveCapacity(Self.headerLength + payload.count)
    bytes += [Self.version, kind.rawValue, 0, 0]
    bytes.append(little: serial)
    bytes.append(little: UInt32(bitPattern: identifier))
    bytes.append(little: UInt32(payload.count))
    bytes += payload
    return bytes
  }

  private static let magic: [UInt8] = Array("RndP".utf8)
  private static let version: UInt8 = 1
  package static let headerLength = 20
  /// The longest payload a header can state.
  package static let longestPayload = Int(UInt32.max)
}

extension Frame: DecodableFrame {
  package static func length(of bytes: ArraySlice<UInt8>, limit: Int) throws(FrameError) -> Int? {
    let header = bytes.prefix(headerLength)
    guard header.starts(with: magic.prefix(header.count)) else { throw .noFrame }
    guard let version = header.dropFirst(4).first else { return nil }
    if version != Self.version { throw .unknownVersion(version) }
    guard let number = header.dropFirst(5).first else { return nil }
    if Kind(rawValue: number) == nil { throw .unknownKind(number) }
    guard header.count == headerLength else { return nil }
    let length = Int(header.number(at: 16).byteSwapped)
    let isReserved = header.dropFirst(6).prefix(2).allSatisfy { $0 == 0 }
    guard isReserved, Frame(statedBy: header).isConsistent(length) else { throw .inconsistent }
    if length > limit { throw .tooLong(stated: length, limit: limit) }
    return headerLength + length
  }

  package static func takeOut(_ length: Int, of bytes: inout ByteQueue) -> Frame {
    var frame = Frame(statedBy: bytes.rest)
    frame.payload = bytes.takeOut(length - headerLength, behind: headerLength)
    return frame
  }

  /// A frame without its payload, of a header that is all there.
  private init(statedBy header: ArraySlice<UInt8>) {
    self.init(
      Kind(rawValue: header[header.startIndex + 5])!, serial: header.number(at: 8).byteSwapped,
      identifier: Int32(bitPattern: header.number(at: 12).byteSwapped))
  }

  private func isConsistent(_ length: Int) -> Bool {
    switch kind {
    case .request, .reply: serial != 0
    case .notice: serial == 0
    case .emptyReply: serial != 0 && length == 0
    case .failure: length == 0 && FailureCode(rawValue: identifier) != nil
    }
  }
}

/// The reason why a port cannot decode the bytes of its peer.
public enum FrameError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The bytes do not begin with the magic number of a frame.
  case noFrame
  /// The frame has another version of the protocol.
  case unknownVersion(UInt8)
  /// The frame is of a kind that the protocol does not have.
  case unknownKind(UInt8)
  /// A field of the frame is invalid, or contradicts another field.
  ///
  /// Examples are a reserved byte other than zero, a missing serial, and a failure with an unknown code.
  case inconsistent
  /// The header states a longer payload than the limit, in bytes.
  case tooLong(stated: Int, limit: Int)
  /// The bytes end inside a frame.
  case truncated
  /// A socket port's message has more components than the limit.
  case tooManyComponents(limit: Int)

  /// A sentence with the cause.
  public var description: String {
    switch self {
    case .noFrame: "the bytes are no frame"
    case .unknownVersion(let version): "version \(version) of the protocol is not known"
    case .unknownKind(let kind): "kind \(kind) is not known"
    case .inconsistent: "the header contradicts itself"
    case .tooLong(let stated, let limit): "a payload of \(stated) bytes is longer than the limit of \(limit)"
    case .truncated: "the bytes end inside a frame"
    case .tooManyComponents(let limit): "a message of more than \(limit) components is not accepted"
    }
  }
}

extension Array where Element == UInt8 {
  fileprivate mutating func append(little number: UInt32) {
    for shift in stride(from: 0, to: 32, by: 8) { append(UInt8(truncatingIfNeeded: number >> UInt32(shift))) }
  }
}
