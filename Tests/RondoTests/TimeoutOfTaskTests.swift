import Rondo
import RondoTestSupport
import RondoTesting
import Testing

/// `withTimeout`, in virtual time.
@Suite struct TimeoutOfTaskTests {
  /// Runs `body` with a limit of ten seconds, and returns what came of it, and at which virtual second.
  private func outcome(
    cancelledAfter delay: Duration? = nil, _ body: @escaping @Sendable (Loop) async throws -> Int?
  ) -> String {
    withVirtualLoop { virtual in
      let trace = Trace()
      let loop = virtual.loop
      let start = virtual.now
      let task = Task(executorPreference: loop) {
        var text: String
        do {
          text = "\(try await withTimeout(.seconds(10), on: loop) { try await body(loop) } ?? -1)"
        } catch {
          text = "\(error)"
        }
        trace.note("\(text) \((loop.clock.now - start) / .seconds(1))")
      }
      if let delay { virtual.at(delay) { task.cancel() } }
      virtual.advance(by: .seconds(100))
      return trace.text
    }
  }

  @Test func `a body that ends in time is waited for no longer`() {
    #expect(outcome { _ in 1 } == "1 0.0")
    #expect(outcome { _ in nil } == "-1 0.0")
    #expect(
      outcome { loop in
        try await loop.clock.sleep(for: .seconds(9))
        return 2
      } == "2 9.0")
  }

  @Test func `a body that fails in time says why`() {
    struct Failure: Error {}
    #expect(outcome { _ in throw Failure() } == "Failure() 0.0")
  }

  @Test func `a body that takes longer is cancelled then, and never before`() {
    #expect(
      outcome { loop in
        try await loop.clock.sleep(for: .seconds(11))
        return 2
      } == "\(Loop.WaitError.timedOut) 10.0")
  }

  @Test func `a body that ignores its cancellation delays the error`() {
    #expect(
      outcome { loop in
        await Task(executorPreference: loop) { try? await loop.clock.sleep(for: .seconds(30)) }.value
        return 2
      } == "\(Loop.WaitError.timedOut) 30.0")
  }

  @Test func `if its task is cancelled, the body decides what comes of it`() {
    #expect(
      outcome(cancelledAfter: .seconds(3)) { loop in
        try? await loop.clock.sleep(for: .seconds(9))
        return 3
      } == "3 3.0")
    #expect(
      outcome(cancelledAfter: .seconds(3)) { loop in
        try await loop.clock.sleep(for: .seconds(9))
        return 3
      } == "CancellationError() 3.0")
  }

  @Test func `a loop that has ended measures no time`() async throws {
    let thread = try LoopThread(name: "ended")
    await thread.end()
    await #expect(throws: Loop.WaitError.loopEnded) {
      try await withTimeout(.seconds(1), on: thread.loop) { try await Task.sleep(for: .seconds(3_600)) }
    }
  }
}
