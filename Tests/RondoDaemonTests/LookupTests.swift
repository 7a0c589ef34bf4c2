import Glibc
import Rondo
import RondoDaemon
import RondoTestSupport
import RondoTesting
import Synchronization
import Testing

@testable import RondoSockets

/// Names that are looked up off the loop.
@Suite struct LookupTests {
  // MARK: - Answers

  @Test func `an address as text is its own answer, and starts no thread`() throws {
    try onLoopThread { stage in
      let resolver = Resolver(threads: 1, waiting: 0) { _ in fatalError("It was asked.") }
      let note: @Sendable (Result<[SocketAddress], LookupError>) -> Void = { answer in
        switch answer {
        case .success(let addresses): stage.note(addresses.map { "\($0)" }.joined(separator: ","))
        case .failure(let error): stage.note("(\(error))")
        }
      }
      resolver.lookUp("127.0.0.1", port: 80, on: stage.loop) { note($0) }
      resolver.lookUp("::1", port: 81, on: stage.loop) { note($0) }
      resolver.lookUp("::1", port: 81, .ipv4, on: stage.loop) { note($0) }
      resolver.lookUp("", port: 81, on: stage.loop) { note($0) }
      resolver.lookUp("a\0b", port: 81, on: stage.loop) { note($0) }
      #expect(stage.text == "")
      stage.run { stage.trace.tokens.count == 5 }
      let bad = "('' is no name of a host) ('a\0b' is no name of a host)"
      #expect(stage.text == "127.0.0.1:80 [::1]:81 (there is no address of '::1') \(bad)")
    }
  }

  @Test func `what the system knows is found`() throws {
    try onLoopThread { stage in
      let resolver = Resolver(threads: 1)
      let answer = Later<Result<[SocketAddress], LookupError>>()
      resolver.lookUp("localhost", port: 7, on: stage.loop) { answer.value = $0 }
      stage.run { answer.value != nil }
      let addresses = try answer.value.get()
      #expect(!addresses.isEmpty && Set(addresses).count == addresses.count)
      #expect(addresses.allSatisfy { $0 == .ipv4(.loopback, port: 7) || $0 == .ipv6(.loopback, port: 7) })
    }
  }

  @Test func `a name that nobody has is an error with the name in it`() throws {
    try onLoopThread { stage in
      let answer = Later<Result<[SocketAddress], LookupError>>()
      // Two dots in a row: nobody needs to be asked.
      Resolver(threads: 1).lookUp("a..b", port: 7, on: stage.loop) { answer.value = $0 }
      stage.run { answer.value != nil }
      #expect(answer.value == .failure(.notFound("a..b")))
    }
  }

