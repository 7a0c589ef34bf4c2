import Rondo
import RondoSockets
import Testing

/// What waits for room to be sent: its marks and its bound.
@Suite struct SendQueueTests {
  /// A source whose peer reads nothing by itself, with as much sent as the kernel takes.
  private func withFullSocket(
    _ body: @escaping @Sendable (_ stage: Stage, _ source: SocketSource, _ far: Socket) throws -> Void
  ) throws {
    try onLoopThread { stage in
      let (near, far) = try Socket.pair()
      let source = stage.source("near", near, for: [])
      while case let sent = try near.send([UInt8](repeating: 1, count: 65_536)[...]), sent > 0 {}
      #expect(!source.isCongested && source.queuedByteCount == 0)
      try body(stage, source, far)
    }
  }

  @Test func `whatever has to wait congests a source that has no marks, until it has gone`() throws {
    try withFullSocket { stage, source, far in
      try source.send([1, 2, 3])
      #expect(source.isCongested && source.queuedByteCount == 3)
      stage.look(2)
      #expect(stage.text("near") == "")
      try drain(far)
      stage.run { !source.isCongested }
      #expect(stage.text("near") == "sent" && source.queuedByteCount == 0)
    }
  }

  @Test func `a source is congested from above its high mark until it is at its low one`() throws {
    try withFullSocket { stage, source, far in
      (source.highWater, source.lowWater) = (100_000, 50_000)
      try source.send([UInt8](repeating: 2, count: 100_000))
      #expect(!source.isCongested)
      try source.send([UInt8](repeating: 2, count: 900_000))
      #expect(source.isCongested)
      var wasCongested = 0
      while stage.text("near").isEmpty {
        if source.queuedByteCount <= 50_000 { Issue.record("what has gone below the low mark was not told") }
        wasCongested += 1
        _ = try far.receive()
        stage.look()
      }
      #expect(stage.text("near") == "sent" && wasCongested > 1)
      #expect(source.queuedByteCount <= 50_000 && !source.isCongested)
      // Between the marks, nothing more is told.
      while source.queuedByteCount > 0 {
        _ = try far.receive()
        stage.look()
      }
      #expect(stage.text("near") == "sent")
    }
  }

  @Test func `a send past the limit is refused whole, and what waited before goes its way`() throws {
    try withFullSocket { stage, source, far in
      try drain(far)
      while source.queuedByteCount == 0 { try source.send([UInt8](repeating: 3, count: 10_000)) }
      source.queueLimit = source.queuedByteCount + 10
      let first = thrown { () throws(SocketError) in try source.send([UInt8](repeating: 4, count: 11)) }
      #expect(first == .congested)
      #expect(source.queuedByteCount == source.queueLimit - 10)
      try source.send([UInt8](repeating: 5, count: 10))
      let second = thrown { () throws(SocketError) in try source.send([6]) }
      #expect(second == .congested)
      #expect(source.isValid)
      var last: [UInt8] = []
      while source.queuedByteCount > 0 || !last.isEmpty && last.last != 5 {
        if case .bytes(let bytes) = try far.receive() { last = bytes }
        stage.look()
      }
      try drain(far) { last = $0 }
      #expect(last.suffix(10) == [UInt8](repeating: 5, count: 10)[...] && !last.contains(4))
    }
  }

  @Test func `without a limit of the caller's, 64 MiB may wait`() throws {
    try withFullSocket { _, source, _ in
      try source.send([UInt8](repeating: 3, count: 64 << 20))
      let refusal = thrown { () throws(SocketError) in try source.send([4]) }
      #expect(refusal == .congested)
      source.queueLimit = .max
      try source.send([4])
      #expect(source.queuedByteCount == 64 << 20 + 1)
    }
  }

  @Test func `a piece that finds nothing waiting is taken, whatever the limit`() throws {
    try withFullSocket { _, source, _ in
      source.queueLimit = 5
      try source.send([UInt8](repeating: 3, count: 10_000))
      #expect(source.queuedByteCount == 10_000)
    }
  }

  @Test func `what was said of the queue holds before the connection is there`() throws {
    try onLoopThread { stage in
      let listener = try Socket.listening(at: .loopback())
      let source = try stage.connecting("client", to: listener.localAddress!)
      source.queueLimit = 8
      try source.send([1, 2, 3, 4, 5])
      let refusal = thrown { () throws(SocketError) in try source.send([6, 7, 8, 9]) }
      #expect(refusal == .congested)
      #expect(source.isCongested)
      stage.run { stage.text("client").hasSuffix("sent") }
      #expect(stage.text("client") == "connected sent" && !source.isCongested)
    }
  }

  @Test func `slices and spans are sent as they lie`() throws {
    try onLoopThread { stage in
      let (near, far) = try Socket.pair()
      let source = stage.source("near", near, for: [])
      let bytes: [UInt8] = [0, 1, 2, 3, 4]
      try source.send(bytes[1...2])
      try unsafe source.send(bytes.span.extracting(3...).bytes)
      #expect(try far.receive() == .bytes([1, 2, 3, 4]))
    }
  }

  /// Reads all there is at the moment.
  private func drain(_ socket: Socket, _ each: ([UInt8]) -> Void = { _ in }) throws {
    while case .bytes(let bytes) = try socket.receive() { each(bytes) }
  }
}
