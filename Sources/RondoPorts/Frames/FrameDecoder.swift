package import RondoSockets

/// A frame that a `FrameDecoder` makes of bytes.
package protocol DecodableFrame: Sendable {
  /// How long the frame is that begins with `bytes`; nil if they are too few to tell.
  ///
  /// - Parameter limit: Of a longer frame, `.tooLong` is thrown.
  /// - Throws: Why no frame begins so, with the first wrong byte of its header.
  static func length(of bytes: ArraySlice<UInt8>, limit: Int) throws(FrameError) -> Int?

  /// Takes out the first frame, whose length is known and whose bytes are all there.
  static func takeOut(_ length: Int, of bytes: inout ByteQueue) throws(FrameError) -> Self
}

/// Makes frames of bytes that come in pieces. Pure: bytes in, frames or an error out.
///
/// What cannot become a frame is refused with its first wrong byte, so at most one frame and what came with its end is
/// kept. An error is final. Amortised O(1) a byte.
package struct FrameDecoder<Decoded: DecodableFrame>: Sendable {
  private var bytes = ByteQueue()
  private var error: FrameError?
  private let limit: Int

  /// - Parameter limit: The most bytes accepted: of the payload in a `Frame`, of the whole in a `SocketPortFrame`.
  package init(limit: Int) {
    self.limit = limit
  }

  /// How many bytes wait to become a frame.
  package var buffered: Int { bytes.count }

  /// How much memory they take.
  package var held: Int { bytes.held }

  package mutating func append(_ more: [UInt8]) {
    guard error == nil else { return }
    let length = try? length()
    bytes.append(more, expecting: length)
  }

  /// The next frame; nil if its end has not come yet.
  package mutating func next() throws(FrameError) -> Decoded? {
    if let error { throw error }
    do throws(FrameError) {
      guard let length = try length(), length <= buffered else { return nil }
      return try Decoded.takeOut(length, of: &bytes)
    } catch {
      self.error = error
      bytes = ByteQueue()
      throw error
    }
  }

  /// Whether `next()` would have something to say at once.
  package var hasNext: Bool {
    if error != nil { return true }
    do {
      return try length().map { $0 <= buffered } ?? false
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

  private func length() throws(FrameError) -> Int? { try Decoded.length(of: bytes.rest, limit: limit) }
}

extension ArraySlice where Element == UInt8 {
  /// Four bytes of it as a number, the most significant one first. They are there.
  func number(at offset: Int) -> UInt32 {
    (0..<4).reduce(0) { $0 << 8 | UInt32(self[startIndex + offset + $1]) }
  }
}