  @Test(.offThePool) func `a forked child looks up names in threads of its own`() async {
    await #expect(processExitsWith: .success) {
      inOwnProcess {
        endProcess(after: 120)
        let asked = Later<Loop>()
        let resolver = Resolver(threads: 1, waiting: 1) { query in
          asked.value = .current
          return query.ask()
        }
        func looksUp() -> Bool {
          let answer = Later<Result<[SocketAddress], LookupError>>()
          let loop = Loop.current
          resolver.lookUp("localhost", port: 7, on: loop) { result in
            answer.value = result
            loop.stop()
          }
          while answer.value == nil { loop.run(for: .milliseconds(10)) }
          return (try? answer.value.get()) != nil
        }
        precondition(looksUp())
        // Awake, the thread may hold a lock of the Swift runtime's, which the child would find held for ever.
        while !asked.value.isWaiting { sched_yield() }
        let child = forkProcess()
        if child == 0 { _exit(looksUp() ? 0 : 1) }
        precondition(end(of: child) == .exit(0))
        precondition(looksUp())
      }
    }
  }

  // MARK: - Time

  @Test func `a server that hangs holds a thread, and neither the loop nor who waits`() throws {
    let gate = Gate()
    withVirtualLoop { virtual in
      let stage = Stage(virtual.loop)
      let resolver = Resolver(threads: 1, waiting: 2) { _ in gate.pass() }
      for name in ["a", "b", "c"] {
        resolver.lookUp(name, port: 1, timeout: .seconds(5), on: stage.loop) { answer in
          if case .failure(let error) = answer { stage.note("\(name): \(error)") }
        }
      }
      // Two wait, and there is room for no more until they have been given up.
      let refused = resolver.lookUp("d", port: 1, on: stage.loop) { stage.note("d: \($0 == .failure(.busy))") }
      virtual.advance(by: .seconds(4))
      #expect(stage.trace.take() == "d: true" && refused.isOver)
      virtual.advance(by: .seconds(1))
      #expect(stage.trace.take() == "a: \(LookupError.timedOut) b: \(LookupError.timedOut) c: \(LookupError.timedOut)")
      resolver.lookUp("e", port: 1, timeout: .seconds(1), on: stage.loop) {
        stage.note("e: \($0 == .failure(.timedOut))")
      }
      virtual.advance(by: .seconds(60))
      #expect(stage.text == "e: true")
    }
    gate.open()
  }

  @Test func `names whose servers are silent stop no other name once their time is over`() throws {
    let gate = Gate()
    try onLoopThread { stage in
      let resolver = Resolver(threads: 2, waiting: 8) { query in
        query.host == "localhost" ? .success([.loopback(port: query.port)]) : gate.pass()
      }
      // One waits for a thread already when the first two are given up, as a caller's deadline does.
      let silent = ["a", "b"].map { resolver.lookUp($0, port: 1, on: stage.loop) { _ in } }
      gate.wait(for: 2)
      resolver.lookUp("localhost", port: 7, on: stage.loop) { _ in stage.note("waited") }
      for lookup in silent { lookup.cancel() }
      stage.run { stage.text == "waited" }
      for name in 3...8 {
        let lookup = resolver.lookUp("silent", port: 1, on: stage.loop) { _ in }
        gate.wait(for: name)
        lookup.cancel()
      }
      resolver.lookUp("localhost", port: 7, on: stage.loop) { _ in stage.note("came") }
      stage.run { stage.text == "waited came" }
      #expect(stage.text == "waited came")
    }
    gate.open()
  }

  @Test func `names whose servers are silent delay others for a second each, not for their whole time`() {
    let gate = Gate()
    withVirtualLoop { virtual in
      let stage = Stage(virtual.loop)
      let resolver = Resolver(threads: 2, waiting: 8) { query in
        query.host == "localhost" ? .success([.loopback(port: query.port)]) : gate.pass()
      }
      for name in ["a", "b", "c"] {
        resolver.lookUp(name, port: 1, timeout: .seconds(5), on: stage.loop) { _ in stage.note(name) }
      }
      let lookup = resolver.lookUp("localhost", port: 7, timeout: .seconds(5), on: stage.loop) { answer in
        if case .success = answer { stage.note("localhost") }
      }
      // Two hang, one waits for a second, and so does the last one then.
      virtual.advance(by: .seconds(2))
      gate.wait(for: 3)
      while !lookup.isOver {
        virtual.advance(by: .zero)
        usleep(1_000)
      }
      #expect(stage.trace.take() == "localhost" && virtual.elapsed == .seconds(2))
    }
    gate.open()
  }

  @Test func `the threads that hang are bounded, and a name that waits is looked up when one is free`() throws {
    let gate = Gate()
    try onLoopThread { stage in
      let resolver = Resolver(threads: 1, waiting: 8) { query in
        query.host == "localhost" ? .success([.loopback(port: query.port)]) : gate.pass()
      }
      for number in 1...LookupPool.threadsForEach {
        let lookup = resolver.lookUp("silent", port: 1, on: stage.loop) { _ in }
        gate.wait(for: number)
        lookup.cancel()
      }
      resolver.lookUp("localhost", port: 7, timeout: .seconds(3_600), on: stage.loop) { _ in stage.note("told") }
      stage.look()
      #expect(stage.text == "")
      gate.open()
      stage.run { stage.text == "told" }
      #expect(stage.text == "told")
    }
  }

  @Test func `what was cancelled is not told, makes room, and does not keep a thread from the others`() throws {
    let gate = Gate()
    try onLoopThread { stage in
      let resolver = Resolver(threads: 1, waiting: 1) { _ in gate.pass() }
      let first = resolver.lookUp("a", port: 1, on: stage.loop) { _ in stage.note("a") }
      // What is cancelled before its thread has begun is not even asked for.
      while gate.passes == 0 { usleep(1_000) }
      let second = resolver.lookUp("b", port: 1, on: stage.loop) { _ in stage.note("b") }
      TestThread { second.cancel() }.join()
      resolver.lookUp("c", port: 1, on: stage.loop) { _ in stage.note("c") }
      first.cancel()
      first.cancel()
      gate.open()
      stage.run { stage.text == "c" }
      #expect(stage.text == "c" && first.isOver && second.isOver && gate.passes == 2)
    }
  }

  @Test func `an answer comes in its mode`() throws {
    try onLoopThread { stage in
      let mode = Loop.Mode(rawValue: "lookup")
      let resolver = Resolver(threads: 1, waiting: 0) { _ in .success([.loopback(port: 5)]) }
      resolver.lookUp("a", port: 1, on: stage.loop, in: mode) { _ in stage.note("\(stage.loop.currentMode!)") }
      stage.run(in: mode) { stage.text != "" }
      #expect(stage.text == "\(mode)")
    }
  }

  @Test func `there are as many threads as may be, with names`() {
    // In virtual time: where a machine stalls for a second, its threads would seem to hang.
    withVirtualLoop { virtual in
      // Contended, the standard library's lock changes hands where the thread sanitizer does not see it.
      let names = Guarded<Set<String>>([])
      let asked = SharedNumber()
      let resolver = Resolver(threads: 3, waiting: 64) { _ in
        names.withLock { _ = $0.insert(threadName()) }
        asked.add(1)
        // Until all three have been seen.
        while asked.value < 3 { usleep(1_000) }
        return .success([.loopback()])
      }
      let told = SharedNumber()
      for _ in 0..<40 { resolver.lookUp("a", port: 1, on: virtual.loop) { _ in told.add(1) } }
      while told.value < 40 {
        virtual.advance(by: .zero)
        usleep(1_000)
      }
      #expect(names.withLock { $0.sorted() } == ["lookup 0", "lookup 1", "lookup 2"])
    }
  }

  @Test func `of 2,000 lookups for four loops each is told once, on its loop`() throws {
    let resolver = Resolver(threads: 3, waiting: 2_000) { query in .success([.loopback(port: query.port)]) }
    let told = SharedNumber()
    let group = try LoopGroup(threads: 4, name: "asker")
    let lookups = Guarded<[Lookup]>([])
    for number in 0..<2_000 {
      let loop = group.loops[number % 4]
      let lookup = resolver.lookUp("a", port: UInt16(number), on: loop) { answer in
        if loop.isCurrent, answer == .success([.loopback(port: UInt16(number))]) { told.add(1) }
      }
      lookups.withLock { $0.append(lookup) }
    }
    let end = SuspendingClock.now.advanced(by: .seconds(120))
    while told.value < 2_000, SuspendingClock.now < end { usleep(1_000) }
    #expect(told.value == 2_000)
    #expect(lookups.withLock { $0.allSatisfy(\.isOver) })
    group.stop()
    #expect(told.value == 2_000)
  }

  @Test func `what is cancelled from another thread while it is answered is told once or never`() throws {
    try onLoopThread { stage in
      let resolver = Resolver(threads: 2, waiting: 1) { _ in .success([.loopback()]) }
      for _ in 0..<300 {
        let told = Later(0)
        let lookup = resolver.lookUp("a", port: 1, on: stage.loop) { _ in told.value += 1 }
        let other = TestThread { lookup.cancel() }
        stage.look()
        other.join()
        stage.look()
        #expect(lookup.isOver && told.value <= 1)
      }
    }
  }

  // MARK: - Tasks

  @Test func `a task waits for an answer, and for no longer than it likes`() async throws {
    let gate = Gate()
    let thread = try LoopThread(name: "lookup test")
    let quick = Resolver(threads: 1, waiting: 0) { .success([.loopback(port: $0.port)]) }
    #expect(try await quick.addresses(of: "a", port: 9, on: thread.loop) == [.loopback(port: 9)])
    let slow = Resolver(threads: 1, waiting: 8) { _ in gate.pass() }
    await #expect(throws: LookupError.timedOut) {
      try await slow.addresses(of: "a", port: 9, timeout: .milliseconds(1), on: thread.loop)
    }
    let cancelled = Task { () -> LookupError? in
      do throws(LookupError) {
        _ = try await slow.addresses(of: "a", port: 9, timeout: .seconds(3_600), on: thread.loop)
        return nil
      } catch {
        return error
      }
    }
    cancelled.cancel()
    #expect(await cancelled.value == .cancelled)
    gate.open()
    await thread.end()
    await #expect(throws: LookupError.loopEnded) { try await quick.addresses(of: "a", port: 9, on: thread.loop) }
  }

  @Test func `a task whose loop ends is told so, though the server hangs`() async throws {
    let gate = Gate()
    let thread = try LoopThread(name: "lookup test")
    let slow = Resolver(threads: 1, waiting: 8) { _ in gate.pass() }
    let waiting = Task { () -> LookupError? in
      do throws(LookupError) {
        _ = try await slow.addresses(of: "a", port: 9, timeout: .seconds(3_600), on: thread.loop)
        return nil
      } catch {
        return error
      }
    }
    await until { gate.passes != 0 }
    await thread.end()
    #expect(await waiting.value == .loopEnded)
    gate.open()
  }

  // MARK: - The end

  @Test(.offThePool) func `a resolver that is let go has its threads end, and leaves nothing behind`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(Ending.run) }
  }
}

