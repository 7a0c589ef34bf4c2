import RondoFuzz
import RondoPorts
import Testing

/// The decoder of Foundation's messages: as pure and as strict as that of message ports.
@Suite struct SocketPortFrameTests {
  private static let sender = SocketPortFrame.Signature(family: 2, type: 1, transport: 6, address: [1, 2, 3])

  @Test(arguments: [
    [], [SocketPortFrame.Component.data([])], [.data([1, 2]), .port(sender), .data([3])],
  ])
  func `a frame is decoded as it was encoded`(_ components: [SocketPortFrame.Component]) throws {
    let frame = SocketPortFrame(identifier: 0xfffe_fdfc, sender: Self.sender, components: components)
    let (frames, error) = SocketPortFrameDecoderProperties.check(try #require(frame.encoded))
    #expect(frames == [frame])
    #expect(error == nil)
  }

  @Test func `a frame has these bytes`() {
    let frame = SocketPortFrame(identifier: 7, sender: Self.sender, components: [.data([9])])
    let header: [UInt8] = [0xd0, 0xcf, 0x50, 0xc0, 0, 0, 0, 28, 0, 0, 0, 7]
    #expect(frame.encoded == header + [2, 1, 6, 3, 1, 2, 3] + [0, 0, 0, 1, 0, 0, 0, 1, 9])
  }

  /// What each input of the fuzzer's corpus comes to.
  static let corpus: [(String, Int, FrameError?)] = [
    ("no-components", 1, nil), ("one-data", 1, nil), ("empty-data", 1, nil), ("data-and-port", 1, nil),
    ("three-frames", 3, nil), ("no-address", 1, nil), ("at-limit", 1, nil), ("no-frame", 0, .noFrame),
    ("too-short", 0, .inconsistent), ("too-long", 0, .tooLong(stated: 4097, limit: 4096)),
    ("longest-stated", 0, .tooLong(stated: 0xffff_ffff, limit: 4096)), ("signature-overruns", 0, .inconsistent),
    ("component-overruns", 0, .inconsistent), ("component-cut", 0, .inconsistent),
    ("unknown-component", 0, .inconsistent), ("port-overruns", 0, .inconsistent), ("port-with-rest", 0, .inconsistent),
    ("cut-in-magic", 0, .truncated), ("cut-in-length", 0, .truncated), ("cut-in-body", 0, .truncated),
    ("frame-then-garbage", 1, .noFrame),
  ]

  @Test(arguments: corpus)
  func `an input of the corpus comes to what it is named for`(_ name: String, _ count: Int, _ error: FrameError?) throws
  {
    let found = SocketPortFrameDecoderProperties.check(try Corpus.bytes(of: name, in: "socket-port"))
    #expect(found.frames.count == count)
    #expect(found.error == error)
  }

  @Test func `every input of the corpus is tested here`() throws {
    #expect(try Corpus.names(in: "socket-port") == Self.corpus.map(\.0).sorted())
  }
}
