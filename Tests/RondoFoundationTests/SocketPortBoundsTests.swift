import Glibc
import Rondo
import RondoFoundation
import RondoPorts
import RondoSockets
import RondoTestSupport
import Testing

/// Senders that want to exhaust a socket port, and what it does without descriptors.
@Suite struct SocketPortBoundsTests {
  private final class Receiver: PortDelegate, @unchecked Sendable {
    private(set) var count = 0
    private(set) var last: PortMessage?

    func handle(_ message: PortMessage) {
      count += 1
      last = message
    }
  }

  /// What the loop's thread has: a port in its default mode, and what came.
  private struct Stage {
    let port: SocketPort
    let receiver: Receiver
    let address: SocketAddress

    func connect() throws -> Socket {
      let socket = try Socket(family: AF_INET, .stream)
      _ = try socket.connect(to: address)
      return socket
    }

    /// Turns until `condition` holds, for a minute at most.
    func run(until condition: () -> Bool) {
      let end = Date(timeIntervalSinceNow: 60)
      while !condition(), Date.now < end {
        RunLoop.current.run(mode: .default, before: min(end, Date(timeIntervalSinceNow: 0.01)))
      }
    }

    /// Sends as much as the kernel takes, turn by turn; ends early when the port has closed the connection.
    func push(_ bytes: [UInt8], _ socket: Socket) {
      var rest = bytes[...]
      run {
        guard let count = try? socket.send(rest) else { return true }
        rest = rest.dropFirst(count)
        return rest.isEmpty
      }
    }

    func isClosed(_ socket: Socket) -> Bool {
      switch Result(catching: { try socket.receive() }) {
      case .success(.end), .failure: true
      default: false
      }
    }

    /// An honest sender's message comes, if it is repeated: a port that closes the connection cannot say so.
    func serves() throws -> Bool {
      let before = receiver.count
      let remote = try #require(SocketPort(remoteWithTCPPort: address.port!, host: "127.0.0.1"))
      run {
        let honest = NSMutableArray(array: [Data("honest".utf8)])
        remote.send(before: Date(timeIntervalSinceNow: 1), components: honest, from: nil, reserved: 0)
        return receiver.count > before
      }
      return receiver.count > before
    }
  }

  private static func onThread<Value: Sendable>(
    _ change: @escaping @Sendable (inout SocketPort.Limits) -> Void = { _ in },
    _ body: @escaping @Sendable (Stage) throws -> Value
  ) throws -> Value {
    let thread = try LoopThread()
    defer { thread.stop() }
    return try thread.sync {
      let port = SocketPort()
      change(&port.limits)
      let receiver = Receiver()
      port.setDelegate(receiver)
      RunLoop.current.add(port, forMode: .default)
      defer { port.invalidate() }
      let number = try #require(try SocketAddress(data: port.address).port)
      return try body(Stage(port: port, receiver: receiver, address: .loopback(port: number)))
    }
  }

  /// A message's bytes, as many as wanted of its length.
  private static func frame(_ count: Int) -> [UInt8] {
    let address = SocketPortFrame.Signature(
      family: 2, type: 1, transport: 6, address: [16, 2] + [UInt8](repeating: 0, count: 14))
    return SocketPortFrame(identifier: 1, sender: address, components: [.data([UInt8](repeating: 7, count: count))])
      .encoded!
  }

  // MARK: - Attacks

  @Test func `half messages of all senders together are bounded, and honest ones are served`() throws {
    try Self.onThread {
      $0.memoryLimit = 1
    } _: { stage in
      // Never less than two of the longest messages.
      let limit = 2 * SocketPort.messageLimit
      let half = Array(Self.frame(15 << 20).dropLast())
      var most = 0
      let sockets = try (0..<5).map { _ in
        let socket = try stage.connect()
        stage.push(half, socket)
        most = max(most, stage.port.heldByteCount)
        return socket
      }
      stage.run { stage.isClosed(sockets[0]) }
      stage.run { stage.isClosed(sockets[1]) }
      #expect(stage.isClosed(sockets[0]) && stage.isClosed(sockets[1]))
      #expect(!stage.isClosed(sockets[4]))
      #expect(most <= limit && most > 15 << 20)
      #expect(try stage.serves())
    }
  }

