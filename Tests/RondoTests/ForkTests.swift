import Dispatch
import Glibc
import Rondo
import RondoTestSupport
import RondoTesting
import Testing

/// A forked child has loops of its own and leaves its parent's alone. Each test forks in a process of its own.
@Suite struct ForkTests {
  @Test(.offThePool) func `a child's current loop is fresh and works`() async {
    await #expect(processExitsWith: .success) { Fork.childRunsItsOwnLoop() }
  }

  @Test(.offThePool) func `a child's main loop is fresh and works`() async {
    await #expect(processExitsWith: .success) { Fork.childRunsItsMainLoop() }
  }

  @Test(.offThePool, arguments: 0..<6)
  func `a child that uses its parent's loop is told whose it is`(_ use: Int) async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { [use] in
      Fork.childUsesItsParentsLoop(use)
    }
    #expect(result?.complaint.contains("This loop belongs to the parent of a forked process.") == true)
  }

  @Test(.offThePool, arguments: 0..<6, [true, false])
  func `a child that ends its parent's items leaves them as they are, however it was made`(
    _ use: Int, _ isQuiet: Bool
  ) async {
    await #expect(processExitsWith: .success) { [use, isQuiet] in
      Fork.childEndsItsParentsItems(use, quietly: isQuiet)
    }
  }

  @Test(.offThePool) func `a fork that a handler has asked about is counted once`() async {
    await #expect(processExitsWith: .success) { Fork.childIsCountedOnce() }
  }

  @Test(.offThePool, arguments: 0..<7, [true, false])
  func `a child that touches its parent's items is told whose they are, however it was made`(
    _ use: Int, _ isQuiet: Bool
  ) async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { [use, isQuiet] in
      Fork.childTouchesItsParentsItems(use, quietly: isQuiet)
    }
    #expect(result?.complaint.contains("This loop belongs to the parent of a forked process.") == true)
  }

  @Test(.offThePool) func `a child that no handler was told of has loops of its own`() async {
    await #expect(processExitsWith: .success) { Fork.quietChildRunsItsOwnLoop() }
  }

  @Test(.offThePool, arguments: [true, false])
  func `a child's tables of the process are new, whatever its parent's threads do`(_ isQuiet: Bool) async {
    await #expect(processExitsWith: .success) { [isQuiet] in Fork.childHasItsOwnTables(quietly: isQuiet) }
  }

  @Test(.offThePool) func `a parent's loop goes on working after a child has come and gone`() async {
    await #expect(processExitsWith: .success) { Fork.parentGoesOn() }
  }

  @Test(.offThePool) func `a child lets go of its parent's permanent thread, which goes on`() async {
    await #expect(processExitsWith: .success) { Fork.childDropsItsParentsThread() }
  }

  @Test(.offThePool) func `a child's thread that ends leaves the parent's items alone`() async {
    await #expect(processExitsWith: .success) { Fork.childThreadEnds() }
  }
}

/// Like fork(2), but runs no handlers of pthread_atfork(3).
@_silgen_name("_Fork") private func forkQuietly() -> pid_t

/// What the exit tests do, in synchronous functions because loops belong to threads.
private enum Fork {
  /// Forks; the child leaves with what `body` returns.
  ///
  /// A loop is exercised before, on a thread of its own: the runtime makes tables for that under locks, and one that
  /// another thread of the process holds at the fork stays held in the child.
  private static func inChild(quietly: Bool = false, _ body: () -> CInt) -> End {
    let isFine = TestThread { exercise(.current) == 0 }.join()
    precondition(isFine)
    let child = quietly ? forkQuietly() : forkProcess()
    if child == 0 { _exit(body()) }
    precondition(child > 0, "No child could be made: errno \(errno).")
    return end(of: child)
  }

  /// Runs a loop that has a timer, a descriptor and a block; 0 if all of them were served.
  private static func exercise(_ loop: Loop) -> CInt {
    let stage = Stage(loop)
    let pipe = stage.pipe()
    pipe.write(1)
    stage.descriptor("d", pipe.reader) { source, _ in source.invalidate() }
    stage.timer("t", after: .milliseconds(1))
    stage.block("b")
    // The main loop is never finished: the main dispatch queue keeps it.
    while stage.trace.tokens.count < 3 { loop.run(for: .milliseconds(2)) }
    return stage.trace.tokens.sorted() == ["b", "d", "t"] ? 0 : 1
  }

  static func childRunsItsOwnLoop() {
    let parent = Loop.current
    parent.add(Loop.Source {})
    parent.run(for: .milliseconds(1))
    let end = inChild { Loop.current === parent ? 2 : exercise(.current) }
    precondition(end == .exit(0), "\(end)")
  }

  static func quietChildRunsItsOwnLoop() {
    let parent = Loop.current
    parent.add(Loop.Source {})
    parent.run(for: .milliseconds(1))
    let end = inChild(quietly: true) { Loop.current === parent ? 2 : exercise(.current) }
    precondition(end == .exit(0), "\(end)")
  }

