import Glibc
import Rondo
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

/// What is told how often, in turns that only look; and how long a source lives.
@Suite struct SocketSourceTests {
  // MARK: - Callbacks

  @Test func `read is told in every turn until the handler has read`() throws {
    let text = try onLoopThread { stage in
      let (near, far) = try Socket.pair()
      let source = stage.source("near", near, for: .read)
      _ = try far.send([1, 2])
      stage.look(3)
      #expect(try source.receive() == .bytes([1, 2]))
      stage.look(3)
      return stage.text("near")
    }
    #expect(text == "readable readable readable")
  }

  @Test func `write is told once for each enable`() throws {
    let texts = try onLoopThread { stage in
      let (near, far) = try Socket.pair()
      let source = stage.source("near", near, for: .write)
      stage.look(3)
      let first = stage.text("near")
      source.enable(.write)
      stage.look(3)
      return withExtendedLifetime(far) { (first, stage.text("near")) }
    }
    #expect(texts == ("writable", "writable writable"))
  }

  @Test func `a disabled callback is not told until it is enabled`() throws {
    let texts = try onLoopThread { stage in
      let (near, far) = try Socket.pair()
      let source = stage.source("near", near, for: [.data, .write])
      source.disable([.data, .write])
      _ = try far.send([UInt8]("a")[...])
      stage.look(3)
      let first = stage.text("near")
      source.enable([.data, .write])
      stage.look(3)
      return (first, stage.text("near"))
    }
    #expect(texts == ("", "received(a) writable"))
  }

  @Test func `an end the handler has read is not told again`() throws {
    let (text, turns) = try onLoopThread { stage in
      var (near, far): (Socket, Socket?) = try Socket.pair()
      let source = stage.source("near", near, for: .read) { source, _ in _ = try? source.receive() }
      _ = consume near
      far = nil
      stage.look()
      let before = stage.loop.statistics.turns
      stage.loop.run(for: .milliseconds(20))
      _ = (source, far)
      return (stage.text("near"), stage.loop.statistics.turns - before)
    }
    #expect(text == "readable")
    #expect(turns <= 3)
  }

  @Test func `a peer that ended is told once and does not keep the loop busy`() throws {
    let (text, turns) = try onLoopThread { stage in
      let (near, far) = try Socket.pair()
      stage.source("near", near, for: .data)
      try far.finishWriting()
      stage.look(2)
      let before = stage.loop.statistics.turns
      stage.loop.run(for: .milliseconds(20))
      return (stage.text("near"), stage.loop.statistics.turns - before)
    }
    #expect(text == "end")
    #expect(turns <= 3)
  }

  // MARK: - Membership and lifetime

  @Test func `a handler that invalidates its source hears no more in that turn`() throws {
    let text = try onLoopThread { stage in
      let (near, far) = try Socket.pair()
      stage.source("near", near, for: [.data, .write]) { source, _ in source.invalidate() }
      _ = try far.send([UInt8]("a")[...])
      stage.look(3)
      return stage.text("near")
    }
    #expect(text == "received(a)")
  }

  @Test func `a handler that takes its source out of the mode hears no more there`() throws {
    let texts = try onLoopThread { stage in
      let (near, far) = try Socket.pair()
      let source = stage.source("near", near, for: [.data, .write]) { source, _ in stage.loop.remove(source) }
      stage.loop.add(source, to: "other")
      _ = try far.send([UInt8]("a")[...])
      stage.look(3)
      let first = stage.text("near")
      stage.loop.run(in: "other", for: .zero)
      return (first, stage.text("near"))
    }
    #expect(texts == ("received(a)", "received(a) writable"))
  }

  @Test func `a source in the common modes is served in each of them`() throws {
    let text = try onLoopThread { stage in
      let (near, far) = try Socket.pair()
      stage.loop.addCommonMode("tracking")
      stage.source("near", near, for: .data, in: .common)
      _ = try far.send([UInt8]("a")[...])
      stage.loop.run(in: "tracking", for: .zero)
      _ = try far.send([UInt8]("b")[...])
      stage.look()
      return stage.text("near")
    }
    #expect(text == "received(a) received(b)")
  }

