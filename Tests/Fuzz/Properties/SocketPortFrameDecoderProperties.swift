package import RondoPorts

/// What holds of the decoder of Foundation's messages whatever bytes it is given.
package enum SocketPortFrameDecoderProperties {
  /// The longest frame accepted: small, so that short inputs reach it.
  package static let limit = 4096

  /// Stops the process if something does not hold.
  ///
  /// - Returns: What became of the bytes.
  @discardableResult
  package static func check(_ bytes: [UInt8]) -> (frames: [SocketPortFrame], error: FrameError?) {
    let whole = decode(bytes, pieces: [bytes.count])
    // However the bytes are cut, the same comes of them.
    let single = decode(bytes, pieces: Array(repeating: 1, count: bytes.count))
    precondition(single.frames == whole.frames && single.error == whole.error, "Cut into bytes, it decodes otherwise.")
    let uneven = decode(bytes, pieces: bytes.map { 1 + Int($0 % 37) })
    precondition(uneven.frames == whole.frames && uneven.error == whole.error, "Cut unevenly, it decodes otherwise.")
    // There is one spelling for each frame: what was decoded is what was there.
    let spelled = whole.frames.flatMap { $0.encoded! }
    precondition(bytes.starts(with: spelled), "The frames encode to other bytes.")
    if whole.error == nil { precondition(spelled.count == bytes.count, "Bytes are missing.") }
    return whole
  }

  private static func decode(_ bytes: [UInt8], pieces: [Int]) -> (frames: [SocketPortFrame], error: FrameError?) {
    var decoder = FrameDecoder<SocketPortFrame>(limit: limit)
    var frames: [SocketPortFrame] = []
    var rest = bytes[...]
    var pieces = pieces[...]
    do throws(FrameError) {
      while !rest.isEmpty {
        let piece = rest.prefix(pieces.popFirst() ?? 1)
        rest = rest.dropFirst(piece.count)
        decoder.append(Array(piece))
        while let frame = try decoder.next() { frames.append(frame) }
        precondition(decoder.buffered < limit, "It keeps more than one frame.")
      }
      try decoder.finish()
      return (frames, nil)
    } catch {
      return (frames, error)
    }
  }
}

/// libFuzzer's way in, by the name that `make fuzz` links it with.
@_cdecl("rondo_fuzz_socket_port")
public func fuzzSocketPort(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  SocketPortFrameDecoderProperties.check(unsafe Array(UnsafeBufferPointer(start: bytes, count: count)))
  return 0
}
