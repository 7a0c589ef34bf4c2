/// Makes socket-port frames of bytes that come in pieces. Pure, like `FrameDecoder`, and as strict.
package struct SocketPortFrameDecoder: Sendable {
  private var buffer = FrameBuffer()
  private var error: FrameError?
  private let limit: Int

  /// - Parameter limit: The longest frame accepted.
  package init(limit: Int) {
    self.limit = limit
  }

  /// How many bytes wait to become a frame.
  package var buffered: Int { buffer.count }

  /// How much memory they take.
  package var held: Int { buffer.held }

  package mutating func append(_ more: [UInt8]) {
    guard error == nil else { return }
    let length = try? readLength()
    buffer.append(more, expecting: length)
  }

  /// Whether `next()` would have something to say at once.
  package var hasNext: Bool {
    if error != nil { return true }
    do {
      return try readLength().map { buffered >= $0 } ?? false
    } catch {
      return true
    }
  }

  /// The next frame; nil if its end has not come yet. An error is final.
  package mutating func next() throws(FrameError) -> SocketPortFrame? {
    if let error { throw error }
    do throws(FrameError) {
      guard let length = try readLength(), buffered >= length else { return nil }
      let frame = try Self.parse(buffer.rest.prefix(length))
      buffer.drop(length)
      return frame
    } catch {
      self.error = error
      buffer.removeAll()
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
    let rest = buffer.rest
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
      // Each is an object at least, and takes but eight bytes here.
      if components.count == SocketPortFrame.mostComponents { throw .tooManyComponents(limit: components.count) }
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
