/// Bytes that wait to become a frame. Pure. Amortised O(1) a byte.
///
/// What it takes of memory is at most twice what waits, and no more than the frame and one piece.
struct FrameBuffer: Sendable {
  private(set) var bytes: [UInt8] = []
  /// Where the next frame begins.
  private(set) var start = 0

  /// How many bytes wait.
  var count: Int { bytes.count - start }
  /// How much memory they take.
  var held: Int { bytes.capacity }
  /// What waits.
  var rest: ArraySlice<UInt8> { bytes[start...] }

  /// - Parameter length: Of the frame, as far as it is known.
  mutating func append(_ more: [UInt8], expecting length: Int?) {
    let needed = count + more.count
    if count == 0 {
      bytes = more
    } else if start == 0, needed <= bytes.capacity {
      bytes += more
    } else {
      var roomy: [UInt8] = []
      roomy.reserveCapacity(max(needed, min(2 * needed, length ?? needed)))
      roomy += rest
      roomy += more
      bytes = roomy
    }
    start = 0
  }

  /// Takes out the bytes of a frame behind its header, which were all received.
  ///
  /// A long frame keeps the memory that it was received in, and what is behind it moves: nothing is there twice but the
  /// shorter of both.
  mutating func takeFrame(header: Int, payload: Int) -> [UInt8] {
    let end = start + header + payload
    if payload <= bytes.count - end || bytes.capacity > 2 * payload {
      defer { drop(header + payload) }
      return Array(bytes[(start + header)..<end])
    }
    let behind = Array(bytes[end...])
    var frame = bytes
    bytes = behind
    frame.removeSubrange(end...)
    frame.removeSubrange(..<(start + header))
    start = 0
    return frame
  }

  /// The first bytes have become a frame.
  mutating func drop(_ count: Int) {
    start += count
    if start == bytes.count {
      removeAll()
    } else if start > bytes.count / 2 {
      bytes = unsafe rest.withUnsafeBufferPointer { unsafe Array($0) }
      start = 0
    }
  }

  mutating func removeAll() {
    bytes = []
    start = 0
  }
}
