import Rondo
import RondoTesting
import Testing

/// One-shot timers that are given another date while they fire, which CFRunLoop ignores.
@Suite struct OneShotTests {
  @Test func `a one-shot timer that is fired by hand can be given a tolerance and a later date in its handler`() {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("t", after: .milliseconds(10)) { tick in
        guard stage.text == "t" else { return }
        tick.timer.tolerance = .milliseconds(1)
        tick.timer.setFireDate(after: .milliseconds(20))
      }
      timer.fire()
      stage.loop.run(for: .milliseconds(30))
      #expect(stage.text == "t t")
    }
  }

  @Test func `a one-shot timer that is set again in its callout fires again`() {
    withStage(isObserved: false) { stage in
      let count = Later(0)
      stage.timer("t", after: .milliseconds(10)) { tick in
        stage.noteTime("set")
        count.value += 1
        if count.value < 3 { tick.timer.setFireDate(after: .milliseconds(5)) }
      }
      stage.keepAlive()
      stage.loop.run(for: .milliseconds(100))
      #expect(stage.take() == "t set@10 t set@15 t set@20")
    }
  }

  @Test func `a one-shot timer is invalid after a fire in which nobody set it`() {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("t", after: .milliseconds(10)) { tick in #expect(tick.timer.isValid) }
      stage.keepAlive()
      stage.loop.run(for: .milliseconds(50))
      #expect(!timer.isValid)
    }
  }

  @Test func `a one-shot timer that is set to now in its callout fires again at once`() {
    withStage(isObserved: false) { stage in
      let count = Later(0)
      let timer = stage.timer("t", after: .milliseconds(10)) { tick in
        stage.noteTime("set")
        count.value += 1
        if count.value < 3 { tick.timer.setFireDate(after: .zero) }
      }
      stage.keepAlive()
      stage.loop.run(for: .milliseconds(50))
      #expect(stage.take() == "t set@10 t set@10 t set@10")
      #expect(!timer.isValid)
    }
  }

  @Test(arguments: [Duration.zero, .milliseconds(3)])
  func `a one-shot timer that is set by a run nested in its callout fires again after it`(_ tolerance: Duration) {
    withStage(isObserved: false) { stage in
      let count = Later(0)
      let timer = stage.timer("t", after: .milliseconds(10), tolerance: tolerance) { tick in
        count.value += 1
        guard count.value == 1 else { return }
        stage.block("set") { tick.timer.setFireDate(after: .milliseconds(1)) }
        stage.loop.run(for: .milliseconds(20))
        stage.note("back")
      }
      stage.keepAlive()
      stage.loop.run(for: .milliseconds(100))
      #expect(stage.take() == "t set back t")
      #expect(!timer.isValid)
      stage.loop.checkInvariants()
    }
  }

  @Test func `a one-shot timer that is fired by hand and set meanwhile stays valid and fires`() {
    withStage(isObserved: false) { stage in
      let count = Later(0)
      let timer = stage.timer("t", after: .milliseconds(10)) { tick in
        count.value += 1
        if count.value == 1 {
          stage.loop.run(for: .milliseconds(30))
          tick.timer.setFireDate(after: .milliseconds(5))
        }
      }
      stage.keepAlive()
      timer.fire()
      #expect(timer.isValid)
      stage.loop.run(for: .milliseconds(100))
      #expect(stage.take() == "t t")
      #expect(!timer.isValid)
    }
  }
}
