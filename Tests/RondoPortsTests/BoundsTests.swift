import Glibc
import Rondo
import RondoPorts
import RondoSockets
import RondoTesting
import Testing

/// Senders that want to exhaust a port: each attack meets its bound, and honest senders are served meanwhile.
@Suite struct BoundsTests {
  /// A port on a loop of its own.
  private struct Served {
    let name: MessagePortName
    let port: LocalMessagePort
    let ends = Box<[MessagePortError]>([])
    let running = RunningLoop()

    init(_ options: MessagePortOptions, handler: @escaping (MessagePortRequest) -> Void) throws {
      name = try uniqueName()
      let ends = ends
      port = try LocalMessagePort(
        name, options: options, connectionEnded: { _, error in ends.change { $0.append(error) } }, handler: handler)
      running.loop.add(port)
    }

    /// Answers with what it was sent.
    static func echo(_ options: MessagePortOptions) throws -> Served {
      try Served(options) { try? $0.reply($0.bytes) }
    }

    /// Whether an honest sender gets its answer, some time within a minute.
    func isServing() -> Bool {
      let end = SuspendingClock.now.advanced(by: .seconds(60))
      repeat {
        if let remote = try? RemoteMessagePort(name), (try? remote.ask("honest")) == "honest" { return true }
        usleep(1_000)
      } while SuspendingClock.now < end
      return false
    }
  }

  /// A header that promises a payload.
  private static func header(_ length: Int) -> [UInt8] {
    var bytes = Array(Frame(.request, serial: 1, []).encoded)
    for shift in 0..<4 { bytes[16 + shift] = UInt8(truncatingIfNeeded: length >> (8 * shift)) }
    return bytes
  }

  // MARK: - Replies

  @Test func `a burst of requests is served only as far as its sender reads the replies`() throws {
    let options = MessagePortOptions(replyLimit: 1 << 20)
    let (calls, most) = (Box(0), Box(0))
    let port = Box<LocalMessagePort?>(nil)
    let reply = [UInt8](repeating: 1, count: 256 << 10)
    let served = try Served(options) { request in
      calls.change { $0 += 1 }
      // The honest one's answer is short.
      if request.bytes.isEmpty { try? request.reply(reply) } else { try? request.reply(request.bytes) }
      most.change { $0 = max($0, port.value?.heldByteCount ?? 0) }
    }
    port.value = served.port
    let attacker = try RawClient(served.name)
    try attacker.send((1...3_276).flatMap { Frame(.request, serial: UInt32($0)).encoded })
    waitUntil { calls.value >= 5 }
    #expect(served.isServing() && served.isServing())
    // What the socket took, what waits, and the one that was too much.
    #expect(calls.value < 20)
    #expect(most.value <= (1 << 20) + (256 << 10) + (256 << 10))
    served.port.invalidate()
  }

  @Test func `late replies to a sender that does not read are refused, and can be given when it has read`() throws {
    let kept = Box<[MessagePortRequest]>([])
    let served = try Served(MessagePortOptions(replyLimit: 100_000)) { request in
      kept.change { $0.append(request) }
    }
    let attacker = try RawClient(served.name)
    try attacker.send((1...100).flatMap { Frame(.request, serial: UInt32($0)).encoded })
    waitUntil { kept.value.count == 100 }
    let reply = [UInt8](repeating: 1, count: 50_000)
    var waiting: [MessagePortRequest] = []
    for request in kept.value {
      do throws(MessagePortError) {
        try request.reply(reply)
      } catch {
        guard case .tooManyReplies(let count, limit: 100_000) = error else { throw error }
        #expect(count > 100_000 && count <= 100_000 + 50_020)
        waiting.append(request)
      }
    }
    #expect(!waiting.isEmpty)
    #expect(served.port.heldByteCount <= 100_000 + 2 * 50_100 + 100 * 1_000)
    let accepted = 100 - waiting.count
    #expect(try attacker.receive(accepted).count == accepted)
    waitUntil { (try? waiting[0].reply([7])) != nil }
    #expect(try attacker.receive(1).map(\.payload) == [[7]])
  }

  // MARK: - Requests

