import Glibc
import Rondo
import RondoTestSupport
import RondoTesting
import Testing

/// Whoever sleeps is woken: each sleep in a process of its own, which an alarm ends if nothing else does.
@Suite struct SleeperTests {
  @Test(.offThePool) func `a timer ends a sleep`() async {
    await #expect(processExitsWith: .success) { Sleeper.timer() }
  }

  @Test(.offThePool) func `the end of its time ends a sleeping run`() async {
    await #expect(processExitsWith: .success) { Sleeper.deadline() }
  }

  @Test(.offThePool, arguments: 0..<6)
  func `what comes from another thread ends a sleep`(_ what: Int) async {
    await #expect(processExitsWith: .success) { [what] in Sleeper.post(what) }
  }

  @Test(.offThePool) func `a source that is signalled from another thread again and again is performed each time`()
    async
  {
    await #expect(processExitsWith: .success) { Sleeper.signals() }
  }

  @Test(.offThePool) func `a thread that waits for the answer to its call gets it`() async {
    await #expect(processExitsWith: .success) { Sleeper.call() }
  }

  @Test(.offThePool) func `every thread that waits for the end of a permanent one goes on`() async {
    await #expect(processExitsWith: .success) { Sleeper.join() }
  }

  @Test(.offThePool) func `a task that waits for the end of a permanent thread goes on`() async {
    await #expect(processExitsWith: .success) { await Sleeper.end() }
  }
}

/// What the exit tests do; loops belong to threads, so in synchronous functions.
private enum Sleeper {
  /// Each takes a few milliseconds. What sleeps for ever is ended by a signal.
  private static func giveUpLater() { endProcess(after: patience) }

  static func timer() {
    giveUpLater()
    let fires = Later(0)
    let loop = Loop.current
    loop.add(
      Loop.Timer(every: .milliseconds(1)) { tick in
        fires.value += 1
        if fires.value == 5 { tick.timer.invalidate() }
      })
    precondition(loop.run() == .finished)
    precondition(fires.value == 5)
  }

  static func deadline() {
    giveUpLater()
    let loop = Loop.current
    loop.add(Loop.Source {})
    for _ in 0..<5 { precondition(loop.run(for: .milliseconds(1)) == .timedOut) }
  }

  static func post(_ what: Int) {
    giveUpLater()
    let loop = Loop.current
    let source = Loop.Source { loop.stop() }
    loop.add(source)
    let poster = TestThread {
      while !loop.isWaiting { yieldThread() }
      switch what {
      case 0: loop.stop()
      case 1: loop.requestStop()
      case 2: source.signal()
      case 3: loop.perform { Loop.current.stop() }
      case 4: loop.add(Loop.Timer(after: .zero) { _ in Loop.current.stop() })
      default: Task(executorPreference: loop) { loop.stop() }
      }
    }
    precondition(loop.run() == .stopped)
    poster.join()
  }

  static func signals() {
    giveUpLater()
    let performed = Tally()
    let running = RunningLoop()
    let source = Loop.Source { performed.add() }
    running.loop.add(source)
    for count in 1...5 {
      source.signal()
      while performed.count < count { yieldThread() }
    }
    source.invalidate()
    running.stop()
  }

  static func call() {
    giveUpLater()
    guard let thread = try? LoopThread() else { preconditionFailure("No thread could be made.") }
    // Long enough for the caller to sleep meanwhile; if it does not, there is another call.
    for number in 0..<5 {
      precondition(
        try! thread.sync {
          usleep(10_000)
          return number
        } == number)
    }
    thread.stop()
  }

  static func join() {
    giveUpLater()
    guard let thread = try? LoopThread() else { preconditionFailure("No thread could be made.") }
    thread.execute { usleep(50_000) }
    let joiners = (0..<3).map { _ in TestThread { thread.stop() } }
    for joiner in joiners { joiner.join() }
    precondition(thread.hasEnded)
  }

  static func end() async {
    giveUpLater()
    guard let thread = try? LoopThread() else { preconditionFailure("No thread could be made.") }
    thread.execute { usleep(50_000) }
    await thread.end()
    precondition(thread.hasEnded)
  }
}
