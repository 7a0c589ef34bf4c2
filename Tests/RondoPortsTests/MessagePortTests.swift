import Glibc
import Rondo
import RondoPorts
import RondoSockets
import Testing

/// Both ends of a message port in one process: the local one on a loop's thread, the remote one on the test's.
@Suite struct MessagePortTests {
  /// A local port on a loop of its own.
  private struct Served {
    let name: MessagePortName
    let port: LocalMessagePort
    let running = RunningLoop()

    init(
      options: MessagePortOptions = MessagePortOptions(), ended: ((PeerCredentials, MessagePortError) -> Void)? = nil,
      handler: @escaping (MessagePortRequest) -> Void
    ) throws {
      name = try uniqueName()
      port = try LocalMessagePort(name, options: options, connectionEnded: ended, handler: handler)
      running.loop.add(port)
    }

    /// Answers with what it was sent.
    static func echo(
      options: MessagePortOptions = MessagePortOptions(), ended: ((PeerCredentials, MessagePortError) -> Void)? = nil
    ) throws -> Served {
      try Served(options: options, ended: ended) { try? $0.reply($0.bytes) }
    }

    func remote(
      options: MessagePortOptions = MessagePortOptions(), invalidated: ((MessagePortError) -> Void)? = nil
    ) throws -> RemoteMessagePort {
      try RemoteMessagePort(name, options: options, invalidated: invalidated)
    }
  }

  // MARK: - Requests

  @Test func `a request gets its reply, and the handler what was sent and by whom`() throws {
    let seen = Box("")
    let served = try Served { request in
      seen.value = "\(request.identifier) \(request.text) \(request.sender.process) \(request.wantsReply)"
      try? request.reply(Array("pong".utf8))
    }
    let remote = try served.remote()
    #expect(try remote.ask("ping", identifier: -3) == "pong")
    #expect(seen.value == "-3 ping \(getpid()) true")
    #expect(remote.peer.process == getpid())
  }

  @Test func `a reply without bytes is nil, and an empty one is empty`() throws {
    let served = try Served { try? $0.reply($0.identifier == 0 ? nil : []) }
    let remote = try served.remote()
    #expect(try remote.ask("a", identifier: 0) == nil)
    #expect(try remote.ask("a", identifier: 1) == "")
  }

  @Test func `a request the handler lets go of fails at once`() throws {
    let served = try Served { _ in }
    #expect(throws: MessagePortError.unanswered) { try served.remote().ask("a") }
  }

  @Test func `a port that answers by value answers each message`() throws {
    let name = try uniqueName()
    let running = RunningLoop()
    let port = try LocalMessagePort(answering: name) { $0.text == "none" ? nil : $0.bytes.reversed() }
    running.loop.add(port)
    let remote = try RemoteMessagePort(name)
    #expect(try remote.ask("abc") == "cba")
    #expect(try remote.ask("none") == nil)
  }