  @Test func `a sender whose requests are kept is served no more, others are, and it goes on with the first answer`()
    throws
  {
    let kept = Box<[MessagePortRequest]>([])
    let served = try Served(MessagePortOptions(requestLimit: 16)) { request in
      if request.bytes.isEmpty { kept.change { $0.append(request) } } else { try? request.reply(request.bytes) }
    }
    let attacker = try RawClient(served.name)
    try attacker.send((1...2_000).flatMap { Frame(.request, serial: UInt32($0)).encoded })
    waitUntil { kept.value.count == 16 }
    #expect(served.isServing() && served.isServing())
    #expect(kept.value.count == 16)
    // With each answer one more.
    try kept.value[3].reply()
    waitUntil { kept.value.count == 17 }
    #expect(served.isServing())
    #expect(kept.value.count == 17)
    var answered = Set([3])
    while answered.count < 2_000 {
      waitUntil { kept.value.count > answered.count }
      for (place, request) in kept.value.enumerated() where answered.insert(place).inserted { try request.reply() }
    }
    #expect(try attacker.receive(2_000).count == 2_000)
    waitUntil { served.port.heldByteCount == 0 }
    #expect(served.port.heldByteCount == 0)
  }

  @Test func `requests kept of senders that have gone count too, and one too many is told so`() throws {
    let kept = Box<[MessagePortRequest]>([])
    let options = MessagePortOptions(messageLimit: 1_000, memoryLimit: 4 << 20)
    let served = try Served(options) { request in
      if request.identifier == 1 { kept.change { $0.append(request) } } else { try? request.reply(request.bytes) }
    }
    let payload = [UInt8](repeating: 1, count: 1_000)
    var refused = 0
    for _ in 0..<30 {
      let attacker = try RawClient(served.name)
      try attacker.send((1...100).flatMap { Frame(.request, serial: UInt32($0), identifier: 1, payload).encoded })
      try attacker.socket.finishWriting()
      refused += try attacker.receive().count { $0.kind == .failure }
    }
    // 1,000 and 512 bytes each, and half of the limit for them: the rest is refused, honest ones like the others.
    let most = (options.heldLimit / 2) / (1_000 + PortAccount.costOfRequest)
    #expect(kept.value.count == most)
    #expect(refused == 3_000 - most)
    #expect(served.port.heldByteCount <= 4 << 20)
    #expect(throws: MessagePortError.refused(.crowded)) { try RemoteMessagePort(served.name).ask("honest") }
    kept.value = []
    #expect(served.isServing())
    waitUntil { served.port.heldByteCount == 0 }
    #expect(served.port.heldByteCount == 0)
  }

  // MARK: - Half messages

  @Test func `half messages of all senders together are bounded, and honest ones are served`() throws {
    let options = MessagePortOptions(messageLimit: 1 << 20, memoryLimit: 8 << 20)
    let served = try Served.echo(options)
    // One byte short of the longest, by 64 senders.
    let half = Self.header(1 << 20) + [UInt8](repeating: 7, count: (1 << 20) - 1)
    var most = 0
    let attackers = try (0..<64).map { _ in
      let attacker = try RawClient(served.name)
      try? attacker.send(half)
      most = max(most, served.port.heldByteCount)
      return attacker
    }
    #expect(served.isServing())
    let large = [UInt8](repeating: 9, count: 1 << 20)
    let honest = try RemoteMessagePort(served.name)
    #expect(try honest.request(large, sendTimeout: .seconds(60), replyTimeout: .seconds(60)) == large)
    // Whoever stood still longest had to go, and knows why.
    #expect(try attackers[0].receive() == [.failure(.crowded)])
    #expect(served.ends.value.contains(.refused(.crowded)))
    #expect(most <= options.heldLimit + (1 << 20))
    #expect(served.port.heldByteCount <= options.heldLimit)
  }