  @Test func `a half message that stands still is ended in time, and never before`() throws {
    try Self.onThread {
      $0.idleLimit = 0.05
      $0.connectionLimit = 3
    } _: { stage in
      let start = SuspendingClock.now
      let sockets = try (0..<3).map { _ in
        let socket = try stage.connect()
        stage.push(Array(Self.frame(1).prefix(9)), socket)
        return socket
      }
      stage.run { stage.isClosed(sockets[0]) }
      #expect(SuspendingClock.now - start >= .milliseconds(50))
      stage.run { stage.port.connectionCount == 0 }
      #expect(stage.port.connectionCount == 0 && stage.port.heldByteCount == 0)
      #expect(try stage.serves())
    }
  }

  @Test func `a message that comes a byte at a time is ended when its time is over, and never before`() throws {
    try Self.onThread {
      $0.idleLimit = 3_600
      $0.messageTimeout = 0.1
      $0.connectionLimit = 1
    } _: { stage in
      let start = SuspendingClock.now
      let attacker = try stage.connect()
      stage.push(Array(Self.frame(1 << 20).prefix(64)), attacker)
      stage.run {
        _ = try? attacker.send([1][...])
        return stage.isClosed(attacker)
      }
      #expect(stage.isClosed(attacker))
      #expect(SuspendingClock.now - start >= .milliseconds(100))
      #expect(try stage.serves())
    }
  }

  @Test func `one sender more than the limit is closed, until a quiet one can make room`() throws {
    try Self.onThread {
      $0.idleLimit = 0.05
      $0.connectionLimit = 2
    } _: { stage in
      let quiet = try (0..<2).map { _ in try stage.connect() }
      stage.run { stage.port.connectionCount == 2 }
      let refused = try stage.connect()
      stage.run { stage.isClosed(refused) }
      #expect(stage.isClosed(refused) && stage.port.connectionCount == 2)
      #expect(try stage.serves())
      stage.run { stage.isClosed(quiet[0]) }
      #expect(stage.isClosed(quiet[0]) && !stage.isClosed(quiet[1]))
    }
  }

