import CLinux
import Glibc
import Rondo
import RondoSockets
import RondoTesting
import Testing

/// Datagrams that wait: how many of them a turn tells, what ends that, and what became of the others.
@Suite struct DatagramTests {
  /// A source for one end of a pair on a simulated host, for the other end of which so many datagrams were sent.
  private func play<Result>(
    _ count: Int, callbacks: SocketSource.Callbacks = .data,
    then more: @escaping @Sendable (Stage, SocketSource) -> Void = { _, _ in },
    _ body: (Stage, SocketSource) throws -> Result
  ) throws -> Result {
    try withSimulation(seed: nil) { simulation in
      let host = simulation.host("10.0.0.1")
      return try host.run {
        let stage = Stage(host.loop)
        let (near, far) = try Socket.pair(.datagram)
        for number in 0..<count { _ = try far.send([UInt8]("\(number)")) }
        let source = stage.source("near", near, for: callbacks) { source, _ in more(stage, source) }
        let result = try body(stage, source)
        source.invalidate()
        return result
      }
    }
  }

  /// How many events a stage has noted.
  private func count(_ stage: Stage) -> Int { stage.text("near").split(separator: " ").count }

  // MARK: - A burst

  @Test func `a turn tells 64 of the datagrams that wait, and the next turn the others`() throws {
    let counts = try play(100) { stage, _ in
      (0..<3).map { _ in
        stage.look()
        return count(stage)
      }
    }
    #expect(counts == [64, 100, 100])
  }

  @Test func `a handler that takes its time tells one datagram a turn`() throws {
    let counts = try play(3) { _, _ in
      // Nothing comes: 1 ms of virtual time passes.
      guard let (socket, peer) = try? Socket.pair() else { return }
      _ = withExtendedLifetime(peer) { rondo_poll_two(socket.descriptor, CInt(POLLIN), -1, 1) }
    } _: { stage, _ in
      (0..<4).map { _ in
        stage.look()
        return count(stage)
      }
    }
    #expect(counts == [1, 2, 3, 3])
  }

  @Test func `a handler that disables the callback is not told the next datagram before it enables it`() throws {
    let texts = try play(3) { _, source in
      source.disable(.data)
    } _: { stage, source in
      (0..<2).map { _ in
        stage.look(2)
        source.enable(.data)
        return stage.text("near")
      }
    }
    #expect(texts == ["received(0)", "received(0) received(1)"])
  }

  @Test func `a handler that invalidates the source leaves the next datagram in the kernel`() throws {
    let (text, next) = try play(2) { stage, source in
      stage.keep(source.socket!)
      source.invalidate()
    } _: { stage, source in
      let socket = source.socket!
      stage.look(2)
      return (stage.text("near"), try socket.receive())
    }
    #expect(text == "received(0)")
    #expect(next == .datagram(.init(bytes: [UInt8]("1"))))
  }

  @Test func `a handler that takes the source out of the mode is not told the next datagram`() throws {
    let texts = try play(2) { stage, source in
      stage.loop.remove(source)
    } _: { stage, source in
      stage.look(2)
      let first = stage.text("near")
      stage.loop.add(source)
      stage.look()
      return [first, stage.text("near")]
    }
    #expect(texts == ["received(0)", "received(0) received(1)"])
  }

  @Test func `a handler that stops the run is not told the next datagram in it`() throws {
    let (result, text) = try play(2) { stage, _ in
      stage.loop.stop()
    } _: { stage, _ in
      (stage.loop.run(for: .seconds(1)), stage.text("near"))
    }
    #expect(result == .stopped)
    #expect(text == "received(0)")
  }

  @Test func `a run that returns when a source was handled returns after one datagram`() throws {
    let (result, text) = try play(2) { stage, _ in
      (stage.loop.run(for: .seconds(1), returnAfterSourceHandled: true), stage.text("near"))
    }
    #expect(result == .handledSource)
    #expect(text == "received(0)")
  }

