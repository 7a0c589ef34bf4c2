import CTests
import Glibc
import RondoTestSupport
import RondoTesting
import Testing

@testable import Rondo

/// Stops and wakeups from other threads that come at an awkward moment.
@Suite struct ForeignPostTests {
  @Test func `a stop from another thread during a callout ends the run with that turn`() {
    withStage { stage in
      stage.keepAlive()
      stage.timer("t", after: .milliseconds(10)) { _ in TestThread { stage.loop.stop() }.join() }
      #expect(stage.loop.run(for: .seconds(60)) == .stopped)
      #expect(stage.text == "E BT BS BW AW t X")
      #expect(stage.milliseconds == 10)
    }
  }

  @Test func `a stop in a callout ends a run that has a deadline`() {
    withStage { stage in
      stage.keepAlive()
      stage.timer("t", after: .milliseconds(10)) { _ in stage.loop.stop() }
      #expect(stage.loop.run(for: .seconds(60)) == .stopped)
      #expect(stage.text == "E BT BS BW AW t X")
    }
  }

  @Test func `a wakeup from another thread during a nested run keeps the enclosing run from sleeping`() {
    withStage { stage in
      stage.keepAlive()
      stage.keepAlive(in: "m")
      stage.observer(.beforeSources, in: "m") { _ in
        stage.note("(wake)")
        TestThread { stage.loop.wakeUp() }.join()
      }
      stage.observer(.beforeTimers, repeats: false, order: 1) { _ in
        stage.loop.run(in: "m", for: .zero)
      }
      #expect(stage.loop.run(for: .milliseconds(50)) == .timedOut)
      // One turn that does not sleep, and one that sleeps until the run is over.
      #expect(stage.text == "E BT (wake) BS BW AW BT BS BW AW X")
      #expect(stage.virtual.sleeps == 1)
    }
  }

  @Test func `a stop from another thread that is too late for a nested run does not stop the enclosing one`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      stage.keepAlive(in: "m")
      stage.observer(.exit, in: "m") { _ in TestThread { stage.loop.stop() }.join() }
      stage.block("b") { stage.note("\(stage.loop.run(in: "m", for: .milliseconds(5)))") }
      #expect(stage.loop.run(for: .milliseconds(50)) == .timedOut)
      #expect(stage.text == "b timedOut")
      #expect(stage.milliseconds == 50)
    }
  }

  @Test func `the end of a loop waits for a poster that is about to write`() {
    let wakeup = Wakeup(descriptor: -1)
    #expect(wakeup.prepareToSleep(isOutside: false) == .sleep && wakeup.announce(.wake) == .write)
    let released = Tally()
    let poster = TestThread {
      while !wakeup.has(.dead) { yieldThread() }
      // An end that does not wait would be over by now.
      usleep(20_000)
      released.add()
      wakeup.write()
    }
    wakeup.close()
    #expect(released.count == 1)
    poster.join()
  }

  @Test func `the end of a loop sleeps while a poster is about to write`() throws {
    let wakeup = Wakeup(descriptor: -1)
    #expect(wakeup.prepareToSleep(isOutside: false) == .sleep && wakeup.announce(.wake) == .write)
    let closer = Handover<Int32>()
    let ends = Tally()
    let loopThread = TestThread {
      closer.put(ThreadRecord.current.number)
      wakeup.close()
      ends.add()
    }
    let number = Int(closer.take())
    #expect(comesTrue { wakeup.has(.dead) && threads_sleeps(number) })
    wakeup.write()
    let isOver = comesTrue { ends.count == 1 }
    #expect(isOver)
    if isOver { loopThread.join() }
  }

  /// Waits for it if it has to.
  private func comesTrue(_ condition: () -> Bool) -> Bool {
    let end = ContinuousClock.now.advanced(by: .seconds(patience))
    while !condition() {
      guard ContinuousClock.now < end else { return false }
      yieldThread()
    }
    return true
  }
}
