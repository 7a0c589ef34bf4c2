package import RondoPorts

/// What holds of the decoder whatever bytes it is given; the fuzzer and the unit tests both ask.
package enum FrameDecoderProperties {
  /// The longest payload accepted: small, so that short inputs reach it.
  package static let limit = 4096

  /// Stops the process if something does not hold.
  ///
  /// - Returns: What became of the bytes.
  @discardableResult
  package static func check(_ bytes: [UInt8]) -> (frames: [Frame], error: FrameError?) {
    let whole = decode(bytes, pieces: [bytes.count])
    // However the bytes are cut, the same comes of them.
    let single = decode(bytes, pieces: Array(repeating: 1, count: bytes.count))
    precondition(single.frames == whole.frames && single.error == whole.error, "Cut into bytes, it decodes otherwise.")
    let uneven = decode(bytes, pieces: bytes.map { 1 + Int($0 % 37) })
    precondition(uneven.frames == whole.frames && uneven.error == whole.error, "Cut unevenly, it decodes otherwise.")
    // There is one spelling for each frame: what was decoded is what was there.
    let spelled = whole.frames.flatMap(\.encoded)
    precondition(bytes.starts(with: spelled), "The frames encode to other bytes.")
    if whole.error == nil { precondition(spelled.count == bytes.count, "Bytes are missing.") }
    precondition(whole.frames.allSatisfy { $0.payload.count <= limit }, "A payload is longer than the limit.")
    return whole
  }

  private static func decode(_ bytes: [UInt8], pieces: [Int]) -> (frames: [Frame], error: FrameError?) {
    var decoder = FrameDecoder<Frame>(limit: limit)
    var frames: [Frame] = []
    var rest = bytes[...]
    var pieces = pieces[...]
    do throws(FrameError) {
      while !rest.isEmpty {
        let piece = rest.prefix(pieces.popFirst() ?? 1)
        rest = rest.dropFirst(piece.count)
        decoder.append(Array(piece))
        while true {
          let hadNext = decoder.hasNext
          guard let frame = try decoder.next() else {
            precondition(!hadNext, "It promised a frame and has none.")
            break
          }
          precondition(hadNext, "It has a frame and did not say so.")
          frames.append(frame)
        }
        precondition(decoder.buffered <= Frame.headerLength + limit, "It keeps more than one frame.")
      }
      try decoder.finish()
      return (frames, nil)
    } catch {
      let again = Result { () throws(FrameError) in try decoder.finish() }
      precondition(again == .failure(error), "An error is not final.")
      return (frames, error)
    }
  }
}

extension Result where Success == Void, Failure: Equatable {
  fileprivate static func == (left: Self, right: Self) -> Bool {
    switch (left, right) {
    case (.success, .success): true
    case (.failure(let left), .failure(let right)): left == right
    default: false
    }
  }
}

/// libFuzzer's way in, by the name that `make fuzz` links it with.
@_cdecl("rondo_fuzz_message_port")
public func fuzzMessagePort(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  FrameDecoderProperties.check(unsafe Array(UnsafeBufferPointer(start: bytes, count: count)))
  return 0
}
