import Glibc
import Rondo
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

/// The examples of the article Sockets and protocols, compiled, run and given to hostile peers.
@Suite struct SocketsAndProtocolsTests {
  // MARK: - Frames

  /// Bytes that have arrived and are not a whole frame yet.
  struct FrameBuffer {
    enum Failure: Error { case tooLong, cut }

    let longest: Int
    private var rest: ArraySlice<UInt8> = []
    private var searched = 0

    init(longest: Int) { self.longest = longest }

    mutating func append(_ bytes: some Sequence<UInt8>) { rest.append(contentsOf: bytes) }

    /// The next line without its end; nil if it has not arrived whole.
    mutating func nextLine() throws(Failure) -> [UInt8]? {
      let end = rest.dropFirst(searched).firstIndex(of: UInt8(ascii: "\n"))
      if (end ?? rest.endIndex) - rest.startIndex > longest { throw .tooLong }
      searched = end == nil ? rest.count : 0
      return end.map { take(rest.startIndex..<$0, through: $0 + 1) }
    }

    /// The next message; its length precedes it in four bytes, most significant first.
    mutating func nextMessage() throws(Failure) -> [UInt8]? {
      guard rest.count >= 4 else { return nil }
      let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
      if length > longest { throw .tooLong }
      guard rest.count >= 4 + length else { return nil }
      let start = rest.startIndex + 4
      return take(start..<start + length, through: start + length)
    }

    /// Call it at the end of the stream. It throws if a frame has arrived in part.
    func finish() throws(Failure) { if !rest.isEmpty { throw .cut } }

    private mutating func take(_ frame: Range<Int>, through end: Int) -> [UInt8] {
      defer { rest = end == rest.endIndex ? [] : rest[end...] }
      return Array(rest[frame])
    }
  }

  @Test func `a frame is whole however its bytes arrive`() throws {
    let lines = Array("ab\n\ncd\n".utf8)
    let messages: [UInt8] = [0, 0, 0, 2, 7, 8, 0, 0, 0, 0, 0, 0, 0, 1, 9]
    for size in 1...messages.count {
      var buffer = FrameBuffer(longest: 2)
      var found: [[UInt8]] = []
      for start in stride(from: 0, to: lines.count, by: size) {
        buffer.append(lines[start..<min(start + size, lines.count)])
        while let line = try buffer.nextLine() { found.append(line) }
      }
      #expect(found == [Array("ab".utf8), [], Array("cd".utf8)])
      found = []
      for start in stride(from: 0, to: messages.count, by: size) {
        buffer.append(messages[start..<min(start + size, messages.count)])
        while let message = try buffer.nextMessage() { found.append(message) }
      }
      #expect(found == [[7, 8], [], [9]])
      try buffer.finish()
    }
  }

  @Test func `a frame that is too long is refused before it has arrived, and one that is cut at the end`() throws {
    var lines = FrameBuffer(longest: 2)
    lines.append([1, 2])
    #expect(try lines.nextLine() == nil)
    #expect(throws: FrameBuffer.Failure.cut) { try lines.finish() }
    lines.append([3])
    #expect(throws: FrameBuffer.Failure.tooLong) { try lines.nextLine() }
    #expect(throws: FrameBuffer.Failure.tooLong) { try lines.nextLine() }

    var messages = FrameBuffer(longest: 2)
    messages.append([255, 255, 255, 255])
    #expect(throws: FrameBuffer.Failure.tooLong) { try messages.nextMessage() }
  }

  @Test func `a length and its message are sent together`() async throws {
    try await withLoopThread(name: "writer") { thread in
      let (connection, far) = try Connection.pair(on: thread.loop)
      let message: [UInt8] = [7, 8, 9]

      try await connection.write { writer in
        writer.append("\(message.count)\n")
        writer.append(message)
      }

      #expect(try await far.readLine() == "3")
      #expect(try await far.read(exactly: 3) == message)
    }
  }

  // MARK: - The async server

