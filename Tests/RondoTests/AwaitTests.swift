import Glibc
import Rondo
import RondoTesting
import Testing

/// Waiting for a loop in async code: calls, descriptors, threads of a scope.
@Suite struct AwaitTests {
  private struct Refusal: Error, Equatable {}

  // MARK: - Calls

  @Test func `a call brings back the result of a block on the loop's thread`() async throws {
    let thread = try LoopThread()
    let isThere = try await thread.loop.call { thread.isCurrent }
    #expect(isThere)
    await thread.end()
  }

  @Test func `a call brings back the body's error with its type`() async throws {
    let thread = try LoopThread()
    do {
      try await thread.loop.call { () throws(Refusal) in throw Refusal() }
    } catch {
      guard case .body(let refusal) = error else { throw error }
      #expect(refusal == Refusal())
    }
    await thread.end()
  }

  @Test func `a call from a task of the loop waits its turn among the blocks`() {
    withStage(isObserved: false) { stage in
      Task(executorPreference: stage.loop) {
        stage.loop.perform(in: .common) { stage.note("before") }
        try await stage.loop.call { stage.note("call") }
        stage.note("after")
      }
      stage.loop.run()
      #expect(stage.text == "before call after")
    }
  }

  @Test func `a call waits for a run in its mode`() {
    withStage(isObserved: false) { stage in
      Task(executorPreference: stage.loop) {
        try await stage.loop.call(in: "m") { stage.note("call") }
        stage.note("after")
      }
      stage.loop.run()
      #expect(stage.take() == "")
      stage.loop.run(in: "m")
      #expect(stage.take() == "call")
      stage.loop.run()
      #expect(stage.take() == "after")
    }
  }

  /// A task on the stage's loop that calls a body in a mode and notes what came of it.
  private func call(in mode: Loop.Mode, _ stage: VirtualStage, _ body: @escaping @Sendable () -> Void = {})
    -> Task<Void, Never>
  {
    Task(executorPreference: stage.loop) {
      do {
        try await stage.loop.call(in: mode) {
          stage.note("body")
          body()
        }
        stage.note("result")
      } catch {
        stage.note("\(error)")
      }
    }
  }

  @Test func `a call that is cancelled before does not run its body`() {
    withStage(isObserved: false) { stage in
      call(in: .common, stage).cancel()
      stage.loop.run()
      #expect(stage.text == "the task was cancelled before its call began")
    }
  }

  @Test func `a call that is cancelled while it waits throws at once, and its body does not run`() {
    withStage(isObserved: false) { stage in
      let task = call(in: "m", stage)
      stage.loop.run()
      task.cancel()
      stage.loop.run()
      #expect(stage.take() == "the task was cancelled before its call began")
      stage.loop.run(in: "m")
      #expect(stage.take() == "")
    }
  }

  @Test func `a call that is cancelled while its body runs brings the result`() {
    withStage(isObserved: false) { stage in
      let task = Later<Task<Void, Never>>()
      task.value = call(in: .common, stage) { task.value.cancel() }
      stage.loop.run()
      #expect(stage.text == "body result")
    }
  }

  @Test func `a call to a loop that has ended throws, and so does one that waits when it ends`() {
    let text = Later("")
    withStage(isObserved: false) { stage in
      Task(executorPreference: stage.loop) {
        for _ in 0..<2 {
          do { try await stage.loop.call(in: "never") {} } catch { text.value += "\(error) " }
        }
      }
      stage.loop.run()
      #expect(text.value == "")
    }
    #expect(text.value == "the loop's thread has ended the loop's thread has ended ")
  }

  // MARK: - Descriptors

  /// A task on the stage's loop that waits for a descriptor and notes what came of it.
  @discardableResult
  private func wait(
    _ stage: Stage, _ body: @escaping @Sendable () async throws(Loop.WaitError) -> Void
  ) -> Task<Void, Never> {
    Task(executorPreference: stage.loop) {
      do throws(Loop.WaitError) {
        try await body()
        stage.note("ready")
      } catch {
        stage.note("\(error)")
      }
      stage.loop.stop()
    }
  }

  @Test func `a task waits until a descriptor is readable, and leaves no source`() {
    let (text, result) = onLoopThread { stage in
      let pipe = stage.pipe()
      wait(stage) { () throws(Loop.WaitError) in try await stage.loop.readable(pipe.reader) }
      stage.timer("write", after: .milliseconds(1)) { _ in pipe.write(1) }
      stage.loop.run()
      return (stage.text, stage.loop.run())
    }
    #expect(text == "write ready")
    #expect(result == .finished)
  }

  @Test func `a writable descriptor is waited for, too, with a timeout that is not used`() {
    let (text, result) = onLoopThread { stage in
      let pipe = stage.pipe()
      wait(stage) { () throws(Loop.WaitError) in try await stage.loop.writable(pipe.writer, timeout: .seconds(3600)) }
      stage.loop.run()
      return (stage.text, stage.loop.run())
    }
    #expect(text == "ready")
    #expect(result == .finished)
  }

  @Test func `the end of a file is readable`() {
    let text = onLoopThread { stage in
      let pipe = stage.pipe()
      pipe.closeWriter()
      wait(stage) { () throws(Loop.WaitError) in try await stage.loop.readable(pipe.reader) }
      stage.loop.run()
      return stage.text
    }
    #expect(text == "ready")
  }

