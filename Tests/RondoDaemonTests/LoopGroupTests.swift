import Glibc
import Rondo
import RondoTestSupport
import RondoTesting
import Testing

@testable import RondoSockets

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

  @Test func `as many threads as processors, if nobody says`() async throws {
    let group = try LoopGroup()
    #expect(group.loops.count == usableProcessors().count)
    await group.end(.drop)
  }

  @Test(.offThePool) func `without descriptors for all of them there are no threads at all`() async {
    await #expect(processExitsWith: .success) {
      inOwnProcess {
        let before = descriptors(of: "[eventpoll]")
        var limit = rlimit(rlim_cur: 64, rlim_max: 64)
        precondition(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        do throws(LoopThread.StartError) {
          _ = try LoopGroup(threads: 40)
          fatalError("Forty loops have more than 64 descriptors.")
        } catch {
          guard case .noDescriptors = error else { fatalError("\(error)") }
        }
        precondition(descriptors(of: "[eventpoll]") == before)
      }
    }
  }

  // MARK: - Connections

  private func echo(_ connection: Connection) async throws {
    for try await bytes in connection { try await connection.write(bytes) }
  }

  @Test func `connections go to the least loaded loop, and leave it`() async throws {
    let group = try LoopGroup(threads: 3)
    let listener = try Listener(at: .loopback())
    let serving = Task { try await listener.serve(over: group, limits: .none, echo) }
    var clients: [Connection] = []
    for _ in 0..<9 {
      let client = try await Connection.connected(to: listener.address, on: group.loops[0])
      try await client.write([7])
      #expect(try await client.read() == [7])
      clients.append(client)
    }
    #expect(group.loads == [3, 3, 3])
    clients = []
    while group.loads != [0, 0, 0] { try await Task.sleep(for: .milliseconds(1)) }
    serving.cancel()
    try await serving.value
    await group.end()
  }

  @Test func `every loop listens at one address, and no connection is lost`() async throws {
    let group = try LoopGroup(threads: 3)
    let first = try Listener(at: .loopback(), options: [.reusePort])
    let others = try group.loops.dropFirst().map { _ in try Listener(at: first.address, options: [.reusePort]) }
    let serving = zip([first] + others, group.loops).map { listener, loop in
      Task { try await listener.serve(on: loop, limits: .none, echo) }
    }
    for _ in 0..<50 {
      let client = try await Connection.connected(to: first.address, on: group.loops[0])
      try await client.write([7])
      #expect(try await client.read() == [7])
    }
    for server in serving { server.cancel() }
    for server in serving { try await server.value }
    await group.end()
  }

  @Test func `a connection whose loop has gone is closed, and counts no more`() async throws {
    let (thread, gone) = (try LoopThread(name: "alive"), try LoopThread(name: "gone"))
    let group = LoopGroup(of: [gone.loop, thread.loop])
    await gone.end()
    let listener = try Listener(at: .loopback())
    let errors = Guarded<[any Error]>([])
    let place = group.place(by: .roundRobin)
    #expect(place.index == 0)
    place.leave()
    let serving = Task {
      try await listener.serve(
        on: thread.loop, limits: .none, grace: .zero, in: .common,
        onError: { error in errors.withLock { $0.append(error) } },
        place: {
          let place = group.place(by: .roundRobin)
          return (place.loop, { place.leave() })
        }, echo)
    }
    for expected: [UInt8]? in [[7], nil] {
      let client = try await Connection.connected(to: listener.address, on: thread.loop)
      try? await client.write([7])
      let answer = try? await client.read()
      #expect(answer == expected)
    }
    #expect(errors.withLock { $0.count } == 1)
    serving.cancel()
    try await serving.value
    #expect(group.loads == [0, 0])
    await thread.end()
  }
}