  @Sendable func serve(_ connection: Connection) async throws {
    while true {
      connection.deadline = connection.loop.clock.now + .seconds(30)
      guard let line = try await connection.readLine(limit: 1_000) else { return }
      try await connection.write("\(line.utf8.count) bytes\n")
    }
  }

  struct TooLong: Error {}
  struct Cut: Error {}

  /// The next message; its length precedes it in four bytes, most significant first. Nil at the end of the stream.
  func nextMessage(from connection: Connection, longest: Int) async throws -> [UInt8]? {
    guard let head = try await connection.read(exactly: 4) else { return nil }
    let length = head.reduce(0) { $0 << 8 | Int($1) }
    guard length <= longest else { throw TooLong() }
    guard let message = try await connection.read(exactly: length) else { throw Cut() }
    return message
  }

  @Test func `the server of lines, as the article starts it`() async throws {
    let output = Output()
    @Sendable func print(_ text: String) { output.add(text) }
    let server = Task {
      try await withLoopThread(name: "lines") { thread in
        let listener = try Listener(at: .loopback())
        print("listening at \(listener.address)")
        try await listener.serve(on: thread.loop, serve)
      }
    }
    try await withLoopThread(name: "client") { thread in
      while output.lines.isEmpty { try await thread.loop.clock.sleep(for: .milliseconds(1)) }
      let address = try SocketAddress(parsing: String(output.lines[0].split(separator: " ").last!))
      // On the loop's thread: where other tests hold the pool's, the client says nothing for longer than it may.
      try await withTaskExecutorPreference(thread.loop) {
        let client = try await Connection.connected(to: address, on: thread.loop)
        try await client.write("hello\nworld!\n")
        try await client.finishWriting()
        #expect(try await text(from: client) == "5 bytes\n6 bytes\n")
      }
    }
    server.cancel()
    try await server.value
  }

  @Test func `a client that sends a byte at a time is answered`() async throws {
    try await withLoopThread { thread in
      let loop = thread.loop
      let (near, far) = try Connection.pair(on: loop)
      async let serving: Void = serve(near)
      for byte in "a\nbc\n".utf8 {
        try await far.write([byte])
        try await loop.clock.sleep(for: .milliseconds(1))
      }
      try await far.finishWriting()
      try await serving
      near.close()
      #expect(try await text(from: far) == "1 bytes\n2 bytes\n")
    }
  }

  @Test func `a client that sends too long a line ends its connection`() async throws {
    try await withLoopThread { thread in
      let (near, far) = try Connection.pair(on: thread.loop)
      try await far.write([UInt8](repeating: 65, count: 1_001))
      await #expect(throws: ConnectionError.tooLong(limit: 1_000)) { try await serve(near) }
    }
  }

