import Rondo
import RondoTestSupport
import RondoTesting
import Testing

/// No lock of the library is held while the loop calls out, and what a caller with a lock may do.
@Suite struct LockTests {
  @Test func `a timer that is added quietly calls nothing, and the next turn calls what the mail has found`() {
    let text = onLoopThread { stage in
      stage.leaveDyingMail()
      stage.loop.addQuietly(Loop.Timer(after: .seconds(3600)) { _ in }, to: .default)
      stage.note("|")
      stage.loop.run(for: .zero)
      return stage.text
    }
    #expect(text == "| died")
  }

  @Test func `a date that is set quietly calls nothing, and the next turn calls what the mail has found`() {
    let text = onLoopThread { stage in
      let timer = Loop.Timer(after: .seconds(3600)) { _ in }
      stage.loop.add(timer)
      stage.leaveDyingMail()
      timer.setFireDateQuietly(SuspendingClock().now.advanced(by: .seconds(7200)))
      stage.note("|")
      stage.loop.run(for: .zero)
      return stage.text
    }
    #expect(text == "| died")
  }

  @Test func `a task that begins or goes on calls nothing, and the next turn calls what the mail has found`() {
    let text = onLoopThread { stage in
      stage.leaveDyingMail()
      Task(executorPreference: stage.loop) { stage.note("ran") }
      stage.note("|")
      stage.loop.run(for: .zero)
      return stage.text
    }
    #expect(text == "| died ran")
  }

  @Test func `a block that is posted calls nothing, and the next turn calls what the mail has found`() {
    let text = onLoopThread { stage in
      stage.leaveDyingMail()
      stage.loop.perform { stage.note("ran") }
      stage.note("|")
      stage.loop.run(for: .zero)
      return stage.text
    }
    #expect(text == "| died ran")
  }

  @Test func `of two dates the one that was set last counts, though it was set while mail was applied`() {
    let (planned, next) = onLoopThread { stage in
      let timer = Loop.Timer(after: .seconds(3600)) { _ in }
      stage.loop.add(timer)
      stage.leaveDyingMail { timer.setFireDate(after: .seconds(10)) }
      timer.setFireDate(after: .seconds(7200))
      return (timer.fireDate, stage.loop.nextFireDate())
    }
    #expect(planned == next)
  }

  @Test(.offThePool, arguments: 0..<4)
  func `a verb that calls out ends a debug build at once if a lock of the library is held`(_ verb: Int) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [verb] in
      Breach.commit(verb)
    }
    #expect(result?.complaint.contains("A lock of Rondo's is held around a callout.") == true)
  }

  @Test(.offThePool) func `what an upper floor has given a loop dies with no lock held`() async {
    await #expect(processExitsWith: .success) {
      onLoopThread { stage in stage.loop.join(Unlocked()) }
    }
  }
}

/// What the exit test does, in a synchronous function because loops belong to threads.
private enum Breach {
  static func commit(_ verb: Int) {
    let loop = Loop.current
    let timer = Loop.Timer(after: .seconds(3600)) { _ in }
    loop.add(timer)
    Lock().withLock {
      switch verb {
      case 0: _ = loop.add(Loop.Source {})
      case 1: timer.fireDate = timer.fireDate.advanced(by: .seconds(1))
      case 2: timer.invalidate()
      default: _ = loop.run(for: .zero)
      }
    }
  }
}

/// A loop that is never there, and dies where locks may not be held.
private final class Unlocked: ForeignLoop {
  func isPresent(in mode: Loop.Mode) -> Bool { false }
  func isEmpty(_ mode: Loop.Mode) -> Bool { true }
  func wait(in mode: Loop.Mode, sleeps: Bool) -> Bool { false }
  func sleepWasAnnounced() {}
  func enclose(_ run: () -> Void) -> Bool { false }
  func descriptor(of mode: Loop.Mode) -> CInt? { nil }
  func end() {}

  deinit { Lock.assertNoneHeld() }
}

extension Stage {
  /// Leaves mail that lets go of a closure, which then notes that it died, or does something else.
  fileprivate func leaveDyingMail(_ action: (() -> Void)? = nil) {
    let keeper = AtDeath { [self] in if let action { action() } else { note("died") } }
    let source = Loop.Source { _ = keeper }
    loop.add(source)
    TestThread { source.invalidate() }.join()
  }
}