  @Test func `a run nested in the handler is told the next datagrams, in order`() throws {
    let text = try play(4) { stage, _ in
      if stage.text("near") == "received(0)" {
        stage.loop.run(for: .zero, returnAfterSourceHandled: true)
        stage.note("near", "ran")
      }
    } _: { stage, _ in
      stage.look(2)
      return stage.text("near")
    }
    #expect(text == "received(0) received(1) ran received(2) received(3)")
  }

  @Test func `a burst of the kernel's is told whole and in order`() throws {
    let text = try onLoopThread { stage in
      let (near, far) = try Socket.pair(.datagram)
      for number in 0..<10 { _ = try far.send([UInt8]("\(number)")) }
      stage.source("near", near, for: .data)
      stage.look(10)
      return stage.text("near")
    }
    #expect(text == (0..<10).map { "received(\($0))" }.joined(separator: " "))
  }

  // MARK: - A datagram that was longer than its room

  /// What is received of datagrams of 5 bytes by receivers with room for 3, 5 and 65,536.
  private func cut(_ far: Socket, _ near: Socket, to address: SocketAddress?) throws -> [Socket.Received] {
    try [3, 5, 65_536].map { limit in
      _ = try far.send([1, 2, 3, 4, 5], to: address)
      return try near.receive(limit: limit)
    }
  }

  private func expected(from sender: SocketAddress?) -> [Socket.Received] {
    let whole = Socket.Received.datagram(.init(bytes: [1, 2, 3, 4, 5], sender: sender))
    return [.datagram(.init(bytes: [1, 2, 3], sender: sender, isTruncated: true)), whole, whole]
  }

  @Test func `a datagram of the internet says whether it was cut`() throws {
    let (near, far) = (try Socket.datagram(at: .loopback()), try Socket.datagram(at: .loopback()))
    let received = try cut(far, near, to: near.localAddress)
    #expect(received == expected(from: far.localAddress))
  }

  @Test func `a Unix-domain datagram says whether it was cut`() throws {
    let (near, far) = try Socket.pair(.datagram)
    let received = try cut(far, near, to: nil)
    #expect(received == expected(from: nil))
  }

  @Test func `a simulated datagram says whether it was cut`() throws {
    let (received, sender) = try withSimulation { simulation in
      try simulation.host("10.0.0.1").run {
        let (near, far) = try Socket.pair(.datagram)
        return (try cut(far, near, to: nil), far.localAddress)
      }
    }
    #expect(sender == .unix(.unnamed))
    #expect(received == expected(from: nil))
  }

  @Test func `a datagram of more than 64 KiB is received whole, if its receiver has the room`() throws {
    let (near, far) = try Socket.pair(.datagram)
    let bytes = (0..<70_000).map { UInt8(truncatingIfNeeded: $0) }
    _ = try far.send(bytes)
    let isWhole = try near.receive(limit: 80_000) == .datagram(.init(bytes: bytes))
    #expect(isWhole)
    _ = try far.send([1])
    let short = try near.receive(limit: .max)
    #expect(short == .datagram(.init(bytes: [1])))
    _ = try far.send(bytes)
    let isCut = try near.receive() == .datagram(.init(bytes: Array(bytes[..<65_536]), isTruncated: true))
    #expect(isCut)
  }

  @Test func `a sequence says which of its datagrams was cut`() async throws {
    try await withLoop { loop in
      let (near, far) = try Socket.pair(.datagram)
      for bytes: [UInt8] in [[1, 2, 3], [4]] { _ = try far.send(bytes) }
      var datagrams = try near.datagrams(on: loop, limit: 2).makeAsyncIterator()
      let first = try await datagrams.next()
      let second = try await datagrams.next()
      #expect(first == .init(bytes: [1, 2], isTruncated: true))
      #expect(second == .init(bytes: [4]))
    }
  }

