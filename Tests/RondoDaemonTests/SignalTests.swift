import Glibc
import Rondo
import RondoDaemon
import RondoTestSupport
import RondoTesting
import Synchronization
import Testing

/// Signals as sources. Each test has a real-time signal of its own, or a process.
@Suite struct SignalTests {
  @Test func `a signal is told on the loop's thread, with its count and its sender`() throws {
    let signal = try SignalSource.realTime(0)
    try onLoopThread { stage in
      let sender = Later<SignalSource.Sender>()
      let source = try SignalSource(signal) { source, delivery in
        stage.note("\(delivery.signal == signal)\(delivery.count)\(Loop.current === stage.loop)")
        sender.value = delivery.sender
        source.invalidate()
      }
      stage.loop.add(source)
      for _ in 0..<3 { raise(signal) }
      #expect(stage.loop.run() == .finished)
      #expect(stage.text == "true3true")
      #expect(sender.value?.process == getpid() && sender.value?.user == getuid())
    }
  }

  @Test func `a sender that could name another one is not told`() throws {
    let signal = try SignalSource.realTime(14)
    try onLoopThread { stage in
      let sender = Later<SignalSource.Sender?>()
      let source = try SignalSource(signal) { source, delivery in
        sender.value = .some(delivery.sender)
        source.invalidate()
      }
      stage.loop.add(source)
      #expect(unsafe sigqueue(getpid(), signal, sigval()) == 0)
      #expect(stage.loop.run() == .finished)
      #expect(sender.value == .some(nil))
    }
  }

  @Test func `a signal wakes a sleeping loop, whichever thread it comes to`() throws {
    let signal = try SignalSource.realTime(1)
    try onLoopThread { stage in
      let source = try stage.signal("s", signal)
      let loop = stage.loop
      let thread = TestThread {
        while !loop.isWaiting { sched_yield() }
        raise(signal)
      }
      stage.run { !stage.text.isEmpty }
      thread.join()
      #expect(stage.text == "s1")
      source.invalidate()
    }
  }

  @Test func `of a storm of 100,000 from four threads every one is counted`() throws {
    let signal = try SignalSource.realTime(2)
    try onLoopThread { stage in
      let count = Later(0)
      let source = try SignalSource(signal) { _, delivery in count.value += delivery.count }
      stage.loop.add(source)
      let threads = (0..<4).map { _ in TestThread { for _ in 0..<25_000 { raise(signal) } } }
      stage.run { count.value >= 100_000 }
      for thread in threads { thread.join() }
      stage.look()
      #expect(count.value == 100_000)
      source.invalidate()
    }
  }

  @Test func `several sources of one signal are all told, whatever their loops`() throws {
    let signal = try SignalSource.realTime(3)
    let other = try LoopThread()
    defer { other.stop() }
    let elsewhere = SharedNumber()
    try onLoopThread { stage in
      let first = try stage.signal("a", signal)
      let second = try stage.signal("b", signal)
      let third = try SignalSource(signal) { _, delivery in elsewhere.add(delivery.count) }
      other.loop.add(third)
      raise(signal)
      stage.look()
      #expect(stage.text == "a1 b1")
      first.invalidate()
      raise(signal)
      stage.look()
      #expect(stage.text == "a1 b1 b1")
      while elsewhere.value < 2 { sched_yield() }
      second.invalidate()
      third.invalidate()
    }
    #expect(elsewhere.value == 2)
    #expect(disposition(of: signal) == 0)
  }

  @Test func `what comes before a source is in a loop, or while its mode does not run, is counted`() throws {
    let signal = try SignalSource.realTime(4)
    try onLoopThread { stage in
      let source = try stage.signal("s", signal, in: nil)
      raise(signal)
      stage.loop.add(source, to: "a")
      stage.loop.add(Loop.Source {})
      raise(signal)
      stage.look()
      #expect(stage.text == "")
      stage.look(in: "a")
      #expect(stage.text == "s2")
      stage.loop.remove(source, from: "a")
      raise(signal)
      #expect(!stage.loop.contains(source, in: "a") && source.isValid)
      stage.loop.add(source, to: .common)
      stage.look()
      #expect(stage.text == "s2 s1")
      source.invalidate()
    }
  }

