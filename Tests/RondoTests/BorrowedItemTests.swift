import RondoTesting
import Testing

@testable import Rondo

/// The turn borrows its items: nothing that it does with one lets go of what other threads have taken out meanwhile.
@Suite struct BorrowedItemTests {
  @Test func `the end of a one-shot timer applies no mail`() {
    let text = onLoopThread { stage in
      let loop = stage.loop
      let dying = stage.makeDying("died")
      let first = stage.timer("first", after: .zero) { _ in
        TestThread { dying.invalidate() }.join()
      }
      stage.timer("second", after: .zero)
      loop.add(first)
      loop.run(for: .zero)
      return stage.text
    }
    #expect(text == "first second died")
  }

  @Test func `a one-shot timer that another thread takes out in its callout has ended when the turn has`() {
    let (isValid, isFree) = onLoopThread { stage -> (Bool, Bool) in
      let loop = stage.loop
      let timer = stage.timer("timer", after: .zero) { tick in
        let timer = tick.timer
        TestThread { loop.remove(timer) }.join()
      }
      loop.run(for: .zero)
      loop.run(for: .zero)
      loop.checkInvariants()
      return (timer.isValid, timer.home == nil)
    }
    #expect(!isValid)
    #expect(isFree)
  }

  @Test(arguments: [Duration.zero, .milliseconds(1)])
  func `a timer of two modes that another thread ends in its callout leaves no entry uncounted`(_ tolerance: Duration) {
    onLoopThread { stage in
      let loop = stage.loop
      let timer = Loop.Timer(every: .nanoseconds(1), tolerance: tolerance) { tick in
        // The other mode arms anew, so that the timer is due there though it is in its callout.
        loop.add(Loop.Timer(after: .seconds(3_600)) { _ in }, to: "other")
        let timer = tick.timer
        TestThread { timer.invalidate() }.join()
      }
      for mode in [.default, "other"] as [Loop.Mode] { loop.add(timer, to: mode) }
      stage.keepAlive()
      loop.run(for: .zero)
      loop.run(for: .zero)
      loop.checkInvariants()
      #expect(!timer.isValid)
      #expect(timer.home == nil)
    }
  }

  @Test func `an observer that left and that another thread added again waits for its place`() {
    let text = onLoopThread { stage in
      let loop = stage.loop
      let second = stage.observer(.beforeTimers, order: 1, in: nil) { _ in stage.note("second") }
      stage.observer(.beforeTimers, repeats: false) { _ in
        stage.note("first")
        loop.remove(second)
        _ = TestThread { loop.add(second) }.join()
      }
      loop.add(second)
      stage.keepAlive()
      loop.run(for: .zero)
      stage.note("|")
      loop.run(for: .zero)
      return stage.text
    }
    #expect(text == "first | second")
  }

  @Test func `what a signal or a date had the last reference to dies after the mail`() {
    let text = onLoopThread { stage in
      let loop = stage.loop
      // Of items that are not in the loop by now, as when another thread was about to mail while they left.
      TestThread {
        loop.noteSignal(of: stage.makeSource("signal"), isNew: true, waking: true)
        loop.noteSignal(of: stage.makeSource("quiet signal"), isNew: true, waking: false)
        let keeper = AtDeath { stage.note("date") }
        loop.noteReschedule(of: Loop.Timer(after: .seconds(1)) { _ in _ = keeper })
      }.join()
      loop.core.applyMailQuietly()
      stage.note("|")
      loop.core.callOutAfterMail()
      return stage.text
    }
    #expect(text.hasPrefix("| "))
    #expect(text.split(separator: " ").count == 5)
  }
}

extension Stage {
  /// A source in no loop that notes its name when its handler dies.
  fileprivate func makeSource(_ name: String) -> Loop.Source {
    let keeper = AtDeath { [self] in note(name) }
    return Loop.Source { _ = keeper }
  }

  /// The same in the loop, which alone keeps its handler.
  fileprivate func makeDying(_ name: String) -> Loop.Source {
    let source = makeSource(name)
    loop.add(source)
    return source
  }
}
