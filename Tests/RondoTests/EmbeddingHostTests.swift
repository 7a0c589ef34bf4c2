import Glibc
import Rondo
import RondoTestSupport
import RondoTesting
import Testing

/// A guest's descriptor: readable while a turn has something to do, and only then.
@Suite struct EmbeddingHostTests {
  // MARK: - Truthful

  /// What gives a guest something to do between two turns.
  enum Cause: CaseIterable, Sendable {
    case timer, timeout, sooner, post, foreignPost, wakeUp, foreignWakeUp, stop, requestStop, signal, foreignSignal
    case job, foreignJob, foreignTimer, removal, interest, readiness, commonMode
  }

  @Test(arguments: Cause.allCases)
  func `what comes between turns makes the descriptor readable until a turn has served it`(cause: Cause) {
    onLoopThread { stage in
      let pipe = stage.pipe()
      pipe.write(1)
      let source = stage.source("s")
      let late = stage.timer("late", after: .seconds(3600))
      let idle = stage.descriptor("d", pipe.reader, for: []) { source, _ in source.disable(.read) }
      let timeout = stage.loop.makeTimeout { stage.note("timeout") }
      let guest = Loop.Embedding(of: stage.loop)
      guest.serve()
      #expect(!guest.isReadable)
      switch cause {
      case .timer: stage.timer("t", after: .milliseconds(1))
      case .timeout: stage.loop.arm(timeout, after: .milliseconds(1))
      case .sooner: late.fireDate = SuspendingClock().now
      case .post: stage.block("b")
      case .foreignPost: elsewhere { stage.block("b") }
      case .wakeUp: stage.loop.wakeUp()
      case .foreignWakeUp: elsewhere { stage.loop.wakeUp() }
      case .stop: stage.loop.stop()
      case .requestStop: stage.loop.requestStop()
      case .signal: source.signal()
      case .foreignSignal: elsewhere { source.signal() }
      case .job: Task(executorPreference: stage.loop) { stage.note("job") }
      case .foreignJob: elsewhere { Task(executorPreference: stage.loop) { stage.note("job") } }
      case .foreignTimer: elsewhere { stage.timer("t", after: .zero) }
      case .removal:
        idle.invalidate()
        late.invalidate()
        source.invalidate()
      case .interest: idle.enable(.read)
      case .readiness:
        idle.enable(.read)
        guest.serve()
        #expect(stage.take() == "d")
        idle.enable(.read)
      case .commonMode:
        stage.timer("t", after: .zero, in: .common)
        guest.serve()
        _ = stage.take()
        stage.loop.addCommonMode("other")
      }
      #expect(guest.waitUntilReadable())
      var result: Loop.RunResult?
      while guest.waitUntilReadable(atMost: cause == .timer || cause == .timeout ? 20 : 0), result == nil {
        result = guest.turn()
      }
      let expected: [Cause: String] = [
        .timer: "t", .timeout: "timeout", .sooner: "late", .post: "b", .foreignPost: "b", .signal: "s",
        .foreignSignal: "s", .job: "job", .foreignJob: "job", .foreignTimer: "t", .interest: "d", .readiness: "d",
      ]
      #expect(stage.text == expected[cause, default: ""])
      #expect((result == .stopped) == [.stop, .requestStop].contains(cause))
      guest.serve()
      #expect(!guest.isReadable)
      guest.end()
    }
  }

  @Test func `a fresh guest is readable if there is something to run for`() {
    onLoopThread { stage in
      let guest = Loop.Embedding(of: stage.loop)
      #expect(!guest.isReadable)
      stage.block("b", in: "other")
      guest.serve()
      #expect(!guest.isReadable)
      stage.block("b")
      #expect(guest.isReadable)
      #expect(guest.turn() == .finished)
      #expect(!guest.isReadable)
      guest.end()
    }
  }

  @Test func `a timer makes the descriptor readable when it is due, and not before`() {
    onLoopThread { stage in
      let clock = SuspendingClock()
      stage.timer("t", after: .milliseconds(30))
      let guest = Loop.Embedding(of: stage.loop)
      guest.serve()
      let deadline = guest.deadline
      #expect(guest.waitUntilReadable())
      #expect(clock.now >= deadline!)
      #expect(guest.turn() == .finished)
      #expect(stage.text == "t")
    }
  }