  @Test func `a half message that stands still is ended in time, and never before`() throws {
    let time = Duration.milliseconds(50)
    let served = try Served.echo(MessagePortOptions(connectionLimit: 4, idleLimit: time))
    let start = SuspendingClock.now
    let attackers = try (0..<4).map { _ in
      let attacker = try RawClient(served.name)
      try attacker.send(Array(Self.header(10).prefix(7)))
      return attacker
    }
    // They have all the connections, but not for ever.
    #expect(served.isServing())
    #expect(SuspendingClock.now - start >= time)
    for attacker in attackers { #expect(try attacker.receive() == [.failure(.tooSlow)]) }
    // The port tells an end after it has closed the connection.
    waitUntil { served.ends.value.count >= 4 }
    #expect(served.ends.value.filter { $0 == .refused(.tooSlow) }.count == 4)
  }

  @Test func `a message that comes slowly is not too slow as long as it moves`() throws {
    let time = Duration.milliseconds(300)
    let served = try Served.echo(MessagePortOptions(idleLimit: time))
    let slow = try RawClient(served.name)
    let start = SuspendingClock.now
    var (last, longestPause) = (start, Duration.zero)
    for byte in Frame(.request, serial: 1, [UInt8](repeating: 3, count: 30)).encoded {
      try slow.send([byte])
      longestPause = max(longestPause, SuspendingClock.now - last)
      last = .now
      usleep(20_000)
    }
    #expect(SuspendingClock.now - start > time * 2)
    let frames = try slow.receive(1)
    // If this thread stood still for so long, so did the message.
    #expect(frames.first?.payload.count == 30 || longestPause >= time)
    #expect(served.isServing())
  }

  @Test func `a message that comes a byte at a time is ended when its time is over, and never before`() throws {
    let time = Duration.milliseconds(100)
    let options = MessagePortOptions(
      connectionLimit: 1, idleLimit: .seconds(3_600), messageTimeout: time)
    let served = try Served.echo(options)
    let start = SuspendingClock.now
    let attacker = try RawClient(served.name)
    try attacker.send(Self.header(1 << 20))
    waitUntil {
      usleep(5_000)
      return (try? attacker.send([1])) == nil
    }
    // The port tells its end after it has closed the connection.
    waitUntil { !served.ends.value.isEmpty }
    #expect(served.ends.value == [.refused(.tooSlow)])
    #expect(SuspendingClock.now - start >= time)
    #expect(served.isServing())
  }

  @Test func `a reply that is read a little at a time is ended when its time is over`() throws {
    let options = MessagePortOptions(idleLimit: .seconds(3_600), messageTimeout: .milliseconds(100))
    let served = try Served(options) { request in
      try? request.reply(request.bytes.isEmpty ? [UInt8](repeating: 1, count: 16 << 20) : request.bytes)
    }
    let attacker = try RawClient(served.name)
    try attacker.send(Frame(.request, serial: 1).encoded)
    waitUntil {
      usleep(5_000)
      _ = try? attacker.socket.receive(limit: 1_024)
      return !served.ends.value.isEmpty
    }
    #expect(served.ends.value == [.refused(.tooSlow)])
    #expect(served.isServing())
  }

  @Test func `a reply that nobody reads is ended in time`() throws {
    let options = MessagePortOptions(idleLimit: .milliseconds(50))
    let served = try Served(options) { request in
      try? request.reply(request.bytes.isEmpty ? [UInt8](repeating: 1, count: 4 << 20) : request.bytes)
    }
    let attacker = try RawClient(served.name)
    try attacker.send(Frame(.request, serial: 1).encoded)
    waitUntil { served.ends.value == [.refused(.tooSlow)] }
    #expect(served.ends.value == [.refused(.tooSlow)])
    waitUntil { served.port.heldByteCount == 0 }
    #expect(served.port.heldByteCount == 0)
    #expect(served.isServing())
  }

  // MARK: - Without a listener

  /// In a process of its own.
  private static func loseListener() throws {
    let loop = Loop.current
    let port = try LocalMessagePort(uniqueName()) { _ in }
    loop.add(port)
    // epoll(7) takes no regular file.
    let file = unsafe open("/proc/self/exe", O_RDONLY)
    precondition(dup2(file, port.loopItems.listener!.descriptor) >= 0)
    loop.run(for: .zero)
    precondition(!port.isValid)
  }

  @Test func `a port whose listener the kernel does not watch says why, and becomes invalid`() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      try Self.loseListener()
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(text.contains("can receive nothing more, and becomes invalid: "))
  }

  // MARK: - Connections

  @Test func `the connections a port takes by default leave room for the rest of the program`() {
    var limit = rlimit()
    #expect(unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
    let options = MessagePortOptions()
    #expect(options.connectionLimit == max(1, min(1_024, Int(clamping: limit.rlim_cur) / 4)))
  }

