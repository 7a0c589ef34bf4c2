import Glibc
import Rondo
import RondoDaemon
import RondoTestSupport
import Testing

/// Signals that cancel a task. Each in a process of its own, for a signal is the whole process's.
@Suite(.offThePool) struct CancellationTests {
  @Test func `the first signal cancels the body, and is returned when that has ended`() async {
    await #expect(processExitsWith: .success) {
      let thread = try LoopThread(name: "signals")
      let loop = thread.loop
      let signal = try await withCancellation(by: [SIGINT, SIGTERM], on: loop) {
        precondition(loop.isCurrent)
        kill(getpid(), SIGTERM)
        // It would be waited for.
        try await loop.clock.sleep(for: .seconds(600))
      }
      precondition(signal == SIGTERM)
      await thread.end()
    }
  }

  @Test func `without a signal the body's result counts`() async {
    await #expect(processExitsWith: .success) {
      struct Failure: Error {}
      let thread = try LoopThread(name: "signals")
      let signal = try await withCancellation(by: [SIGTERM], on: thread.loop) {}
      precondition(signal == nil)
      do {
        try await withCancellation(by: [SIGTERM], on: thread.loop) { throw Failure() }
        exit(1)
      } catch is Failure {}
      await thread.end()
    }
  }

  @Test func `a second signal has its old effect`() async {
    await #expect(processExitsWith: .signal(SIGTERM)) {
      let thread = try LoopThread(name: "signals")
      let loop = thread.loop
      try await withCancellation(by: [SIGTERM], on: loop) {
        kill(getpid(), SIGTERM)
        try? await loop.clock.sleep(for: .seconds(600))
        kill(getpid(), SIGTERM)
        // The loop's thread may be the one that takes it; no thread does without it.
        while true { await Task.yield() }
      }
    }
  }

  @Test func `a cancelled caller cancels the body`() async {
    await #expect(processExitsWith: .success) {
      let thread = try LoopThread(name: "signals")
      let loop = thread.loop
      let task = Task {
        try await withCancellation(by: [SIGTERM], on: loop) { try await loop.clock.sleep(for: .seconds(600)) }
      }
      task.cancel()
      do {
        _ = try await task.value
        exit(1)
      } catch is CancellationError {}
      await thread.end()
    }
  }

  @Test func `a signal that cannot be caught starts nothing`() async throws {
    let thread = try LoopThread(name: "signals")
    await #expect(throws: SignalError.uncatchable(SIGKILL)) {
      try await withCancellation(by: [SIGKILL], on: thread.loop) { Issue.record("it began") }
    }
    await thread.end()
  }
}