  @Test func `a source that left its loop can join another`() throws {
    let (near, far) = try Socket.pair()
    let source = SocketSource(near, for: .data) { _, event in #expect(event.word == "received(a)") }
    try onLoopThread { stage in
      stage.loop.add(source)
      stage.look()
      // The thread ends, and its loop with it.
    }
    let handled = try onLoopThread { stage in
      #expect(stage.loop.add(source))
      _ = try far.send([UInt8]("a")[...])
      return stage.loop.run(in: .default, for: .seconds(60), returnAfterSourceHandled: true)
    }
    #expect(handled == .handledSource)
    #expect(source.isValid)
  }

  @Test func `a source is in one loop at a time`() throws {
    let (near, far) = try Socket.pair()
    let source = SocketSource(near, for: .data) { _, _ in }
    try onLoopThread { stage in
      #expect(stage.loop.add(source))
      let whileMember = try onLoopThread { other in other.loop.add(source) }
      stage.loop.remove(source)
      let afterwards = try onLoopThread { other in other.loop.add(source) }
      #expect(!whileMember && afterwards)
    }
    _ = far
  }

  @Test func `the loop keeps a source alive, and lets it go with its descriptor`() throws {
    let descriptors = try onLoopThread { stage in
      let far: Socket
      let descriptor: CInt
      do {
        let (near, other) = try Socket.pair()
        far = other
        descriptor = near.descriptor
        stage.source("near", near, for: .data) { source, _ in source.invalidate() }
      }
      _ = try far.send([UInt8]("a")[...])
      let before = inode(of: descriptor)
      stage.look(2)
      return (before != nil, inode(of: descriptor) == before)
    }
    #expect(descriptors == (true, false))
  }

  @Test func `a socket somebody else holds stays open when its source goes`() throws {
    let (near, far) = try Socket.pair()
    try onLoopThread { stage in
      let source = stage.source("near", near, for: .data)
      stage.look()
      source.invalidate()
      stage.look()
      #expect(source.socket == nil)
    }
    #expect(try near.send([1]) == 1)
    _ = far
  }

  @Test func `an invalid source takes part in nothing`() throws {
    try onLoopThread { stage in
      let (near, far) = try Socket.pair()
      let source = stage.source("near", near, for: .data)
      source.invalidate()
      #expect(!stage.loop.add(source))
      #expect(!stage.loop.contains(source))
      #expect(throws: SocketError.invalid) { try source.send([1]) }
      #expect(throws: SocketError.invalid) { try source.receive() }
      #expect(stage.loop.run(for: .seconds(60)) == .finished)
      _ = far
    }
  }

  // MARK: - Waiting in virtual time

  @Test func `a full listener is tried again until it has room`() throws {
    let address = try SocketAddress.abstract(uniqueName())
    let listener = try Socket.listening(at: address, backlog: 0)
    let waiting = try Socket(family: AF_UNIX, .stream)
    #expect(try waiting.connect(to: address))
    try withVirtualLoop { virtual in
      let stage = Stage(virtual.loop)
      let source = try stage.connecting("client", to: address, timeout: .seconds(10))
      // The tries come at 1, 3, 7, 15 and 31 ms.
      virtual.at(.milliseconds(20)) { _ = try? listener.accept() }
      virtual.advance(by: .milliseconds(30))
      #expect(stage.text("client") == "")
      #expect(source.loopItem?.enabled == [])
      virtual.advance(by: .milliseconds(1))
      #expect(source.loopItem?.enabled == .write)
      virtual.makeReady(source.loopItem!, .write)
      virtual.runUntilIdle()
      #expect(stage.text("client") == "connected")
    }
  }

  @Test func `a listener that stays full costs the connection its time`() throws {
    let address = try SocketAddress.abstract(uniqueName())
    let listener = try Socket.listening(at: address, backlog: 0)
    let waiting = try Socket(family: AF_UNIX, .stream)
    #expect(try waiting.connect(to: address))
    try withVirtualLoop { virtual in
      let stage = Stage(virtual.loop)
      let source = try stage.connecting("client", to: address, timeout: .milliseconds(50))
      virtual.advance(by: .milliseconds(49))
      #expect(stage.text("client") == "")
      virtual.advance(by: .milliseconds(1))
      #expect(stage.text("client") == "connectFailed(the time given is over)")
      #expect(!source.isValid)
    }
    _ = listener
  }

  @Test(.offThePool) func `without descriptors accepting pauses, longer each time, and goes on by itself`() async {
    await #expect(processExitsWith: .success) { try Exhaustion.pausesAccepting() }
  }

  @Test(.offThePool) func `a warning does not wait for somebody who reads stderr`() async {
    await #expect(processExitsWith: .success) {
      var ends: [CInt] = [0, 0]
      precondition(unsafe pipe(&ends) == 0)
      let piece = [UInt8](repeating: 0, count: 4_096)
      _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
      while unsafe write(ends[1], piece, piece.count) > 0 {}
      _ = fcntl(ends[1], F_SETFL, 0)
      dup2(ends[1], STDERR_FILENO)
      // What would wait for ever ends here.
      alarm(30)
      warn("nobody reads this")
      _exit(EXIT_SUCCESS)
    }
  }
}

