/// Makes frames of bytes that come in pieces. Pure: bytes in, frames or an error out.
///
/// What cannot become a frame is refused with its first wrong byte, so at most one frame and what came with its end is
/// kept. An error is final. Amortised O(1) a byte.
package struct FrameDecoder: Sendable {
  private var buffer = FrameBuffer()
  private var error: FrameError?
  private let limit: Int

  /// - Parameter limit: The longest payload accepted.
  package init(limit: Int) {
    self.limit = min(limit, Frame.longestPayload)
  }

  /// How many bytes wait to become a frame.
  package var buffered: Int { buffer.count }

  /// How much memory they take.
  package var held: Int { buffer.held }

  package mutating func append(_ more: [UInt8]) {
    guard error == nil else { return }
    let header = try? readHeader()
    buffer.append(more, expecting: header.map { Frame.headerLength + $0.length })
  }

  /// The next frame; nil if its end has not come yet.
  package mutating func next() throws(FrameError) -> Frame? {
    if let error { throw error }
    do throws(FrameError) {
      guard let header = try readHeader(), buffered >= Frame.headerLength + header.length else { return nil }
      let payload = buffer.takeFrame(header: Frame.headerLength, payload: header.length)
      return Frame(header.kind, serial: header.serial, identifier: header.identifier, payload)
    } catch {
      self.error = error
      buffer.removeAll()
      throw error
    }
  }

  /// Whether `next()` would have something to say at once.
  package var hasNext: Bool {
    if error != nil { return true }
    do {
      guard let header = try readHeader() else { return false }
      return buffered >= Frame.headerLength + header.length
    } catch {
      return true
    }
  }

  /// The bytes have ended.
  ///
  /// - Throws: `.truncated` if that was inside a frame.
  package func finish() throws(FrameError) {
    if let error { throw error }
    if buffered > 0 { throw .truncated }
  }

  private struct Header {
    let kind: Frame.Kind
    let serial: UInt32
    let identifier: Int32
    let length: Int
  }

  /// The header, once it is whole; its beginning is checked as soon as it is there.
  private func readHeader() throws(FrameError) -> Header? {
    let header = buffer.rest.prefix(Frame.headerLength)
    guard header.starts(with: Frame.magic.prefix(header.count)) else { throw .noFrame }
    guard let version = byte(4) else { return nil }
    if version != Frame.version { throw .unknownVersion(version) }
    guard let kindByte = byte(5) else { return nil }
    guard let kind = Frame.Kind(rawValue: kindByte) else { throw .unknownKind(kindByte) }
    guard header.count == Frame.headerLength else { return nil }
    let serial = number(8)
    let identifier = Int32(bitPattern: number(12))
    let length = Int(number(16))
    guard byte(6) == 0, byte(7) == 0, isConsistent(kind, serial, identifier, length) else { throw .inconsistent }
    if length > limit { throw .tooLong(stated: length, limit: limit) }
    return Header(kind: kind, serial: serial, identifier: identifier, length: length)
  }

  private func isConsistent(_ kind: Frame.Kind, _ serial: UInt32, _ identifier: Int32, _ length: Int) -> Bool {
    switch kind {
    case .request, .reply: serial != 0
    case .notice: serial == 0
    case .emptyReply: serial != 0 && length == 0
    case .failure: length == 0 && Frame.FailureCode(rawValue: identifier) != nil
    }
  }

  private func byte(_ offset: Int) -> UInt8? {
    offset < buffer.count ? buffer.bytes[buffer.start + offset] : nil
  }

  private func number(_ offset: Int) -> UInt32 {
    (0..<4).reduce(0) { $0 | UInt32(buffer.bytes[buffer.start + offset + $1]) << (8 * UInt32($1)) }
  }
}
