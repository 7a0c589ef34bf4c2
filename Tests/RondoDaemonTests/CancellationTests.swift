import Glibc
import Rondo
import RondoDaemon
import RondoSockets
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

  @Test func `after a signal, an error that says that the task was cancelled is none, and another one is thrown`() async
  {
    await #expect(processExitsWith: .success) {
      struct Failure: Error {}
      let thread = try LoopThread(name: "signals")
      let loop = thread.loop
      let cancellations: [any Error] = [
        CancellationError(), ConnectionError.wait(.cancelled), LookupError.cancelled, Loop.WaitError.cancelled,
        ChildError.stream(.wait(.cancelled)), Loop.CallError<any Error>.body(CancellationError()),
      ]
      for error in cancellations + [Failure()] {
        do {
          let signal = try await withCancellation(by: [SIGTERM], on: loop) {
            kill(getpid(), SIGTERM)
            try? await loop.clock.sleep(for: .seconds(600))
            throw error
          }
          precondition(signal == SIGTERM && !(error is Failure), "\(error)")
        } catch is Failure {
          precondition(error is Failure)
        }
        // The signals have their old effect for half a second more.
        while disposition(of: SIGTERM) != 0 { try await Task.sleep(for: .milliseconds(5)) }
      }
      await thread.end()
    }
  }

  @Test func `half a second after the first signal, a second one has its old effect`() async {
    await #expect(processExitsWith: .signal(SIGTERM)) {
      let thread = try LoopThread(name: "signals")
      let loop = thread.loop
      try await withCancellation(by: [SIGTERM], on: loop) {
        kill(getpid(), SIGTERM)
        try? await loop.clock.sleep(for: .seconds(600))
        // The same wish.
        kill(getpid(), SIGTERM)
        // What is not cancelled.
        try? await Task { try await loop.clock.sleep(for: .milliseconds(500)) }.value
        kill(getpid(), SIGTERM)
        // The loop's thread may be the one that takes it; no thread does without it.
        while true { await Task.yield() }
      }
    }
  }

  @Test func `a loop that is stuck keeps a second signal from nothing`() async {
    await #expect(processExitsWith: .signal(SIGTERM)) {
      endProcess(after: 120)
      let thread = try LoopThread(name: "signals")
      let loop = thread.loop
      try await withCancellation(by: [SIGTERM], on: loop) {
        kill(getpid(), SIGTERM)
        try? await loop.clock.sleep(for: .seconds(600))
        usleep(500_000)
        kill(getpid(), SIGTERM)
        while true { sleep(1) }
      }
    }
  }

  @Test func `signals that come with the first one are the same wish, also after the body's end`() async {
    await #expect(processExitsWith: .success) {
      let thread = try LoopThread(name: "signals")
      let loop = thread.loop
      // On a machine that stalls, half a second may pass between two of them.
      var signal: CInt?
      var hasStalled = true
      while hasStalled {
        let begin = SuspendingClock.now
        // It ends no process, wherever it acts as before.
        signal = try await withCancellation(by: [SIGWINCH, SIGTERM], on: loop) {
          kill(getpid(), SIGWINCH)
          try? await loop.clock.sleep(for: .seconds(600))
          kill(getpid(), SIGWINCH)
        }
        let isClaimed = disposition(of: SIGWINCH) > 1
        hasStalled = SuspendingClock.now - begin >= .milliseconds(500)
        precondition(isClaimed || hasStalled)
      }
      precondition(signal == SIGWINCH)
      // The loop gives them back.
      while disposition(of: SIGWINCH) > 1 { usleep(1_000) }
      await thread.end()
    }
  }

  @Test func `SIGINT that was ignored stays so`() async {
    await #expect(processExitsWith: .success) {
      for signal in [SIGHUP, SIGINT, SIGQUIT] { try SignalSource.ignore(signal) }
      let thread = try LoopThread(name: "signals")
      let loop = thread.loop
      let signal = try await withCancellation(by: [SIGINT, SIGHUP, SIGQUIT, SIGTERM], on: loop) {
        for signal in [SIGHUP, SIGINT, SIGQUIT] {
          precondition(disposition(of: signal) == 1)
          kill(getpid(), signal)
        }
        kill(getpid(), SIGTERM)
        try await loop.clock.sleep(for: .seconds(600))
      }
      precondition(signal == SIGTERM)
      // What is asked for by name is heard.
      let source = try SignalSource(SIGINT) { _, _ in }
      precondition(disposition(of: SIGINT) > 1)
      source.invalidate()
      precondition(disposition(of: SIGINT) == 1)
      await thread.end()
    }
  }

  @Test func `a loop that has ended claims no signal`() async {
    await #expect(processExitsWith: .success) {
      let thread = try LoopThread(name: "signals")
      let loop = thread.loop
      await thread.end()
      let signal = try await withCancellation(by: [SIGTERM], on: loop) { precondition(disposition(of: SIGTERM) == 0) }
      precondition(signal == nil)
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