/// What the exit test does, in a synchronous function because loops belong to threads.
private enum Exhaustion {
  static func pausesAccepting() throws {
    let address = try SocketAddress.abstract(uniqueName())
    let listener = try Socket.listening(at: address)
    let clients = try (0..<2).map { _ in
      let client = try Socket(family: AF_UNIX, .stream)
      _ = try client.connect(to: address)
      return client
    }
    var spare: [CInt] = []
    withVirtualLoop { virtual in
      let stage = Stage(virtual.loop)
      let source = stage.source("listener", listener, for: .accept) { _, event in
        if case .accepted(let socket, _) = event { stage.keep(socket) }
      }
      virtual.loop.addCommonMode("tracking")
      virtual.loop.add(source, to: .common)
      // The listener stays readable as long as somebody waits.
      func look() {
        virtual.makeReady(source.loopItem!, .read)
        virtual.runUntilIdle()
      }
      useUpDescriptors(&spare)
      look()
      look()
      expect(stage.text("listener"), "paused(no descriptor is left, 0.01 seconds)")
      expect("\(source.loopItem!.enabled)", "")
      // The pause ends in whichever of its modes runs.
      virtual.advance(by: .milliseconds(10), in: "tracking")
      expect("\(source.loopItem!.enabled)", "read")
      look()
      expect(stage.text("listener").suffix(14), "0.02 seconds)")
      close(spare.removeLast())
      virtual.advance(by: .milliseconds(20))
      look()
      expect(stage.text("listener").suffix(9), " accepted")
      look()
      // It went well in between: the first pause again.
      expect(stage.text("listener").suffix(14), "0.01 seconds)")
      close(spare.removeLast())
      source.enable(.accept)
      look()
      expect(stage.text("listener").suffix(9), " accepted")
    }
    _ = clients
  }

  private static func expect(_ found: some StringProtocol, _ wanted: String) {
    precondition(found == wanted || found.drop { $0 == " " } == wanted[...], "'\(found)' is not '\(wanted)'")
  }

  private static func useUpDescriptors(_ spare: inout [CInt]) {
    awakenDispatch()
    var limit = rlimit()
    _ = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    // Some may be inherited, with any numbers.
    let highest = (0..<CInt(clamping: min(limit.rlim_cur, 65_536))).last(where: isOpen) ?? 0
    limit.rlim_cur = rlim_t(highest) + 9
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    while true {
      let descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
      if descriptor < 0 { break }
      spare.append(descriptor)
    }
  }
}
