import Foundation
import RondoFuzz
import RondoPorts
import Testing

/// The frame decoder: pure, bytes in, frames or an error out.
@Suite struct FrameTests {
  @Test(arguments: [
    Frame(.request, serial: 1, identifier: 7, [1, 2, 3]), Frame(.request, serial: .max, identifier: .min),
    Frame(.notice, identifier: -1, [0]), Frame(.reply, serial: 2, [UInt8](repeating: 9, count: 4096)),
    Frame(.emptyReply, serial: 3, identifier: .max), .failure(.closing), .failure(.unanswered, serial: 4),
  ])
  func `a frame is decoded as it was encoded`(_ frame: Frame) {
    let (frames, error) = FrameDecoderProperties.check(frame.encoded)
    #expect(frames == [frame])
    #expect(error == nil)
  }

  @Test func `a frame has these bytes`() {
    let frame = Frame(.request, serial: 0x0102_0304, identifier: -2, [9])
    let header: [UInt8] = [0x52, 0x6e, 0x64, 0x50, 1, 1, 0, 0, 4, 3, 2, 1, 0xfe, 0xff, 0xff, 0xff, 1, 0, 0, 0]
    #expect(frame.encoded == header + [9])
  }

  @Test func `a frame that is too long is refused by its header, before its payload`() {
    var decoder = FrameDecoder<Frame>(limit: 10)
    decoder.append(Array(Frame(.notice, [UInt8](repeating: 0, count: 11)).encoded.prefix(Frame.headerLength)))
    #expect(decoder.hasNext)
    #expect(throws: FrameError.tooLong(stated: 11, limit: 10)) { try decoder.next() }
    #expect(decoder.buffered == 0)
  }

  @Test func `after an error nothing is kept and nothing comes`() throws {
    var decoder = FrameDecoder<Frame>(limit: 10)
    decoder.append([0])
    #expect(throws: FrameError.noFrame) { try decoder.next() }
    decoder.append(Frame(.notice).encoded)
    #expect(decoder.buffered == 0)
    #expect(throws: FrameError.noFrame) { try decoder.next() }
  }

  @Test func `frames before a wrong byte are delivered`() throws {
    let (frames, error) = FrameDecoderProperties.check(Frame(.notice, [1]).encoded + [0])
    #expect(frames == [Frame(.notice, [1])])
    #expect(error == .noFrame)
  }

  @Test(arguments: [0, 20, 200]) func `a long message is nowhere twice while it is taken`(behind: Int) throws {
    let payload = [UInt8](repeating: 7, count: 100_000)
    var decoder = FrameDecoder<Frame>(limit: 1 << 20)
    let next = [UInt8](Frame(.notice, [UInt8](repeating: 1, count: 300)).encoded.prefix(behind))
    let place = {
      var bytes: [UInt8] = []
      bytes.reserveCapacity(payload.count + 500)
      bytes += Frame(.notice, payload).encoded
      bytes += next
      decoder.append(bytes)
      return unsafe bytes.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
    }()
    let frame = try #require(try decoder.next())
    // The memory that it was received in.
    let end = unsafe frame.payload.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
    let isWhole = frame.payload == payload
    #expect(end == place && isWhole)
    #expect(decoder.buffered == behind && decoder.held < 10_000)
  }

  @Test func `a short message keeps no more memory than its own`() throws {
    var decoder = FrameDecoder<Frame>(limit: 1 << 20)
    decoder.append(Frame(.notice, [1, 2]).encoded + Frame(.notice, [UInt8](repeating: 1, count: 60_000)).encoded)
    let frame = try #require(try decoder.next())
    #expect(frame.payload == [1, 2] && frame.payload.capacity < 100)
  }

  /// What each input of the fuzzer's corpus comes to.
  static let corpus: [(String, Int, FrameError?)] = [
    ("request", 1, nil), ("notice", 1, nil), ("reply", 1, nil), ("empty-reply", 1, nil), ("failure", 1, nil),
    ("failure-of-request", 1, nil), ("empty-request", 1, nil), ("three-frames", 3, nil), ("at-limit", 1, nil),
    ("no-frame", 0, .noFrame), ("wrong-version", 0, .unknownVersion(2)), ("wrong-kind", 0, .unknownKind(9)),
    ("reserved", 0, .inconsistent), ("request-without-serial", 0, .inconsistent),
    ("notice-with-serial", 0, .inconsistent), ("empty-reply-with-bytes", 0, .inconsistent),
    ("failure-of-unknown-code", 0, .inconsistent), ("too-long", 0, .tooLong(stated: 4097, limit: 4096)),
    ("longest-stated", 0, .tooLong(stated: 0xffff_ffff, limit: 4096)), ("cut-in-magic", 0, .truncated),
    ("cut-in-header", 0, .truncated), ("cut-in-payload", 0, .truncated), ("frame-then-garbage", 1, .noFrame),
    ("frame-then-cut", 1, .truncated),
  ]

  @Test(arguments: corpus)
  func `an input of the corpus comes to what it is named for`(_ name: String, _ count: Int, _ error: FrameError?) throws
  {
    let found = FrameDecoderProperties.check(try Corpus.bytes(of: name, in: "message-port"))
    #expect(found.frames.count == count)
    #expect(found.error == error)
  }

  @Test func `every input of the corpus is tested here`() throws {
    #expect(try Corpus.names(in: "message-port") == Self.corpus.map(\.0).sorted())
  }
}

/// The fuzzer's corpus, beside the tests' sources.
enum Corpus {
  private static func directory(_ decoder: String) -> URL {
    URL(filePath: #filePath).appending(path: "../../Fuzz/corpus/\(decoder)").standardized
  }

  static func bytes(of name: String, in decoder: String) throws -> [UInt8] {
    Array(try Data(contentsOf: directory(decoder).appending(path: name)))
  }

  static func names(in decoder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory(decoder).path).sorted()
  }
}
