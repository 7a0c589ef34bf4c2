import Glibc
import Rondo
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

@testable import RondoDaemon

/// Several loops, and who of them serves what.
@Suite struct LoopGroupTests {
  @Test func `round robin takes each in turn, least loaded the one with the fewest places`() {
    var tally = LoopTally(count: 3)
    #expect((0..<4).map { _ in tally.take(by: .roundRobin) } == [0, 1, 2, 0])
    #expect(tally.loads == [2, 1, 1])
    // From the next in turn on, so that equals share.
    #expect((0..<5).map { _ in tally.take(by: .leastLoaded) } == [1, 2, 0, 1, 2])
    tally.leave(0)
    tally.leave(0)
    #expect((0..<2).map { _ in tally.take(by: .leastLoaded) } == [0, 0])
    #expect(tally.loads == [3, 3, 3])
  }

  @Test func `a place counts until it is left or let go, once`() {
    let group = LoopGroup(of: [.current])
    var place: LoopGroup.Place? = group.place()
    let other = group.place(by: .roundRobin)
    #expect(group.loads == [2] && place!.loop === Loop.current && place!.index == 0)
    other.leave()
    other.leave()
    #expect(group.loads == [1])
    place = nil
    #expect(group.loads == [0])
  }

  @Test func `threads have names, loops of their own, and are gone after a stop that ran what they were given`() throws
  {
    let group = try LoopGroup(threads: 3, name: "kit")
    let names = Guarded<Set<String>>([])
    let ran = SharedNumber()
    for loop in group.loops {
      loop.perform {
        var name = [CChar](repeating: 0, count: 32)
        let file = unsafe fopen("/proc/thread-self/comm", "r")!
        unsafe fgets(&name, CInt(name.count), file)
        unsafe fclose(file)
        let text = String(decoding: name.prefix { $0 >= 32 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        names.withLock { _ = $0.insert(text) }
        usleep(1_000)
      }
      for _ in 0..<100 { loop.perform { ran.add(1) } }
    }
    group.stop()
    #expect(ran.value == 300)
    #expect(names.withLock { $0 } == ["kit 0", "kit 1", "kit 2"])
    for loop in group.loops { #expect(!loop.perform {}) }
    // Again, it changes nothing.
    group.stop()
  }

  @Test func `a stop asks all threads before it waits for one`() throws {
    let group = try LoopGroup(threads: 2)
    let isOver = SharedNumber()
    // The first one ends when the second one has.
    group.loops[0].perform {
      let end = SuspendingClock.now.advanced(by: .seconds(120))
      while group.loops[1].perform({}), SuspendingClock.now < end { usleep(1_000) }
      if !group.loops[1].perform({}) { isOver.add(1) }
    }
    group.stop()
    #expect(isOver.value == 1)
  }

  @Test func `pinned threads run on one allowed processor each, and share them evenly`() async throws {
    let allowed = usableProcessors()
    let group = try LoopGroup(threads: allowed.count + 1, pinned: true)
    let found = Guarded<[Int: [Int]]>([:])
    for (index, loop) in group.loops.enumerated() {
      loop.perform { found.withLock { $0[index] = usableProcessors() } }
    }
    await group.end()
    let processors = group.loops.indices.compactMap { index in found.withLock { $0[index] } }
    #expect(processors.count == allowed.count + 1 && processors.allSatisfy { $0.count == 1 })
    #expect(Set(processors.prefix(allowed.count).joined()) == Set(allowed))
    #expect(allowed.contains(processors.last![0]))
    #expect(usableProcessors() == allowed)
  }

  @Test func `as many threads as processors, if nobody says`() async throws {
    let group = try LoopGroup()
    #expect(group.count == usableProcessors().count)
    await group.end(.drop)
  }

  @Test(.offThePool) func `without descriptors for all of them there are no threads at all`() async {
    await #expect(processExitsWith: .success) {
      inOwnProcess {
        let before = descriptors(of: "[eventpoll]")
        var limit = rlimit(rlim_cur: 64, rlim_max: 64)
        precondition(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        do throws(LoopGroup.StartError) {
          _ = try LoopGroup(threads: 40)
          fatalError("Forty loops have more than 64 descriptors.")
        } catch {
          guard case .thread(.noDescriptors) = error else { fatalError("\(error)") }
        }
        precondition(descriptors(of: "[eventpoll]") == before)
      }
    }
  }

  // MARK: - Connections

  /// Connects, sends a byte and waits for one.
  private func exchange(_ socket: Socket) throws {
    try socket.send([7], timeout: .seconds(120))
    var query = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
    try #require(unsafe poll(&query, 1, 120_000) == 1)
    guard case .bytes([7]) = try socket.receive() else {
      Issue.record("no answer")
      return
    }
  }

  /// Answers each connection with what it sends until its end, on its own loop.
  private func echo(_ connection: LoopGroup.AcceptedSocket, _ served: SharedNumber) {
    precondition(connection.place.loop.isCurrent)
    served.add(1)
    let source = SocketSource(connection.socket, for: .data) { source, event in
      if case .received(let bytes) = event, (try? source.send(bytes)) != nil { return }
      connection.end()
      source.invalidate()
    }
    connection.place.loop.add(source)
  }

  @Test func `connections that are handed over go to the least loaded loop, and leave it`() throws {
    let group = try LoopGroup(threads: 3)
    let served = SharedNumber()
    let listening = group.accept(from: try .listening(at: .loopback())) { self.echo($0, served) }
    let address = try #require(listening.localAddress)
    var clients: [Socket] = []
    for _ in 0..<9 {
      let socket = try Socket(family: address.family, .stream)
      try socket.connect(to: address, timeout: .seconds(120))
      try exchange(socket)
      clients.append(socket)
    }
    #expect(group.loads == [3, 3, 3])
    clients = []
    let end = SuspendingClock.now.advanced(by: .seconds(120))
    while group.loads != [0, 0, 0], SuspendingClock.now < end { usleep(1_000) }
    #expect(group.loads == [0, 0, 0])
    listening.stop()
    group.stop()
    #expect(served.value == 9 && listening.localAddress == nil)
  }

  @Test func `every loop listens at one address, and no connection is lost`() throws {
    let group = try LoopGroup(threads: 3)
    let served = SharedNumber()
    let listening = try group.accept(at: .loopback()) { self.echo($0, served) }
    let address = try #require(listening.localAddress)
    for _ in 0..<50 {
      let socket = try Socket(family: address.family, .stream)
      try socket.connect(to: address, timeout: .seconds(120))
      try exchange(socket)
    }
    let stopped = SharedNumber()
    listening.stop { stopped.add(1) }
    listening.stop { stopped.add(100) }
    group.stop()
    #expect(served.value == 50 && stopped.value == 1)
    let isRefused = succeedsWithoutCopies {
      do throws(SocketError) {
        try Socket(family: address.family, .stream).connect(to: address, timeout: .seconds(120))
        return false
      } catch {
        return error == .refused(address)
      }
    }
    #expect(isRefused)
  }

  @Test func `a file cannot be listened at by several loops`() throws {
    let group = LoopGroup(of: [.current])
    let address = try SocketAddress.abstract(uniqueName())
    #expect(throws: SocketError.system(.option, errno: EOPNOTSUPP)) { try group.accept(at: address) { _ in } }
  }

  @Test func `a connection whose loop has gone is closed, and counts no more`() throws {
    let group = try LoopGroup(threads: 1)
    try onLoopThread { stage in
      let listening = group.accept(from: try .listening(at: .loopback()), on: stage.loop) { _ in
        fatalError("The loop has gone.")
      }
      group.stop()
      let address = try #require(listening.localAddress)
      let socket = try Socket(family: address.family, .stream)
      try socket.connect(to: address, timeout: .seconds(120))
      var query = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
      stage.run { unsafe poll(&query, 1, 0) == 1 }
      #expect(group.loads == [0])
      listening.stop()
    }
  }
}