  static func childTouchesItsParentsItems(_ use: Int, quietly: Bool) {
    let stage = Stage(.current)
    let pipe = stage.pipe()
    let source = stage.descriptor("d", pipe.reader)
    let timer = stage.timer("t", every: .seconds(60))
    stage.loop.run(for: .milliseconds(1))
    let end = inChild(quietly: quietly) {
      switch use {
      case 0: source.enable(.write)
      case 1: source.disable(.read)
      case 2: timer.fireDate = timer.fireDate.advanced(by: .seconds(1))
      case 3: timer.tolerance = .seconds(1)
      case 4: stage.loop.wakeUp()
      case 5: stage.loop.run(for: .zero)
      default: timer.interval = .seconds(1)
      }
      return 0
    }
    guard case .signal = end else { preconditionFailure("The child got away with it: \(end)") }
  }

  static func childEndsItsParentsItems(_ use: Int, quietly: Bool) {
    let stage = Stage(.current)
    let pipe = stage.pipe()
    let source = stage.descriptor("d", pipe.reader)
    let timer = stage.timer("t", every: .seconds(60))
    let timeout = stage.loop.makeTimeout { stage.note("o") }
    stage.loop.arm(timeout, after: .milliseconds(1))
    let thread = try! LoopThread()
    while !thread.loop.isWaiting { sched_yield() }
    stage.loop.run(for: .zero)
    let end = inChild(quietly: quietly) {
      switch use {
      case 0: source.invalidate()
      case 1: timer.invalidate()
      case 2: stage.loop.remove(timer)
      case 3: precondition(!stage.loop.discard(timeout))
      case 4: precondition(!stage.loop.disarm(timeout))
      default: thread.stop()
      }
      return source.isValid && timer.isValid ? 0 : 1
    }
    precondition(end == .exit(0), "\(end)")
    pipe.write(1)
    while stage.trace.tokens.count < 2 { stage.loop.run(for: .milliseconds(2), returnAfterSourceHandled: true) }
    precondition(stage.trace.tokens.contains("o") && stage.trace.tokens.contains("d"))
    precondition(stage.loop.contains(timer))
    thread.stop()
  }

  static func childIsCountedOnce() {
    _ = Loop.current
    let end = inChild {
      // The library's own handler has run. Where others run before it, it runs after a thread has asked.
      let loop = Loop.current
      ProcessGeneration.settleInChild()
      return Loop.current === loop ? exercise(loop) : 2
    }
    precondition(end == .exit(0), "\(end)")
  }

  static func childDropsItsParentsThread() {
    let box = Later<LoopThread>()
    box.value = try! LoopThread()
    // Awake, it may hold a lock of the Swift runtime's, which the child would find held for ever.
    while !box.value.loop.isWaiting { sched_yield() }
    // The child starts no thread: two of them may wait for each other at the runtime's locks, which survive no fork.
    let end = inChild {
      box.value = nil
      return 0
    }
    precondition(end == .exit(0), "\(end)")
    precondition((try? box.value.sync { 1 }) == 1)
    box.value.stop()
  }

  static func childRunsItsMainLoop() {
    let parent = Loop.main
    let end = inChild {
      // The thread that forked is the child's first.
      guard Loop.main !== parent, Loop.main === Loop.current else { return 2 }
      return exercise(.main)
    }
    precondition(end == .exit(0), "\(end)")
  }

  static func childUsesItsParentsLoop(_ use: Int) {
    let parent = Loop.current
    parent.add(Loop.Source {})
    parent.run(for: .milliseconds(1))
    let end = inChild {
      switch use {
      case 0: parent.wakeUp()
      case 1: parent.perform {}
      case 2: parent.add(Loop.Source {})
      case 3: parent.run(for: .zero)
      case 4: parent.stop()
      default: parent.requestStop()
      }
      return 0
    }
    guard case .signal = end else { preconditionFailure("The child got away with it: \(end)") }
  }

  static func childHasItsOwnTables(quietly: Bool) {
    endProcess(after: 2 * patience)
    let table = PerProcess([1])
    let (isIn, mayGo) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let thread = TestThread {
      table.withLock { numbers in
        numbers = []
        isIn.signal()
        mayGo.wait()
      }
    }
    isIn.wait()
    let end = inChild(quietly: quietly) {
      endProcess(after: patience)
      let numbers = table.withLock { numbers in
        numbers.append(2)
        return numbers
      }
      return numbers == [1, 2] && table.withLock { $0 } == [1, 2] ? 0 : 1
    }
    precondition(end == .exit(0), "\(end)")
    mayGo.signal()
    thread.join()
    precondition(table.withLock { $0 } == [])
  }

  static func parentGoesOn() {
    let parent = Loop.current
    parent.add(Loop.Source {})
    parent.run(for: .milliseconds(1))
    for _ in 0..<5 {
      precondition(inChild { exercise(.current) } == .exit(0))
      precondition(exercise(parent) == 0)
    }
  }

  static func childThreadEnds() {
    let stage = Stage(.current)
    let pipe = stage.pipe()
    let source = stage.descriptor("d", pipe.reader, trigger: .level)
    stage.loop.run(for: .zero)
    let end = inChild {
      TestThread { exercise(.current) }.join()
    }
    precondition(end == .exit(0), "\(end)")
    precondition(source.isValid)
    pipe.write(1)
    stage.loop.run(for: .zero)
    precondition(stage.text == "d")
  }
}