  /// Receives for as long as its task lasts, on a loop, by a task that does not prefer the loop.
  private actor Receiver {
    private let loop: Loop
    private let trace: Trace

    init(on loop: Loop, _ trace: Trace) { (self.loop, self.trace) = (loop, trace) }

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    func receive(from socket: Socket) async throws {
      let datagrams = try socket.datagrams(on: loop)
      trace.note("begins")
      for try await _ in datagrams { trace.note("datagram") }
    }
  }

  @Test func `an actor of the loop receives many datagrams without leaving the loop's thread`() throws {
    try withVirtualLoop { virtual in
      virtual.looksAtDescriptors = true
      let (near, far) = (try Socket.datagram(at: .loopback()), try Socket.datagram(at: .loopback()))
      for _ in 0..<200 { _ = try far.send([1], to: near.localAddress) }
      let trace = Trace()
      let receiver = Receiver(on: virtual.loop, trace)
      let receiving = Task { try await receiver.receive(from: near) }
      // The task begins on a thread of the runtime's. Then one run of the loop is all that it needs.
      while trace.tokens.isEmpty {
        usleep(100)
        virtual.runUntilIdle()
      }
      #expect(trace.tokens.count == 201)
      receiving.cancel()
      virtual.runUntilIdle()
    }
  }

  // MARK: - Datagrams that found no room

  /// How many of 5,000 datagrams are received, and how many the receiver's kernel has dropped.
  private func flood(_ near: Socket, _ far: Socket, _ arrive: () -> Void) throws -> (received: Int, dropped: UInt32?) {
    for _ in 0..<5_000 { _ = try far.send([UInt8](repeating: 1, count: 64), to: near.localAddress) }
    arrive()
    var received = 0
    while case .datagram = try near.receive() { received += 1 }
    return (received, near.droppedDatagramCount)
  }

  @Test func `what the kernel has dropped can be asked for`() throws {
    let (near, far) = (try Socket.datagram(at: .loopback()), try Socket.datagram(at: .loopback()))
    let before = near.droppedDatagramCount
    #expect(before == 0)
    let (received, dropped) = try flood(near, far) {}
    #expect(received > 0 && received < 5_000)
    #expect(dropped == UInt32(5_000 - received))
  }

  @Test func `what a simulated kernel has dropped can be asked for`() throws {
    let (received, dropped) = try withSimulation { simulation in
      let (one, other) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let near = try one.run { try Socket.datagram(at: SocketAddress(parsing: "10.0.0.1:53")) }
      let far = try other.run { try Socket.datagram(at: SocketAddress(parsing: "10.0.0.2:53")) }
      return try flood(near, far) { simulation.run(for: .seconds(1)) }
    }
    #expect(received > 0 && received < 5_000)
    #expect(dropped == UInt32(5_000 - received))
  }

  @Test func `a Unix-domain socket drops nothing`() throws {
    let (near, far) = try Socket.pair(.datagram)
    while try far.send([1]) > 0 {}
    let dropped = near.droppedDatagramCount
    #expect(dropped == 0)
  }

  // MARK: - A sender with the longest name

  @Test func `a sender whose path has 108 bytes is told, and answered`() throws {
    let start = "/tmp/rondo-longest-\(getpid())-"
    let path = start + String(repeating: "a", count: 108 - start.utf8.count)
    defer { unsafe unlink(path) }
    let sender = try SocketAddress(socketBytes: [1, 0] + [UInt8](path))
    let far = try Socket.datagram(at: sender)
    let near = try Socket.datagram(at: .abstract(uniqueName()))
    _ = try far.send([1], to: near.localAddress)
    let received = try near.receive()
    #expect(received == .datagram(.init(bytes: [1], sender: sender)))
    _ = try near.send([2], to: sender)
    let answer = try far.receive()
    #expect(answer == .datagram(.init(bytes: [2], sender: near.localAddress)))
  }
}