  /// What a sender of a message over TCP claims to be reached by: where an answer would go, as the receiver sees it.
  private static func claimed(_ sender: [UInt8], _ component: [UInt8]) throws -> (sender: Data?, component: Data?) {
    try onThread { stage in
      func signature(_ address: [UInt8]) -> SocketPortFrame.Signature {
        SocketPortFrame.Signature(family: 2, type: 1, transport: 6, address: address)
      }
      let frame = SocketPortFrame(identifier: 1, sender: signature(sender), components: [.port(signature(component))])
      let socket = try stage.connect()
      stage.push(try #require(frame.encoded), socket)
      stage.run { stage.receiver.count == 1 }
      let message = try #require(stage.receiver.last)
      return (
        (message.sendPort as? SocketPort)?.address,
        message.components?.first.flatMap { $0 as? SocketPort }?.address
      )
    }
  }

  @Test func `a sender from the network is reached at its own host, and at no socket of this machine's files`() throws {
    let file = Array(try SocketAddress.file("/tmp/chosen-by-a-stranger").socketBytes)
    let local = try Self.claimed(file, file)
    #expect(local.sender == nil && local.component == nil)
    // Port 80 of ::1, and of 192.0.2.1.
    let ipv6: [UInt8] = [28, 30, 0, 80, 0, 0, 0, 0] + [UInt8](repeating: 0, count: 15) + [1, 0, 0, 0, 0]
    let ipv4: [UInt8] = [16, 2, 0, 80, 192, 0, 2, 1] + [UInt8](repeating: 0, count: 8)
    #expect(try Self.claimed(ipv6, ipv4).sender == nil)
    let honest = try Self.claimed(ipv4, ipv4)
    #expect(try SocketAddress(data: #require(honest.sender)) == .loopback(port: 80))
    #expect(try SocketAddress(data: #require(honest.component)).description == "192.0.2.1:80")
  }

  @Test func `a message of more components than anybody needs closes its connection`() throws {
    try Self.onThread { stage in
      let address = SocketPortFrame.Signature(
        family: 2, type: 1, transport: 6, address: [16, 2] + [UInt8](repeating: 0, count: 14))
      func bytes(_ count: Int) -> [UInt8] {
        // Put together by hand, since nobody else makes such a message: eight bytes each of type 1, length 0.
        var whole = SocketPortFrame(identifier: 1, sender: address, components: []).encoded!
        for _ in 0..<count { whole += [0, 0, 0, 1, 0, 0, 0, 0] }
        for place in 0..<4 { whole[4 + place] = UInt8(truncatingIfNeeded: whole.count >> (24 - 8 * place)) }
        return whole
      }
      let socket = try stage.connect()
      stage.push(bytes(SocketPortFrame.mostComponents), socket)
      stage.run { stage.receiver.count == 1 }
      #expect(stage.receiver.count == 1)
      stage.push(bytes(SocketPortFrame.mostComponents + 1), socket)
      stage.run { stage.isClosed(socket) }
      #expect(stage.isClosed(socket) && stage.receiver.count == 1)
    }
    let many = NSMutableArray(array: (0...SocketPortFrame.mostComponents).map { _ in Data() })
    let remote = try #require(SocketPort(remoteWithTCPPort: 1, host: nil))
    #expect(!remote.send(before: .distantPast, components: many, from: nil, reserved: 0))
  }

  @Test func `messages that wait for their turn are bounded by their bytes, and come in the end`() throws {
    try Self.onThread {
      $0.memoryLimit = 100_000
    } _: { stage in
      stage.port.queueLimit = 1_000_000
      let message = Self.frame(50_000)
      var rests = try (0..<8).map { _ in
        let socket = try stage.connect()
        return (socket, (0..<20).flatMap { _ in message }[...])
      }
      var most = 0
      stage.run {
        for place in rests.indices {
          let sent = (try? rests[place].0.send(rests[place].1)) ?? 0
          rests[place].1 = rests[place].1.dropFirst(sent)
        }
        most = max(most, stage.port.heldByteCount)
        return stage.receiver.count == 160
      }
      #expect(stage.receiver.count == 160)
      // The limit, the message that was one too many, and of each sender a message and a piece.
      #expect(most <= 100_000 + 53_000 + 8 * (51_000 + 65_536))
      #expect(stage.port.heldByteCount == 0)
    }
  }

  // MARK: - Membership

  @Test(arguments: [false, true])
  func `a schedule handler may touch the port that joins or leaves`(_ isLeaving: Bool) throws {
    let isDone = Tally()
    let thread = Thread {
      let (loop, port) = (Loop.current, SocketPort())
      let touches = Tally()
      let nosy = Loop.Source(schedule: { _, mode in
        guard mode == "later" else { return }
        if port.isValid, port.socket >= 0, port.heldByteCount == 0 { touches.add() }
      }) {}
      loop.add(nosy, to: .common)
      if isLeaving { RunLoop.current.add(port, forMode: .default) }
      // The mode becomes common when the loop's thread next looks at its mail, which is when it adds or removes.
      let other = Thread { loop.addCommonMode("later") }
      other.start()
      while !other.isFinished { usleep(100) }
      if isLeaving {
        RunLoop.current.remove(port, forMode: .default)
      } else {
        RunLoop.current.add(port, forMode: .default)
      }
      port.invalidate()
      isDone.add(touches.count)
    }
    thread.start()
    let end = Date(timeIntervalSinceNow: 60)
    while isDone.count == 0, Date.now < end { Thread.sleep(forTimeInterval: 0.001) }
    #expect(isDone.count == 1)
  }

  // MARK: - Without descriptors

  @Test(.offThePool) func `without a descriptor a port that may fail does, and a sender says that it did not send`()
    async
  {
    await #expect(processExitsWith: .success) {
      let listener = try Socket.listening(at: .loopback())
      let remote = SocketPort(remoteWithTCPPort: listener.localAddress!.port!, host: nil)!
      takeAllDescriptors()
      precondition(SocketPort(tcpPort: 0) == nil)
      precondition(!remote.send(before: .distantPast, components: nil, from: nil, reserved: 0))
    }
  }

