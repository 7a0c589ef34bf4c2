import Rondo
import RondoTesting
import Synchronization
import Testing

/// `Task.sleep` and the standard clocks, in tasks that prefer a loop: by its timers.
@Suite struct JobSleepTests {
  /// What tasks have to say, in order.
  private final class Notes: Sendable {
    private let notes = Mutex<[String]>([])

    func note(_ text: String) { notes.withLock { $0.append(text) } }
    var all: [String] { notes.withLock { $0 } }
  }

  @Test func `in virtual time a sleep is a timer of the loop's clock, by whatever clock it was asked for`() {
    withVirtualLoop { virtual in
      let sleeps: [@Sendable () async throws -> Void] = [
        { try await Task.sleep(for: .seconds(36_000)) },
        { try await ContinuousClock().sleep(for: .seconds(36_000)) },
        { try await SuspendingClock().sleep(for: .seconds(36_000)) },
        { try await Task.sleep(nanoseconds: 36_000_000_000_000) },
      ]
      let tasks = sleeps.map { sleep in Task(executorPreference: virtual.loop) { try await sleep() } }
      virtual.runUntilIdle()
      #expect(virtual.loop.run(for: .seconds(36_000 - 60)) == .timedOut)
      #expect(virtual.loop.statistics.timerCallouts == 0)
      // The real clocks have gone on meanwhile, which is made up for to the millisecond.
      virtual.loop.run(for: .seconds(60))
      #expect(virtual.loop.statistics.timerCallouts == 4)
      for task in tasks { task.cancel() }
    }
  }

  @Test func `sleeps with tolerance share one wakeup, with each other and with timers`() {
    withVirtualLoop { virtual in
      for number in 0..<10_000 {
        Task(executorPreference: virtual.loop) {
          try? await Task.sleep(for: .seconds(3_600 + number % 100), tolerance: .seconds(3_600))
        }
      }
      virtual.runUntilIdle()
      virtual.loop.add(Loop.Timer(after: .seconds(5_000)) { _ in })
      virtual.loop.run(for: .seconds(5_000))
      #expect(virtual.loop.statistics.timerCallouts == 10_001)
      #expect(virtual.sleeps == 1)
      #expect(virtual.elapsed == .seconds(5_000))
    }
  }

  @Test func `a cancelled sleep leaves nothing in the loop`() {
    withVirtualLoop { virtual in
      let loop = virtual.loop
      let ends = Notes()
      Task(executorPreference: loop) {
        let tasks = (0..<100).map { _ in
          Task(executorPreference: loop) {
            do { try await Task.sleep(for: .seconds(36_000)) } catch { ends.note("\(error)") }
          }
        }
        for _ in 0..<3 { await Task.yield() }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
      }
      #expect(loop.run() == .finished)
      #expect(ends.all == Array(repeating: "CancellationError()", count: 100))
      #expect(virtual.elapsed == .zero)
      #expect(loop.statistics.timerCallouts == 0)
    }
  }

  @Test func `an executor's sleeps are served in its modes only`() {
    withVirtualLoop { virtual in
      let loop = virtual.loop
      Task(executorPreference: loop.executor(in: "modal", "other")) { try? await Task.sleep(for: .seconds(10)) }
      loop.run(in: "modal", for: .seconds(5))
      loop.run(in: .default, for: .seconds(10))
      #expect(loop.statistics.timerCallouts == 0)
      loop.run(in: "other", for: .seconds(10))
      #expect(loop.statistics.timerCallouts == 1)
    }
  }

  @Test func `the loop's own clock sleeps to the nanosecond in a task that prefers the loop`() {
    withVirtualLoop { virtual in
      let clock = virtual.loop.clock
      Task(executorPreference: virtual.loop) { try await Task.sleep(for: .nanoseconds(3), clock: clock) }
      virtual.loop.run()
      #expect(virtual.elapsed == .nanoseconds(3))
    }
  }

  @Test func `a sleep is never early, and the task goes on on the loop's thread`() async throws {
    let running = RunningLoop()
    let loop = running.loop
    let (late, isOn) = await Task(executorPreference: loop) {
      let start = ContinuousClock.now
      try? await Task.sleep(for: .milliseconds(20))
      return (ContinuousClock.now - start, loop.isCurrent)
    }.value
    #expect(late >= .milliseconds(20))
    #expect(isOn)
    #expect(loop.statistics.timerCallouts == 1)
    running.stop()
  }

  @Test func `a sleep outlives its loop`() async throws {
    let thread = try LoopThread(name: "short")
    let loop = thread.loop
    let start = ContinuousClock.now
    let task = Task(executorPreference: loop) {
      try await Task.sleep(for: .milliseconds(100))
      return loop.isCurrent
    }
    await Task(executorPreference: loop) {}.value
    await thread.end()
    let hasEndedBefore = ContinuousClock.now - start < .milliseconds(100)
    let wasOnLoop = try await task.value
    #expect(!hasEndedBefore || !wasOnLoop)
    #expect(ContinuousClock.now - start >= .milliseconds(100))
  }
}