  @Test func `sources that are told in one turn are told by order`() throws {
    let signals = try [SignalSource.realTime(5), SignalSource.realTime(6)]
    try onLoopThread { stage in
      let late = try stage.signal("late", signals[0], order: 2)
      let early = try stage.signal("early", signals[1], order: 1)
      raise(signals[0])
      raise(signals[1])
      stage.loop.run(for: .zero)
      #expect(stage.text == "early1 late1")
      late.invalidate()
      early.invalidate()
    }
  }

  @Test func `a source that nobody keeps and no loop has gives its signal back`() throws {
    let signal = try SignalSource.realTime(7)
    do {
      let source = try SignalSource(signal) { _, _ in }
      #expect(disposition(of: signal) > 1)
      withExtendedLifetime(source) {}
    }
    #expect(disposition(of: signal) == 0)
  }

  @Test func `a loop that ends gives its signals back`() throws {
    let signal = try SignalSource.realTime(8)
    let source = try onLoopThread { stage in
      try stage.signal("s", signal)
    }
    // Also while the program keeps it.
    #expect(!source.isValid)
    #expect(disposition(of: signal) == 0)
    source.invalidate()
    try onLoopThread { stage in _ = try stage.signal("s", signal) }
    #expect(disposition(of: signal) == 0)
  }

  @Test func `a source whose item is invalidated gives its signal back`() throws {
    let signal = try SignalSource.realTime(11)
    let source = try SignalSource(signal) { _, _ in }
    source.items[0].invalidate()
    #expect(disposition(of: signal) == 0)
    withExtendedLifetime(source) {}
  }

  @Test func `what cannot have a source says why`() throws {
    #expect(throws: SignalError.uncatchable(SIGKILL)) { try SignalSource(SIGKILL) { _, _ in } }
    #expect(throws: SignalError.uncatchable(SIGSTOP)) { try SignalSource(SIGSTOP) { _, _ in } }
    #expect(throws: SignalError.fault(SIGSEGV)) { try SignalSource(SIGSEGV) { _, _ in } }
    #expect(throws: SignalError.unknown(0)) { try SignalSource(0) { _, _ in } }
    #expect(throws: SignalError.unknown(-1)) { try SignalSource(-1) { _, _ in } }
    #expect(throws: SignalError.unknown(65)) { try SignalSource(65) { _, _ in } }
    #expect(throws: SignalError.unknown(.max)) { try SignalSource(.max) { _, _ in } }
    // The C library's own.
    #expect(throws: SignalError.unknown(32)) { try SignalSource(32) { _, _ in } }
    #expect(throws: SignalError.uncatchable(SIGKILL)) { try SignalSource.ignore(SIGKILL) }
    #expect(throws: SignalError.unknown(99)) { try SignalSource.ignore(99) }
    #expect(throws: SignalError.unknown(1000)) { try SignalSource.realTime(1000) }
    #expect(throws: SignalError.unknown(-1)) { try SignalSource.realTime(-1) }
  }

  @Test func `thousands of sources come and go and leave neither descriptors nor handler`() throws {
    let signal = try SignalSource.realTime(9)
    try onLoopThread { stage in
      for _ in 0..<1_000 {
        let source = try stage.signal("s", signal)
        raise(signal)
        stage.loop.run(for: .zero)
        source.invalidate()
      }
      #expect(stage.trace.tokens.count { $0 == "s1" } == 1_000)
      #expect(disposition(of: signal) == 0)
    }
  }

  @Test func `sources that come and go under a storm lose nothing of one that stays`() throws {
    let signal = try SignalSource.realTime(10)
    try onLoopThread { stage in
      let count = Later(0)
      let stays = try SignalSource(signal) { _, delivery in count.value += delivery.count }
      stage.loop.add(stays)
      let threads = (0..<2).map { _ in TestThread { for _ in 0..<10_000 { raise(signal) } } }
      let others = (0..<2).map { _ in
        TestThread { for _ in 0..<500 { try? SignalSource(signal) { _, _ in }.invalidate() } }
      }
      stage.run { count.value >= 20_000 }
      for thread in threads + others { thread.join() }
      stage.look()
      #expect(count.value == 20_000)
      stays.invalidate()
      #expect(disposition(of: signal) == 0)
    }
  }
}