  @Test(.offThePool) func `without a descriptor a port that may not fail says why, and how many there may be`()
    async throws
  {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      takeAllDescriptors()
      _ = SocketPort()
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(text.contains("SocketPort() could not be made: no descriptor is left."))
    #expect(text.contains("RLIMIT_NOFILE"))
  }

  /// In a process of its own.
  private static func acceptWithoutDescriptors() throws {
    let port = SocketPort()
    let receiver = Receiver()
    port.setDelegate(receiver)
    RunLoop.current.add(port, forMode: .default)
    RunLoop.current.run(mode: .default, before: .distantPast)
    let number = try SocketAddress(data: port.address).port!
    let client = try Socket(family: AF_INET, .stream)
    _ = try client.connect(to: .loopback(port: number))
    _ = try client.send(Self.frame(1)[...])
    let taken = takeAllDescriptors()
    let turns = Tally()
    RunLoop.current.add(RunLoop.Observer(.beforeTimers) { _ in turns.add() }, forMode: .default)
    RunLoop.current.run(until: Date(timeIntervalSinceNow: 0.3))
    precondition(receiver.count == 0 && turns.count < 40, "\(turns.count) turns")
    for descriptor in taken { close(descriptor) }
    while receiver.count == 0 { RunLoop.current.run(mode: .default, before: .distantFuture) }
  }

  @Test(.offThePool)
  func `without a descriptor a sender waits, the port says so and rests, and lets it in when there is one`()
    async throws
  {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      try Self.acceptWithoutDescriptors()
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(text.contains("A socket port cannot let its next sender in: no descriptor is left."))
  }

  // MARK: - Without a socket

  /// In a process of its own.
  private static func loseSocket(of port: SocketPort) {
    RunLoop.current.add(port, forMode: .default)
    // epoll(7) takes no regular file.
    let file = unsafe open("/proc/self/exe", O_RDONLY)
    precondition(dup2(file, port.socket) >= 0)
    RunLoop.current.run(mode: .default, before: .distantPast)
    precondition(!port.isValid)
  }

  @Test(.offThePool) func `a port whose socket the kernel does not watch says why, and becomes invalid`() async throws {
    let streams = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      Self.loseSocket(of: SocketPort())
    }
    let datagrams = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let address = SocketAddress.loopback().data
      let type = CInt(SOCK_DGRAM.rawValue)
      Self.loseSocket(
        of: SocketPort(protocolFamily: AF_INET, socketType: type, protocol: CInt(IPPROTO_UDP), address: address)!)
    }
    for result in [streams, datagrams] {
      let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
      #expect(text.contains("A socket port can receive nothing more, and becomes invalid: "))
    }
  }

  /// In a process of its own.
  private static func shutListener(of port: SocketPort) {
    RunLoop.current.add(port, forMode: .default)
    precondition(shutdown(port.socket, CInt(SHUT_RDWR)) == 0)
    while port.isValid { RunLoop.current.run(mode: .default, before: .distantFuture) }
  }

  @Test(.offThePool) func `a port whose listener was shut down says why, and becomes invalid`() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      Self.shutListener(of: SocketPort())
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(text.contains("A socket port can receive nothing more, and becomes invalid: "))
  }
}

/// Takes all descriptors of the process.
@discardableResult
private func takeAllDescriptors() -> [CInt] {
  awakenDispatch()
  var limit = rlimit(rlim_cur: 256, rlim_max: 256)
  _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  var taken: [CInt] = []
  while case let copy = dup(0), copy >= 0 { taken.append(copy) }
  return taken
}