  @Test func `waiting for a descriptor times out at its time, and leaves nothing`() {
    withStage(isObserved: false) { stage in
      let pipe = stage.pipe()
      Task(executorPreference: stage.loop) {
        do throws(Loop.WaitError) {
          try await stage.loop.readable(pipe.reader, timeout: .milliseconds(250))
        } catch {
          stage.noteTime("\(error)")
        }
      }
      #expect(stage.loop.run() == .finished)
      #expect(stage.text == "the time given is over@250")
    }
  }

  @Test func `a descriptor that is ready when its time is over counts as ready`() {
    let text = onLoopThread { stage in
      let pipe = stage.pipe()
      pipe.write(1)
      wait(stage) { () throws(Loop.WaitError) in try await stage.loop.readable(pipe.reader, timeout: .zero) }
      stage.loop.run()
      return stage.text
    }
    #expect(text == "ready")
  }

  @Test func `waiting for a descriptor is cancelled before, during and after`() {
    withStage(isObserved: false) { stage in
      let pipe = stage.pipe()
      wait(stage) { () throws(Loop.WaitError) in try await stage.loop.readable(pipe.reader) }.cancel()
      stage.loop.run()
      #expect(stage.take() == "the task was cancelled")

      let task = wait(stage) { () throws(Loop.WaitError) in try await stage.loop.readable(pipe.reader) }
      stage.timer("cancel", after: .milliseconds(1)) { _ in task.cancel() }
      stage.loop.run()
      #expect(stage.take() == "cancel the task was cancelled")
      #expect(stage.loop.run() == .finished)

      let late = wait(stage) { () throws(Loop.WaitError) in
        try await stage.loop.readable(pipe.reader, timeout: .milliseconds(1))
      }
      stage.loop.run()
      late.cancel()
      #expect(stage.take() == "the time given is over")
      #expect(stage.loop.run() == .finished)
    }
  }

  @Test func `what cannot be waited for is refused with the reason`() {
    withStage(isObserved: false) { stage in
      wait(stage) { () throws(Loop.WaitError) in try await stage.loop.readable(-1) }
      stage.loop.run()
      #expect(stage.text == "descriptor -1 is not open")
    }
  }

  @Test func `a descriptor that is closed meanwhile ends the wait with the reason`() {
    let text = onLoopThread { stage in
      let pipe = stage.pipe()
      stage.descriptor("edge", pipe.reader, trigger: .edge)
      wait(stage) { () throws(Loop.WaitError) in try await stage.loop.readable(pipe.reader) }
      stage.loop.run()
      return stage.text
    }
    #expect(text == "the loop gave up: \(Loop.DescriptorSource.InvalidationReason.mixedTriggers)")
  }

  @Test func `the end of the loop ends the wait for a descriptor`() {
    let told = Later("")
    withStage(isObserved: false) { stage in
      let pipe = stage.pipe()
      Task(executorPreference: stage.loop) {
        do throws(Loop.WaitError) { try await stage.loop.readable(pipe.reader) } catch { told.value = "\(error)" }
      }
      stage.loop.run(for: .zero)
    }
    #expect(told.value == "the loop's thread has ended")
  }

  // MARK: - Threads

  @Test func `a thread of a scope is there inside and gone afterwards`() async throws {
    let (thread, isThere) = try await withLoopThread(name: "scope") { thread in
      let isThere = await withTaskExecutorPreference(thread.loop) { thread.isCurrent }
      return (thread, isThere)
    }
    #expect(isThere)
    #expect(thread.hasEnded)
    #expect(!thread.loop.perform {})
  }

  @Test func `a thread of a scope ends when the body throws`() async throws {
    let thread = Later<LoopThread>()
    do throws(LoopThread.ScopeError<Refusal>) {
      try await withLoopThread { inside throws(Refusal) in
        thread.value = inside
        throw Refusal()
      }
    } catch {
      guard case .body(let refusal) = error else { throw error }
      #expect(refusal == Refusal())
    }
    #expect(thread.value.hasEnded)
  }

  @Test func `cancellation of a scope is for its body to notice, and the thread ends`() async throws {
    let thread = Later<LoopThread>()
    let task = Task {
      try await withLoopThread { inside in
        thread.value = inside
        try await inside.loop.clock.sleep(for: .seconds(3600))
      }
    }
    task.cancel()
    await #expect(throws: LoopThread.ScopeError<any Error>.self) { try await task.value }
    #expect(thread.value.hasEnded)
  }

  @Test func `a global actor's functions run on its thread`() async {
    #expect(await places() == [true, true])
    let thread = LedgerActor.thread
    #expect(!thread.isCurrent)
    #expect(LedgerActor.shared.isolation(of: thread))
  }

  @LedgerActor private func places() async -> [Bool] {
    let before = LedgerActor.thread.isCurrent
    await Task.yield()
    LedgerActor.preconditionIsolated()
    return [before, LedgerActor.thread.isCurrent]
  }
}

/// A global actor on a thread of its own.
@globalActor
private enum LedgerActor {
  static let thread = try! LoopThread(name: "ledger")
  static let shared = LoopActor(thread)
}

extension LoopActor {
  /// Whether the actor's loop is the thread's.
  fileprivate nonisolated func isolation(of thread: LoopThread) -> Bool { loop === thread.loop }
}