  @Test func `work that is left keeps the descriptor readable`() {
    onLoopThread { stage in
      let count = Later(0)
      let again = Later<@Sendable () -> Void>()
      again.value = {
        count.value += 1
        if count.value < 100 { stage.loop.perform { again.value() } }
      }
      stage.loop.perform { again.value() }
      let guest = Loop.Embedding(of: stage.loop)
      var turns = 0
      while guest.isReadable {
        guest.turn()
        turns += 1
      }
      #expect(count.value == 100)
      #expect(turns > 10)
      again.value = {}
    }
  }

  @Test func `an edge that a turn did not get to is not lost`() {
    onLoopThread { stage in
      let pipe = stage.pipe()
      let guest = Loop.Embedding(of: stage.loop)
      stage.descriptor("d", pipe.reader, trigger: .edge)
      guest.serve()
      for _ in 0..<50 {
        pipe.write(1)
        stage.block("b")
        guest.serve()
      }
      #expect(stage.text.split(separator: " ").count { $0 == "d" } == 50)
      guest.end()
    }
  }

  // MARK: - Posts

  @Test func `a hundred thousand posts of three threads are all served`() {
    let posts = 33_334
    let served = onLoopThread { stage in
      let count = Later(0)
      let guest = Loop.Embedding(of: stage.loop)
      let loop = stage.loop
      let posters = (0..<3).map { _ in
        TestThread {
          for number in 0..<posts {
            loop.perform { count.value += 1 }
            if number % 100 == 0 { sched_yield() }
          }
        }
      }
      while count.value < 3 * posts, guest.waitUntilReadable() { guest.turn() }
      for poster in posters { poster.join() }
      guest.end()
      return count.value!
    }
    #expect(served == 3 * posts)
  }

  @Test func `an actor of an embedded loop is served`() async {
    let made = Handover<Loop>()
    let host = TestThread { () -> Loop.RunResult? in
      let loop = Loop.current
      loop.add(Loop.Source {})
      let guest = Loop.Embedding(of: loop)
      made.put(loop)
      var result: Loop.RunResult?
      while result != .stopped {
        if guest.waitUntilReadable() { result = guest.turn() }
      }
      guest.end()
      return result
    }
    // Nothing here blocks a thread of the runtime's before the loop has been stopped.
    let counter = EmbeddedCounter(made.take())
    var sum = 0
    for _ in 0..<1_000 { sum = await counter.add() }
    await counter.stop()
    #expect(sum == 1_000)
    #expect(host.join() == .stopped)
  }

  // MARK: - The descriptor

  @Test func `the descriptor stays, and truthful, when a file closed behind the loop's back needs a new wait set`() {
    onLoopThread { stage in
      let (pipe, other) = (stage.pipe(), stage.pipe())
      let quiet = (0..<3).map { _ in stage.pipe() }
      var kept: [CInt] = []
      stage.descriptor("gone", pipe.reader)
      stage.descriptor("d", other.reader) { _, _ in other.drain() }
      let guest = Loop.Embedding(of: stage.loop)
      guest.serve()
      let number = guest.descriptor
      for replacement in quiet {
        // The file that was watched stays open, and so in the wait set.
        kept.append(duplicate(pipe.reader))
        pipe.replaceReader(with: replacement.reader)
        stage.descriptor("new", pipe.reader)
        guest.serve()
        other.write(1)
        #expect(guest.waitUntilReadable())
        guest.serve()
        #expect(stage.take() == "d")
        #expect(!guest.isReadable)
        stage.block("b")
        #expect(guest.isReadable)
        guest.serve()
        #expect(stage.take() == "b")
      }
      #expect(guest.descriptor == number)
      guest.end()
      for descriptor in kept { close(descriptor) }
    }
  }

  // MARK: - Ends

  @Test func `a thread that ends ends its loop's embedding, and the run's observers hear of it`() {
    let trace = Later("")
    let left = Later<Loop.Embedding?>()
    TestThread {
      let loop = Loop.current
      loop.add(Loop.Source {})
      loop.add(Loop.Observer([.entry, .exit]) { activity in trace.value += "\(activity) " })
      let guest = Loop.Embedding(of: loop)
      guest.serve()
      left.value = guest
    }.join()
    left.value = nil
    #expect(trace.value == "entry exit ")
  }
}

/// An embedding that is used wrongly says what to do. Each test has a process of its own, which ends with a message.
@Suite struct EmbeddingMisuseTests {
  enum Misuse: Int, CaseIterable, Codable, Sendable {
    case twice, twoModes, run, turnInTurn, otherThread, deadlineElsewhere, letGoElsewhere, runningLoop, foreignLoop
    case common, afterEnd, child