  @Test func `a large message comes and goes whole`() throws {
    let served = try Served.echo()
    let bytes = (0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 >> 4) }
    let remote = try served.remote()
    #expect(try ask(remote, bytes) == bytes)
  }

  @Test func `messages of one sender come in order`() throws {
    let seen = Box<[Int32]>([])
    let served = try Served { request in
      seen.change { $0.append(request.identifier) }
      if request.wantsReply { try? request.reply() }
    }
    let remote = try served.remote()
    for number in 0..<500 { try tell(remote, Int32(number)) }
    #expect(try remote.ask("end", identifier: 500) == nil)
    #expect(seen.value == Array(0...500))
  }

  @Test func `several threads wait at one remote port, each for its own reply`() throws {
    let served = try Served.echo()
    let remote = try served.remote()
    let threads = (0..<4).map { thread in
      TestThread {
        for number in 0..<100 {
          let text = "\(thread)-\(number)"
          guard try remote.ask(text) == text else { return false }
        }
        return true
      }
    }
    for thread in threads { #expect(try thread.join()) }
  }

  @Test func `a request can be answered later, from another thread, in any order`() throws {
    let held = Box<[MessagePortRequest]>([])
    let served = try Served { request in held.change { $0.append(request) } }
    let remote = try served.remote()
    let askers = ["a", "b"].map { text in TestThread { try remote.ask(text) } }
    waitUntil { held.value.count == 2 }
    for request in held.value.reversed() { try request.reply(request.bytes) }
    #expect(try askers.map { try $0.join() } == ["a", "b"])
  }

  @Test func `a request is answered once`() throws {
    let second = Box<MessagePortError?>(nil)
    let served = try Served { request in
      try? request.reply()
      do throws(MessagePortError) { try request.reply() } catch { second.value = error }
    }
    #expect(try served.remote().ask("a") == nil)
    waitUntil { second.value != nil }
    #expect(second.value == .notAwaited)
  }

  @Test func `a message that wants no reply cannot be answered`() throws {
    let found = Box<MessagePortError?>(nil)
    let served = try Served { request in
      do throws(MessagePortError) { try request.reply() } catch { found.value = error }
    }
    try tell(try served.remote(), 0)
    waitUntil { found.value != nil }
    #expect(found.value == .notAwaited)
  }

  // MARK: - Limits

  @Test func `a message longer than the sender's limit is not sent`() throws {
    let served = try Served.echo()
    let remote = try served.remote(options: MessagePortOptions(messageLimit: 3))
    #expect(throws: MessagePortError.messageTooLong(count: 4, limit: 3)) { try remote.ask("long") }
    #expect(try remote.ask("abc") == "abc")
  }

  @Test func `a message longer than the receiver's limit ends the connection with the reason`() throws {
    let ended = Box<MessagePortError?>(nil)
    let served = try Served.echo(options: MessagePortOptions(messageLimit: 3)) { ended.value = $1 }
    let remote = try served.remote()
    #expect(throws: MessagePortError.refused(.tooLong)) { try ask(remote, [UInt8](repeating: 0, count: 3_000_000)) }
    #expect(remote.invalidationReason == .refused(.tooLong))
    waitUntil { ended.value != nil }
    #expect(ended.value == .malformed(.tooLong(stated: 3_000_000, limit: 3)))
  }

  @Test func `an answer longer than the limit is refused, and another one can be given`() throws {
    let served = try Served(options: MessagePortOptions(messageLimit: 3)) { request in
      do throws(MessagePortError) { try request.reply([1, 2, 3, 4]) } catch {
        try? request.reply([UInt8](error == .messageTooLong(count: 4, limit: 3) ? [79, 75] : []))
      }
    }
    #expect(try served.remote().ask("a") == "OK")
  }

  @Test func `more senders than the limit are told so, and there is room when one leaves`() throws {
    let served = try Served.echo(options: MessagePortOptions(connectionLimit: 1))
    let first = try served.remote()
    #expect(try first.ask("a") == "a")
    #expect(throws: MessagePortError.refused(.crowded)) { try served.remote().ask("a") }
    first.invalidate()
    waitUntil { served.port.connectionCount == 0 }
    #expect(try served.remote().ask("b") == "b")
  }

  @Test func `another user's sender is refused`() throws {
    let served = try Served.echo(options: MessagePortOptions(peers: .users([geteuid() + 1])))
    #expect(throws: MessagePortError.refused(.notPermitted)) { try served.remote().ask("a") }
  }

  @Test func `another user's port is not talked to`() throws {
    let served = try Served.echo()
    let credentials = PeerCredentials(process: getpid(), user: geteuid(), group: getegid())
    #expect(throws: MessagePortError.peerNotPermitted(credentials)) {
      try served.remote(options: MessagePortOptions(peers: .users([geteuid() + 1])))
    }
    #expect(try served.remote(options: MessagePortOptions(peers: .anyone)).ask("a") == "a")
  }

  // MARK: - Bad peers

  @Test(arguments: FrameTests.corpus.filter { $0.2 != nil })
  func `what is no message is answered with an error and a closed connection, and others live on`(
    _ input: String, _ count: Int, _ error: FrameError?
  ) throws {
    let ended = Box<MessagePortError?>(nil)
    let served = try Served.echo(options: MessagePortOptions(messageLimit: 4096)) { ended.value = $1 }
    let other = try served.remote()
    #expect(try other.ask("before") == "before")
    let client = try RawClient(served.name)
    try client.send(try Corpus.bytes(of: input, in: "message-port"))
    if error == .truncated { try client.socket.finishWriting() }
    let isTooLong = if case .tooLong? = error { true } else { false }
    #expect(try client.receive() == [.failure(isTooLong ? .tooLong : .malformed)])
    waitUntil { ended.value != nil }
    #expect(ended.value == .malformed(error!))
    #expect(try other.ask("after") == "after")
  }

  @Test(arguments: [Frame.Kind.reply, .emptyReply])
  func `a sender that replies to what nobody asked is closed`(_ kind: Frame.Kind) throws {
    let served = try Served.echo()
    let client = try RawClient(served.name)
    try client.send(Frame(kind, serial: 1).encoded)
    #expect(try client.receive() == [.failure(.malformed)])
  }

  @Test func `a port that answers with garbage is not talked to again`() throws {
    let name = try uniqueName()
    let listener = try Socket.listening(at: name.address)
    let remote = try RemoteMessagePort(name)
    _ = try listener.accept()!.socket.send([0, 1, 2])
    #expect(throws: MessagePortError.self) { try remote.ask("a") }
    #expect(!remote.isValid)
  }

  @Test func `a message that was handed over is sent, though the receiver ends the connection`() throws {
    let name = try uniqueName()
    let listener = try Socket.listening(at: name.address)
    let remote = try RemoteMessagePort(name)
    let connection = try #require(try listener.accept()).socket
    _ = try connection.send(Frame.failure(.closing).encoded[...])
    try tell(remote, 0)
    #expect(remote.invalidationReason == .refused(.closing))
    #expect(throws: MessagePortError.refused(.closing)) { try tell(remote, 1) }
  }

  @Test func `replies nobody waits for are passed over`() throws {
    let name = try uniqueName()
    let listener = try Socket.listening(at: name.address)
    let remote = try RemoteMessagePort(name)
    let connection = try listener.accept()!.socket
    _ = try connection.send(Frame(.reply, serial: 999, [1]).encoded[...])
    let asker = TestThread { try remote.ask("a") }
    let client = Box<Socket>(connection)
    _ = try client.value.send(Frame(.reply, serial: 1, [65]).encoded[...])
    #expect(try asker.join() == "A")
  }

  // MARK: - Time

  @Test func `a reply that does not come in time is an error, never before its time, and the port goes on`() throws {
    let held = Box<[MessagePortRequest]>([])
    let served = try Served { request in
      if request.identifier == 1 { held.change { $0.append(request) } } else { try? request.reply(request.bytes) }
    }
    let remote = try served.remote()
    let start = SuspendingClock.now
    #expect(throws: MessagePortError.replyTimedOut) { try ask(remote, [], identifier: 1, reply: .milliseconds(20)) }
    #expect(SuspendingClock.now - start >= .milliseconds(20))
    // The late reply is nobody's.
    waitUntil { held.value.count == 1 }
    try held.value[0].reply([1])
    #expect(try remote.ask("next") == "next")
  }

  @Test func `a reader that does not read costs the sender its time and no more`() throws {
    let name = try uniqueName()
    let listener = try Socket.listening(at: name.address)
    let remote = try RemoteMessagePort(name)
    let start = SuspendingClock.now
    #expect(throws: MessagePortError.sendTimedOut) {
      try ask(remote, [UInt8](repeating: 1, count: 4_000_000), send: .milliseconds(20))
    }
    #expect(SuspendingClock.now - start >= .milliseconds(20))
    #expect(throws: MessagePortError.sendTimedOut) { try tell(remote, 5, .milliseconds(1)) }
    #expect(remote.isValid)
    // Once it reads, the rest of what had begun comes, and of the other nothing.
    let client = try #require(try listener.accept()).socket
    var decoder = FrameDecoder<Frame>(limit: 4_000_000)
    var frames: [Frame] = []
    while frames.count < 1 {
      try ignoringTimeout { () throws(MessagePortError) in try tell(remote, 6, .zero) }
      if case .bytes(let bytes) = try client.receive() { decoder.append(bytes) }
      while let frame = try decoder.next() { frames.append(frame) }
    }
    #expect(frames[0].payload.count == 4_000_000)
    #expect(frames.dropFirst().allSatisfy { $0.identifier == 6 })
  }

  @Test func `a slow reader of replies is read no more, and gets them all in the end`() throws {
    let count = Box(0)
    let served = try Served(options: MessagePortOptions(replyLimit: 100_000)) { request in
      count.change { $0 += 1 }
      try? request.reply([UInt8](repeating: 2, count: 50_000))
    }
    let client = try RawClient(served.name)
    for serial in 1...200 { try client.send(Frame(.request, serial: UInt32(serial)).encoded) }
    // What the kernel's buffers and the queue hold is far less than all.
    waitUntil { count.value >= 2 }
    #expect(try served.remote().ask("a")?.utf8.count == 50_000)
    #expect(count.value < 201)
    let frames = try client.receive(200)
    #expect(frames.map(\.serial) == Array(1...200))
    #expect(count.value == 201)
  }

  // MARK: - The end

  @Test func `an invalidated port tells whoever waits`() throws {
    let held = Box<[MessagePortRequest]>([])
    let served = try Served { request in held.change { $0.append(request) } }
    let remote = try served.remote()
    let asker = TestThread { try remote.ask("a") }
    waitUntil { held.value.count == 1 }
    served.port.invalidate()
    #expect(throws: MessagePortError.refused(.closing)) { try asker.join() }
    #expect(throws: MessagePortError.peerGone) { try held.value[0].reply() }
    #expect(throws: MessagePortError.refused(.closing)) { try remote.ask("b") }
    #expect(!served.port.isValid)
  }

  @Test func `a remote port invalidated while somebody waits lets them go`() throws {
    let held = Box<[MessagePortRequest]>([])
    let served = try Served { request in held.change { $0.append(request) } }
    let told = Box(0)
    let remote = try served.remote { _ in told.change { $0 += 1 } }
    let asker = TestThread { try remote.ask("a") }
    waitUntil { held.value.count == 1 }
    remote.invalidate()
    #expect(throws: MessagePortError.invalid) { try asker.join() }
    #expect(throws: MessagePortError.invalid) { try remote.ask("b") }
    // Whoever does it knows.
    #expect(told.value == 0)
  }

  @Test func `a loop that ends takes its port's connections with it`() throws {
    let served = try Served.echo()
    let remote = try served.remote()
    #expect(try remote.ask("a") == "a")
    served.running.stop()
    // The name is the port's, and the port is ours: the next loop serves.
    let next = RunningLoop()
    #expect(next.loop.add(served.port))
    #expect(try remote.ask("b") == "b")
  }

  // MARK: - Support

  private func ask(
    _ remote: RemoteMessagePort, _ bytes: [UInt8], identifier: Int32 = 0, send: Duration = .seconds(60),
    reply: Duration = .seconds(60)
  ) throws(MessagePortError) -> [UInt8]? {
    try remote.request(bytes, identifier: identifier, sendTimeout: send, replyTimeout: reply)
  }

  private func tell(
    _ remote: RemoteMessagePort, _ identifier: Int32, _ timeout: Duration = .seconds(60)
  ) throws(MessagePortError) {
    try remote.send([], identifier: identifier, timeout: timeout)
  }

  private func ignoringTimeout(_ body: () throws(MessagePortError) -> Void) throws(MessagePortError) {
    do throws(MessagePortError) { try body() } catch { if error != .sendTimedOut { throw error } }
  }
}