  @Test func `messages are read whole, and one that is cut or too long is refused`() async throws {
    try await withLoopThread { thread in
      let (near, far) = try Connection.pair(on: thread.loop)
      try await far.write([0, 0, 0, 2, 7, 8, 0, 0, 0, 0, 255, 255, 255, 255])
      #expect(try await nextMessage(from: near, longest: 2) == [7, 8])
      #expect(try await nextMessage(from: near, longest: 2) == [])
      await #expect(throws: TooLong.self) { try await nextMessage(from: near, longest: 2) }
      try await far.write([0, 0, 0, 2, 7])
      try await far.finishWriting()
      await #expect(throws: ConnectionError.endedEarly(received: 1, expected: 2)) {
        try await nextMessage(from: near, longest: 2)
      }
      #expect(try await near.read(exactly: 1) == [7])
      #expect(try await nextMessage(from: near, longest: 2) == nil)
    }
  }

  @Test func `a server whose client never stops sending ends when it is cancelled`() async throws {
    try await withLoopThread { thread in
      let loop = thread.loop
      let (near, far) = try Connection.pair(on: loop)
      let serving = Task { try await serve(near) }
      let flooding = Task { while true { try await far.write([UInt8](repeating: 10, count: 4_096)) } }
      let reading = Task { for try await _ in far {} }
      try await loop.clock.sleep(for: .milliseconds(10))
      serving.cancel()
      await #expect(throws: ConnectionError.wait(.cancelled)) { try await serving.value }
      flooding.cancel()
      reading.cancel()
      _ = await (flooding.result, reading.result)
    }
  }

  // MARK: - The callback server

  /// Echoes messages. The loop's thread uses it.
  final class MessageClient: @unchecked Sendable {
    private var buffer = FrameBuffer(longest: 65_536)

    init(_ socket: Socket, on loop: Loop) {
      loop.add(SocketSource(socket, for: .data) { source, event in self.happened(event, at: source) })
    }

    private func happened(_ event: SocketSource.Event, at source: SocketSource) {
      do {
        switch event {
        case .received(let bytes): buffer.append(bytes)
        case .sent: source.enable(.data)
        default: return source.invalidate()  // .end or .failed
        }
        while !source.isCongested, let message = try buffer.nextMessage() {
          let length = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: message.count >> $0) }
          try source.send(length + message)
        }
        if source.isCongested { source.disable(.data) }
      } catch {
        source.invalidate()
      }
    }
  }

  @Test func `the server of messages, with a peer that drips, one that lies and one that is cut`() async throws {
    try await withLoopThread { thread in
      let loop = thread.loop
      let listener = SocketSource(try .listening(at: .loopback()), for: .accept) { _, event in
        switch event {
        case .accepted(let socket, from: _): _ = MessageClient(socket, on: loop)
        case .acceptPaused(let error, for: let pause): print("\(error): accepting rests for \(pause)")
        default: break
        }
      }
      loop.add(listener)
      let address = listener.socket!.localAddress!

      let dripping = try await Connection.connected(to: address, on: loop)
      for byte: UInt8 in [0, 0, 0, 2, 7, 8, 0, 0, 0, 0] {
        try await dripping.write([byte])
        try await loop.clock.sleep(for: .milliseconds(1))
      }
      #expect(try await dripping.read(exactly: 10) == [0, 0, 0, 2, 7, 8, 0, 0, 0, 0])

      let lying = try await Connection.connected(to: address, on: loop)
      try await lying.write([255, 255, 255, 255])
      #expect(try await text(from: lying) == "")

      let cut = try await Connection.connected(to: address, on: loop)
      try await cut.write([0, 0, 0, 5, 1])
      try await cut.finishWriting()
      #expect(try await text(from: cut) == "")
      listener.invalidate()
    }
  }

  @Test func `a client that sends and does not read is not read from until it reads`() throws {
    try withVirtualLoop { virtual in
      virtual.looksAtDescriptors = true
      let (near, far) = try Socket.pair()
      _ = MessageClient(near, on: virtual.loop)
      let message: [UInt8] = [0, 0, 4, 0] + [UInt8](repeating: 5, count: 1_024)
      let flood = [UInt8]((0..<1_024).map { _ in message }.joined())
      var sent = 0
      var lastSent = -1
      while sent != lastSent {
        lastSent = sent
        // One after the other: where one send ends in the middle of a message, the next goes on.
        while true {
          let count = try far.send(flood[(sent % message.count)...])
          sent += count
          if count == 0 { break }
        }
        virtual.advance(by: .seconds(1))
      }
      var received = 0
      for _ in 0..<10_000 where received < sent / message.count * message.count {
        while case .bytes(let bytes) = try far.receive() { received += bytes.count }
        virtual.advance(by: .seconds(1))
      }
      #expect(received == sent / message.count * message.count)
    }
  }

  @Test func `a queue takes one piece whatever its limit, and no more`() throws {
    try withVirtualLoop { virtual in
      let (near, far) = try Socket.pair()
      let source = SocketSource(near, for: .data) { _, _ in }
      virtual.loop.add(source)
      source.queueLimit = 10
      try source.send([UInt8](repeating: 0, count: 4 << 20))
      #expect(source.queuedByteCount > 10 && source.isCongested)
      #expect(throws: SocketError.congested) { try source.send([1]) }
      source.invalidate()
      #expect(throws: SocketError.invalid) { try source.send([1]) }
      _ = far
    }
  }

  @Test func `after your side's end, which follows what is queued, a send throws a reset`() throws {
    try withVirtualLoop { virtual in
      let (near, far) = try Socket.pair()
      let source = SocketSource(near, for: .data) { _, _ in }
      virtual.loop.add(source)
      try source.send([1])
      try source.finishWriting()
      #expect(throws: SocketError.reset) { try source.send([2]) }
      #expect(try far.receive() == .bytes([1]) && far.receive() == .end)
      #expect(source.isValid)
    }
  }

  // MARK: - Datagrams, pipes and the standard input

  @Test func `datagrams are sent back`() async throws {
    try await withLoopThread { thread in
      let loop = thread.loop
      let server = SocketSource(try .datagram(at: .loopback()), for: .data) { server, event in
        guard case .datagram(let datagram) = event, let sender = datagram.sender else { return }
        _ = try? server.socket?.send(datagram.bytes, to: sender)
      }
      loop.add(server)

      let client = try Socket.datagram(at: .loopback())
      for datagram: [UInt8] in [[1, 2, 3], []] {
        _ = try client.send(datagram, to: server.socket!.localAddress!)
        try await loop.readable(client.descriptor, timeout: .seconds(60))
        let answer = try client.receive()
        #expect(answer == .datagram(.init(bytes: datagram, sender: server.socket!.localAddress!)))
      }
      server.invalidate()
    }
  }

  @Test(.offThePool) func `lines of a pipe`() throws {
    let output = Output()
    @Sendable func print(_ line: String) { output.add(line) }
    var ends: [CInt] = [0, 0]
    try #require(unsafe pipe(&ends) == 0)
    let descriptor = ends[0]
    let text = Array("one\ntwo\nhalf".utf8)
    #expect(unsafe write(ends[1], text, text.count) == text.count)
    close(ends[1])
    let thread = try LoopThread(name: "input")
    let result = try thread.sync {
      let loop = Loop.current
      var buffer = FrameBuffer(longest: 1_000)
      let input = try Loop.DescriptorSource(descriptor, for: .read) { source, _ in
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = unsafe read(source.descriptor, &bytes, bytes.count)
        guard count > 0 else {
          if count == 0 || errno != EAGAIN && errno != EINTR { source.invalidate() }
          return
        }
        buffer.append(bytes[..<count])
        do {
          while let line = try buffer.nextLine() { print(String(decoding: line, as: UTF8.self)) }
        } catch {
          source.invalidate()
        }
      }
      loop.add(input)
      while input.isValid { loop.run(for: .seconds(60), returnAfterSourceHandled: true) }
      return input.invalidationReason
    }
    thread.stop()
    close(descriptor)
    #expect(output.lines == ["one", "two"] && result == nil)
  }

  @Test(.offThePool) func `a regular file is refused by the initializer, and the null device by the kernel`() throws {
    let null = unsafe open("/dev/null", O_RDONLY)
    let file = unsafe open("/proc/self/exe", O_RDONLY)
    #expect(throws: Loop.DescriptorError.notPollable(file)) {
      try Loop.DescriptorSource(file, for: .read) { _, _ in }
    }
    let thread = try LoopThread(name: "null")
    let reason = try thread.sync {
      let source = try Loop.DescriptorSource(null, for: .read) { _, _ in }
      Loop.current.add(source)
      Loop.current.run(for: .zero)
      return source.invalidationReason
    }
    thread.stop()
    close(null)
    close(file)
    #expect(reason == .refused(errno: EPERM))
  }

  // MARK: - What the tests share

  /// Everything up to the peer's end. A reset is an end as well: the peer closed without reading all.
  private func text(from connection: Connection) async throws -> String {
    var bytes: [UInt8] = []
    do {
      for try await piece in connection { bytes += piece }
    } catch ConnectionError.socket(.reset) {}
    return String(decoding: bytes, as: UTF8.self)
  }
}