  @Test func `quiet connections make room for a newcomer when there is none, and only then`() throws {
    let time = Duration.milliseconds(50)
    let served = try Served.echo(MessagePortOptions(connectionLimit: 3, idleLimit: time))
    let quiet = try (0..<3).map { _ in try RemoteMessagePort(served.name) }
    for remote in quiet { #expect(try remote.ask("a") == "a") }
    // Much longer than the time.
    usleep(300_000)
    #expect(served.port.connectionCount == 3)
    #expect(served.ends.value == [])
    let start = SuspendingClock.now
    #expect(served.isServing())
    #expect(SuspendingClock.now - start >= time)
    // The first was quiet longest.
    #expect(throws: MessagePortError.refused(.crowded)) { try quiet[0].ask("b") }
    #expect(try quiet[2].ask("b") == "b")
  }

  @Test func `peers that are sent away have a part of the loop's time, and the rest of them wait`() throws {
    let name = try uniqueName()
    try withVirtualLoop { virtual in
      let port = try LocalMessagePort(name, options: MessagePortOptions(peers: .users([]))) { _ in }
      virtual.loop.add(port)
      let listener = try #require(port.loopItems.listener)
      let strangers = try (0..<66).map { _ in try RawClient(name) }
      for _ in 0..<63 {
        virtual.makeReady(listener, .read)
        virtual.runUntilIdle()
      }
      #expect(listener.enabled == .read)
      virtual.makeReady(listener, .read)
      virtual.runUntilIdle()
      #expect(listener.enabled == [])
      virtual.advance(by: .milliseconds(10))
      #expect(listener.enabled == .read)
      virtual.makeReady(listener, .read)
      virtual.runUntilIdle()
      #expect(try strangers[64].receive() == [.failure(.notPermitted)])
      #expect(listener.enabled == .read)
      port.invalidate()
    }
  }

  @Test func `without an idle time half a message may stand still`() throws {
    let served = try Served.echo(MessagePortOptions(connectionLimit: 2, idleLimit: nil))
    let slow = try RawClient(served.name)
    let bytes = Frame(.request, serial: 1, [1, 2]).encoded
    try slow.send(Array(bytes.prefix(9)))
    #expect(served.isServing())
    usleep(100_000)
    try slow.send(Array(bytes.dropFirst(9)))
    #expect(try slow.receive(1).map(\.payload) == [[1, 2]])
  }

  // MARK: - Accounts

  @Test func `an account adds up, and comes down with what it counted`() {
    let account = PortAccount(limit: 10_000)
    var shares = (0..<3).map { _ in PortShare(of: account) }
    for (number, share) in shares.enumerated() { share.hold(number * 1_000) }
    #expect(account.held == 3_000)
    #expect(account.keep(4_488))
    #expect(!account.keep(0))
    #expect(account.held == 8_000 && !account.isExceeded)
    shares[0].hold(2_001)
    #expect(account.isExceeded)
    shares.removeLast()
    #expect(account.held == 8_001)
    account.letGo(of: 4_488)
    shares = []
    #expect(account.held == 0)
  }

  @Test func `a connection is still when nothing moved for a time between looks, nor since`() {
    let account = PortAccount(limit: 1)
    let (one, other) = (PortShare(of: account), PortShare(of: account))
    let start = SuspendingClock.now
    let end = start.advanced(by: .seconds(2))
    let time = Duration.seconds(2)
    #expect(one.age < other.age)
    #expect(!one.isStill(for: time, at: end))
    one.look(at: start)
    #expect(!one.isStill(for: time, at: start))
    one.look(at: start.advanced(by: .seconds(1)))
    #expect(!one.isStill(for: time, at: start.advanced(by: .seconds(1))))
    one.look(at: end)
    #expect(one.isStill(for: time, at: end))
    #expect(!one.isStill(for: nil, at: end))
    one.move()
    #expect(!one.isStill(for: time, at: end) && one.age > other.age)
    one.look(at: end)
    #expect(!one.isStill(for: time, at: end))
  }

  @Test func `a message is endless when it was under way at each look for a time, in either direction`() {
    let share = PortShare(of: PortAccount(limit: 1))
    let start = SuspendingClock.now
    func isEndless(at second: Int, _ input: Int?, _ output: Int?) -> Bool {
      // Bytes move all the time.
      share.move()
      let now = start.advanced(by: .seconds(second))
      share.look(at: now, input: input, output: output)
      return share.isEndless(for: .seconds(2), at: now)
    }
    #expect(!isEndless(at: 0, 1, nil))
    #expect(!isEndless(at: 1, 1, nil))
    // The next message has its own time.
    #expect(!isEndless(at: 2, 2, nil))
    #expect(!isEndless(at: 3, nil, nil))
    #expect(!isEndless(at: 4, 2, 5))
    #expect(!isEndless(at: 5, 3, 5))
    #expect(isEndless(at: 6, 4, 5))
    #expect(!isEndless(at: 7, 4, 6))
    #expect(isEndless(at: 8, 4, nil))
  }
}
