import CLinux
import CTests
import Glibc
import Rondo
import RondoAsync
import RondoSockets
import RondoTestSupport
import RondoTesting

/// An actor on a loop's thread.
private actor Place {
  private let thread: LoopThread

  init(_ thread: LoopThread) {
    self.thread = thread
    // Each hop is to end a sleep, not a spin.
    thread.loop.busyPollBudget = .zero
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.loop.asUnownedSerialExecutor() }

  /// A segment of a task: on the right thread or not.
  func visit(_ right: Tally, _ wrong: Tally) {
    if thread.isCurrent { right.add() } else { wrong.add() }
  }

  /// Isolated, so that a call has to go there, and the caller has to come back.
  private var visits = 0

  func touch() { visits += 1 }

  /// Calls another actor 250 times, the last 200 between marks and counts of this thread.
  func callOften(_ other: Place) async -> Int64 {
    var start: Int64 = 0
    for number in 0..<250 {
      if number == 50 {
        mark("loop begins")
        start = allocation_count()
      }
      await other.touch()
      visits += 1
    }
    let end = allocation_count()
    mark("loop ends")
    return end - start
  }
}

@MainActor private func visitMain(_ right: Tally, _ wrong: Tally) {
  if rondo_is_main_thread() != 0 { right.add() } else { wrong.add() }
}

/// 10,000 tasks hop between the actors of two loops and the main actor; every segment looks where it is.
func probeHops() {
  let (right, wrong) = (Tally(), Tally())
  let ended = Loop.runMain {
    let threads = (0..<2).map { number in try! LoopThread(name: "place \(number)") }
    let places = threads.map { Place($0) }
    await withTaskGroup { group in
      for _ in 0..<10_000 {
        group.addTask {
          await places[0].visit(right, wrong)
          await visitMain(right, wrong)
          await places[1].visit(right, wrong)
          await places[0].visit(right, wrong)
          await visitMain(right, wrong)
        }
      }
    }
    visitMain(right, wrong)
    for thread in threads { await thread.end() }
    visitMain(right, wrong)
    return threads.count { $0.hasEnded }
  }
  report("right", right.value)
  report("wrong", wrong.value)
  report("ended", ended)
}

/// What 200 calls between the actors of two threads cost the caller's thread.
func probeCalls() {
  Loop.runMain {
    let threads = (0..<2).map { number in try! LoopThread(name: "place \(number)") }
    let places = threads.map { Place($0) }
    report("allocations", await places[0].callOften(places[1]))
    report("jobs", threads[0].loop.statistics.jobCallouts)
    for thread in threads { await thread.end() }
  }
}

/// Allocations of a task that goes to and fro between actors on two executors of its own loop.
func probeOwnJobs() {
  let loop = Loop.current
  let (home, other) = (Neighbour(loop.executor(in: .default)), Neighbour(loop.executor(in: .default)))
  Task(executorPreference: loop) {
    report("allocations", await home.callOften(other))
    loop.stop()
  }
  loop.run()
  report("jobs", loop.statistics.jobCallouts)
}

/// Another executor of the same loop, so that each call is a job.
private actor Neighbour {
  private let executor: any SerialExecutor

  init(_ executor: some SerialExecutor) {
    self.executor = executor
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

  private var visits = 0

  func touch() { visits += 1 }

  func callOften(_ other: Neighbour) async -> Int64 {
    var start: Int64 = 0
    for number in 0..<1_050 {
      if number == 50 { start = allocation_count() }
      await other.touch()
      visits += 1
    }
    return allocation_count() - start
  }
}

/// A million ticks, or a tenth of them, of which a slow task takes one in a thousand: how much memory is in use on the way.
func probeTicks() {
  withVirtualLoop { virtual in
    let loop = virtual.loop
    Task(executorPreference: loop) {
      var (elements, total) = (0, 0)
      var early: Int64 = 0
      for await tick in loop.ticks(every: .milliseconds(1)) {
        elements += 1
        total += 1 + tick.missed
        if elements == 10 { early = bytes_in_use() }
        if total >= (isWhole ? 1_000_000 : 100_000) { break }
        try? await loop.clock.sleep(for: .milliseconds(999))
      }
      report("growth", bytes_in_use() - early)
      report("ticks", total)
    }
    loop.run()
    report("fires", loop.statistics.timerCallouts)
  }
}

/// What a body of the main loop's returns, throws and hears.
func probeRunMain() {
  struct Failure: Error {}
  report("value", Loop.runMain { 42 })
  do throws(Failure) {
    try Loop.runMain { () throws(Failure) in
      try? await Task.sleep(for: .milliseconds(1))
      throw Failure()
    }
  } catch {
    report("error", error)
  }
  Loop.runMain {
    for stop in [{ Loop.main.stop() }, { Loop.main.requestStop() }] {
      // The task of the body itself is what is cancelled.
      stop()
      await Task.yield()
    }
    do {
      try await Loop.main.clock.sleep(for: .seconds(3_600))
    } catch {
      report("stopped", error)
    }
  }
  report("nested", Loop.runMain { runNested() })
  report("idle", Loop.main.run(for: .milliseconds(1)))
}

/// A run inside the body does not keep the body from being the end.
@MainActor private func runNested() -> Loop.RunResult {
  Loop.main.run(for: .milliseconds(1))
}

/// Exits with what the body returns.
func probeExitCode() {
  exit(
    Loop.runMain {
      try? await Loop.main.clock.sleep(for: .milliseconds(1))
      return 7
    })
}

/// Ends by an error that nobody catches.
func probeUncaught() {
  struct Uncaught: Error {}
  try! Loop.runMain { throw Uncaught() }
}

/// A loop of the main thread has actors and tasks as others have.
func probeMainLoop() {
  let (right, wrong) = (Tally(), Tally())
  Loop.runMain {
    let actor = LoopActor(Loop.main)
    for _ in 0..<100 {
      await visit(actor, right, wrong)
      await withTaskExecutorPreference(Loop.main) { await visitAnywhere(right, wrong) }
    }
  }
  report("right", right.value)
  report("wrong", wrong.value)
}

private func visit(_ actor: isolated LoopActor, _ right: Tally, _ wrong: Tally) {
  MainActor.assumeIsolated { visitMain(right, wrong) }
}

private nonisolated func visitAnywhere(_ right: Tally, _ wrong: Tally) async {
  if rondo_is_main_thread() != 0 { right.add() } else { wrong.add() }
}

/// A task on a loop echoes 200 requests, one after the other, of a client on this thread; 100 of them between marks.
func probeAsyncEcho() {
  let thread = try! LoopThread(name: "echo")
  let loop = thread.loop
  let (near, far) = try! Socket.pair()
  Task(executorPreference: loop) {
    var requests = 0
    let connection = try Connection(near, on: loop)
    for try await bytes in connection {
      requests += 1
      if requests == 50 { mark("loop begins") }
      if requests == 150 { mark("loop ends") }
      try await connection.write(bytes)
    }
  }
  var answers = 0
  for _ in 0..<200 {
    // A request that comes before the task waits is read without a wait.
    while !loop.isWaiting { sched_yield() }
    try! far.send([UInt8](repeating: 7, count: 64), timeout: .seconds(30))
    _ = rondo_poll_two(far.descriptor, CInt(POLLIN), -1, 30_000)
    if case .bytes(let bytes) = try! far.receive(), bytes.count == 64 { answers += 1 }
  }
  report("answers", answers)
  thread.stop()
}