    var complaint: String {
      switch self {
      case .twice, .twoModes: "This loop is embedded already. End that embedding first"
      case .run: "This loop is embedded: its host runs it by turn()."
      case .turnInTurn: "turn() was called inside a callout of turn()."
      case .otherThread, .deadlineElsewhere: "Watch the descriptor, and call turn(), there."
      case .letGoElsewhere: "Call end() on the loop's thread."
      case .runningLoop: "This loop is running, so that its thread is not a host's."
      case .foreignLoop: "a host on that thread alone can embed it."
      case .common: "Embed one of them."
      case .afterEnd: "This embedding has ended."
      case .child: "This loop belongs to the parent of a forked process."
      }
    }
  }

  @Test(.offThePool, arguments: Misuse.allCases)
  func `says what to do`(misuse: Misuse) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [misuse] in
      misuse.commit()
    }
    #expect(result?.complaint.contains(misuse.complaint) == true, "\(result?.complaint ?? "")")
  }

  @Test(.offThePool) func `a forked child lets its parent's embedding go`() async {
    await #expect(processExitsWith: .success) { lettingGoInChild() }
  }
}

extension EmbeddingMisuseTests.Misuse {
  fileprivate func commit() {
    let loop = Loop.current
    loop.add(Loop.Source {})
    if self == .runningLoop {
      loop.perform { _ = Loop.Embedding(of: loop) }
      loop.run(for: .zero)
      return
    }
    if self == .foreignLoop { return TestThread { _ = Loop.Embedding(of: loop) }.join() }
    if self == .common {
      _ = Loop.Embedding(of: loop, in: .common)
      return
    }
    nonisolated(unsafe) var guest: Loop.Embedding? = Loop.Embedding(of: loop)
    unsafe guest!.turn()
    switch self {
    case .twice: _ = Loop.Embedding(of: loop)
    case .twoModes: _ = Loop.Embedding(of: loop, in: "other")
    case .run: loop.run(for: .zero)
    case .turnInTurn:
      loop.perform { _ = unsafe guest!.turn() }
      unsafe guest!.turn()
    case .otherThread: TestThread { _ = unsafe guest!.turn() }.join()
    case .deadlineElsewhere: TestThread { _ = unsafe guest!.deadline }.join()
    case .letGoElsewhere: TestThread { unsafe guest = nil }.join()
    case .afterEnd:
      unsafe guest!.end()
      unsafe guest!.turn()
    case .child:
      let child = forkProcess()
      if child == 0 {
        unsafe guest!.turn()
      } else if case .signal = end(of: child) {
        // The child has complained; so shall its parent.
        abort()
      }
    case .runningLoop, .foreignLoop, .common: break
    }
  }
}

private func lettingGoInChild() {
  let loop = Loop.current
  loop.add(Loop.Source {})
  var guest: Loop.Embedding? = Loop.Embedding(of: loop)
  guest!.serve()
  let child = forkProcess()
  if child == 0 {
    guest!.end()
    guest = nil
    _exit(0)
  }
  precondition(end(of: child) == .exit(0))
  loop.perform {}
  precondition(guest!.isReadable)
  guest!.serve()
  precondition(!guest!.isReadable)
  guest!.end()
}

/// Runs `body` on another thread, and waits for it.
private func elsewhere(_ body: @escaping @Sendable () -> Void) { TestThread(body).join() }

/// An actor of a loop.
private actor EmbeddedCounter {
  private let loop: Loop
  private var sum = 0
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

  init(_ loop: Loop) { self.loop = loop }

  func add() -> Int {
    precondition(loop.isCurrent)
    sum += 1
    return sum
  }

  func stop() { loop.stop() }
}

extension Loop.Embedding {
  /// Whether poll(2) finds the descriptor readable now.
  fileprivate var isReadable: Bool { waitUntilReadable(atMost: 0) }

  /// Sleeps as a host would.
  fileprivate func waitUntilReadable(atMost milliseconds: CInt = 1_000 * CInt(patience)) -> Bool {
    var query = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&query, 1, milliseconds) == 1 && query.revents & Int16(POLLIN) != 0
  }

  /// Serves what there is.
  fileprivate func serve() {
    for _ in 0..<100 where isReadable { turn() }
  }
}