/// What else may happen to a signal.
@Suite struct SignalHandlerTests {
  /// *atomic* What the tests' own handlers heard.
  private static let heard = Atomic<Int>(0)

  @Test(.offThePool) func `the handler that was there is put back by the last source, and not called before`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(SignalHandlerTests.putsBack) }
  }

  private static func putsBack() {
    setHandler(of: SIGUSR1) { _ in SignalHandlerTests.heard.add(1, ordering: .relaxed) }
    let before = disposition(of: SIGUSR1)
    let stage = Stage(.current)
    let first = try! stage.signal("a", SIGUSR1)
    let second = try! stage.signal("b", SIGUSR1)
    raise(SIGUSR1)
    first.invalidate()
    raise(SIGUSR1)
    precondition(disposition(of: SIGUSR1) != before && heard.load(ordering: .relaxed) == 0)
    second.invalidate()
    precondition(disposition(of: SIGUSR1) == before)
    raise(SIGUSR1)
    precondition(heard.load(ordering: .relaxed) == 1)
  }

  @Test(.offThePool) func `a handler that somebody puts in its place meanwhile stays`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(SignalHandlerTests.leavesOthers) }
  }

  private static func leavesOthers() {
    let stage = Stage(.current)
    let source = try! stage.signal("s", SIGUSR1)
    setHandler(of: SIGUSR1) { _ in SignalHandlerTests.heard.add(1, ordering: .relaxed) }
    let theirs = disposition(of: SIGUSR1)
    source.invalidate()
    precondition(disposition(of: SIGUSR1) == theirs)
    raise(SIGUSR1)
    precondition(heard.load(ordering: .relaxed) == 1)
    // A source that is made after it hears the signal, and gives it back.
    let later = try! stage.signal("l", SIGUSR1)
    raise(SIGUSR1)
    stage.look()
    precondition(stage.text == "l1" && heard.load(ordering: .relaxed) == 1)
    later.invalidate()
    precondition(disposition(of: SIGUSR1) == theirs)
  }

  /// *atomic* What a chaining handler found in its place, as a number.
  private static let before = Atomic<UInt>(0)

  @Test(.offThePool) func `a handler that calls the one before it keeps the sources told, and loops with nobody`() async
  {
    await #expect(processExitsWith: .success) { inOwnProcess(SignalHandlerTests.chains) }
  }

  private static func chains() {
    SignalHandlerTests.heard.store(0, ordering: .relaxed)
    let stage = Stage(.current)
    // What comes last: a default that is ignored.
    let source = try! stage.signal("s", SIGWINCH)
    before.store(disposition(of: SIGWINCH), ordering: .relaxed)
    var action = sigaction()
    unsafe action.__sigaction_handler.sa_sigaction = { signal, info, context in
      SignalHandlerTests.heard.add(1, ordering: .relaxed)
      typealias Handler = @convention(c) (CInt, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void
      let handler = unsafe unsafeBitCast(SignalHandlerTests.before.load(ordering: .relaxed), to: Handler.self)
      unsafe handler(signal, UnsafeMutableRawPointer(info), context)
    }
    action.sa_flags = SA_SIGINFO
    precondition(unsafe sigaction(SIGWINCH, &action, nil) == 0)
    raise(SIGWINCH)
    stage.look()
    precondition(stage.text == "s1" && heard.load(ordering: .relaxed) == 1)
    // Now there are two between the kernel and the end of the chain, and nobody subscribes.
    let again = try! stage.signal("a", SIGWINCH)
    source.invalidate()
    again.invalidate()
    raise(SIGWINCH)
    precondition(heard.load(ordering: .relaxed) == 2)
    let last = try! stage.signal("l", SIGWINCH)
    raise(SIGWINCH)
    stage.look()
    precondition(stage.text == "s1 l1")
    last.invalidate()
    raise(SIGWINCH)
    precondition(heard.load(ordering: .relaxed) == 3)
  }

  @Test(.offThePool) func `SIGTERM acts again when its last source has gone`() async {
    await #expect(processExitsWith: .signal(SIGTERM)) {
      unblockSignals()
      let source = try SignalSource(SIGTERM) { _, _ in }
      raise(SIGTERM)
      source.invalidate()
      raise(SIGTERM)
    }
  }

  @Test(.offThePool) func `an ignored SIGPIPE is an error for who writes, and stays ignored after a source`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(SignalHandlerTests.ignores) }
  }

  private static func ignores() {
    try! SignalSource.ignore(SIGPIPE)
    var ends: [CInt] = [0, 0]
    precondition(unsafe pipe(&ends) == 0)
    close(ends[0])
    precondition(unsafe write(ends[1], [1], 1) == -1 && errno == EPIPE)
    let stage = Stage(.current)
    let source = try! stage.signal("s", SIGPIPE)
    precondition(unsafe write(ends[1], [1], 1) == -1 && errno == EPIPE)
    stage.look()
    precondition(stage.text == "s1")
    source.invalidate()
    precondition(disposition(of: SIGPIPE) == 1)
    let other = try! stage.signal("o", SIGUSR2)
    try! SignalSource.ignore(SIGUSR2)
    raise(SIGUSR2)
    stage.look()
    precondition(stage.text == "s1 o1")
    other.invalidate()
    precondition(disposition(of: SIGUSR2) == 1)
  }

  @Test(.offThePool)
  func `a forked child's signals are its own: they act as before, and its parent does not hear of them`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(SignalHandlerTests.forks) }
  }

  private static func forks() {
    let stage = Stage(.current)
    let source = try! stage.signal("s", SIGTERM)
    let child = forkProcess()
    if child == 0 {
      raise(SIGTERM)
      _exit(1)
    }
    precondition(end(of: child) == .signal(SIGTERM))
    stage.look()
    precondition(stage.text == "")
    raise(SIGTERM)
    stage.look()
    precondition(stage.text == "s1" && source.isValid)
  }

  @Test(.offThePool) func `a forked child has signal sources of its own, and gives back what its parent found`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(SignalHandlerTests.forksAndListens) }
  }

  private static func forksAndListens() {
    let stage = Stage(.current)
    let source = try! stage.signal("s", SIGUSR1)
    let child = forkProcess()
    if child == 0 {
      let own = Stage(.current)
      let mine = try! own.signal("m", SIGUSR1)
      raise(SIGUSR1)
      own.look()
      mine.invalidate()
      _exit(own.text == "m1" && disposition(of: SIGUSR1) == 0 ? 0 : 1)
    }
    precondition(end(of: child) == .exit(0))
    stage.look()
    precondition(stage.text == "")
    raise(SIGUSR1)
    stage.look()
    precondition(stage.text == "s1")
    source.invalidate()
    precondition(disposition(of: SIGUSR1) == 0)
  }

  @Test(.offThePool) func `when somebody has closed its descriptor, no stranger's file gets a byte`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(SignalHandlerTests.isClosedBehind) }
  }

  private static func isClosedBehind() {
    // The source gets the lowest free number.
    let own = dup(0)
    close(own)
    let source = try! SignalSource(SIGWINCH) { _, _ in }
    let name = "/tmp/\(uniqueName())"
    let file = unsafe open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    _ = unsafe unlink(name)
    precondition(file >= 0 && dup2(file, own) == own)
    raise(SIGWINCH)
    precondition(lseek(file, 0, SEEK_END) == 0)
    withExtendedLifetime(source) {}
  }

  @Test(.offThePool) func `without a descriptor left, a source says so, and claims nothing`() async {
    await #expect(processExitsWith: .success) { inOwnProcess(SignalHandlerTests.isExhausted) }
  }

  private static func isExhausted() {
    var limit = rlimit()
    precondition(unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
    let soft = limit.rlim_cur
    limit.rlim_cur = 0
    precondition(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
    var caught: SignalError?
    do throws(SignalError) { _ = try SignalSource(SIGTERM) { _, _ in } } catch { caught = error }
    limit.rlim_cur = soft
    precondition(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
    precondition(caught == .exhausted && disposition(of: SIGTERM) == 0)
  }
}