/// Something that hangs until it is opened.
private final class Gate: Sendable {
  private let state = Atomic<Bool>(false)
  private let number = SharedNumber()

  func open() { state.store(true, ordering: .sequentiallyConsistent) }

  /// How often it was tried.
  var passes: Int { number.value }

  /// Waits until it was tried so often, for at most a minute.
  func wait(for passes: Int) {
    let end = SuspendingClock.now.advanced(by: .seconds(60))
    while self.passes < passes, SuspendingClock.now < end { usleep(1_000) }
  }

  func pass() -> LookupQuery.Answer {
    number.add(1)
    while !state.load(ordering: .sequentiallyConsistent) { usleep(1_000) }
    return .success([.loopback()])
  }
}

/// The calling thread's name, as the kernel has it.
private func threadName() -> String {
  guard let file = unsafe fopen("/proc/thread-self/comm", "re") else { return "" }
  defer { unsafe fclose(file) }
  var line = [CChar](repeating: 0, count: 32)
  _ = unsafe fgets(&line, 32, file)
  return String(decoding: line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

private enum Ending {
  static func run() {
    let loop = Loop.current
    loop.run(for: .zero)
    let before = descriptors(of: "[eventpoll]")
    for _ in 0..<20 {
      let told = SharedNumber()
      let resolver = Resolver(threads: 3, waiting: 64) { _ in
        usleep(100)
        return .success([.loopback()])
      }
      for _ in 0..<30 { resolver.lookUp("a", port: 1, on: loop) { _ in told.add(1) } }
      // One reference is the last after the threads have begun.
      withExtendedLifetime(resolver) {}
      while told.value < 30 { loop.run(for: .seconds(60), returnAfterSourceHandled: true) }
    }
    let end = SuspendingClock.now.advanced(by: .seconds(120))
    while descriptors(of: "[eventpoll]") > before, SuspendingClock.now < end { usleep(1_000) }
    precondition(descriptors(of: "[eventpoll]") == before, "Threads are left.")
  }
}
