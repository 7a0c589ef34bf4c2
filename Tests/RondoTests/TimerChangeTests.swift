import Rondo
import RondoTestSupport
import RondoTesting
import Testing

/// Setting a timer's date, interval and tolerance; what tolerance does; firing by hand.
@Suite struct TimerChangeTests {
  // MARK: - Fire date

  @Test func `a timer that is put off fires at the new date`() {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("t", after: .milliseconds(10)) { _ in stage.noteTime("") }
      timer.fireDate = stage.virtual.now.advanced(by: .milliseconds(30))
      stage.loop.run()
      #expect(stage.text == "t @30")
      #expect(stage.virtual.sleeps == 1)
    }
  }

  @Test func `a timer that is brought forward fires at the new date`() {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("t", after: .milliseconds(30)) { _ in stage.noteTime("") }
      timer.fireDate = stage.virtual.now.advanced(by: .milliseconds(10))
      stage.loop.run()
      #expect(stage.text == "t @10")
    }
  }

  @Test func `a date in the past is now`() {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("t", after: .milliseconds(30)) { tick in stage.note("\(tick.lateness.milliseconds)") }
      timer.fireDate = stage.virtual.now.advanced(by: .seconds(-10))
      #expect(timer.fireDate == stage.virtual.now)
      stage.loop.run()
      #expect(stage.text == "t 0")
      #expect(stage.milliseconds == 0)
    }
  }

  @Test func `a new date is the grid's new origin`() {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("t", every: .milliseconds(10)) { _ in stage.noteTime("") }
      timer.setFireDate(after: .milliseconds(3))
      stage.loop.run(for: .milliseconds(25))
      #expect(stage.text == "t @3 t @13 t @23")
    }
  }

  @Test func `a later date set in a repeating timer's own callout begins a new grid`() {
    withStage(isObserved: false) { stage in
      stage.timer("t", every: .milliseconds(10)) { tick in
        stage.noteTime("")
        if stage.milliseconds == 10 { tick.timer.setFireDate(after: .milliseconds(5)) }
      }
      stage.loop.run(for: .milliseconds(40))
      #expect(stage.text == "t @10 t @15 t @25 t @35")
    }
  }

  @Test func `a timer extended again and again does not fire, and costs no sleep of its own`() {
    withStage(isObserved: false) { stage in
      let idle = stage.timer("idle", after: .milliseconds(15))
      stage.timer("t", every: .milliseconds(10)) { _ in idle.setFireDate(after: .milliseconds(15)) }
      stage.loop.run(for: .milliseconds(95))
      #expect(stage.text == "t t t t t t t t t")
      #expect(stage.virtual.sleeps == 10)
    }
  }

  @Test func `a due timer that a sibling puts off waits for its new date`() {
    withStage(isObserved: false) { stage in
      let u = Later<Loop.Timer>()
      stage.timer("t", after: .milliseconds(10)) { _ in u.value.setFireDate(after: .milliseconds(7)) }
      u.value = stage.timer("u", after: .milliseconds(10)) { _ in stage.noteTime("") }
      stage.loop.run()
      #expect(stage.text == "t u @17")
    }
  }

  @Test func `a timer that a sibling brings forward fires in the next turn at the earliest`() {
    withStage { stage in
      let u = stage.timer("u", after: .seconds(1))
      stage.timer("t", after: .milliseconds(10)) { _ in u.setFireDate(after: .zero) }
      stage.loop.run()
      #expect(stage.text == "E BT BS BW AW t BT BS BW AW u X")
      #expect(stage.milliseconds == 10)
    }
  }

  @Test func `a timer that was never added can be set beforehand`() {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("t", after: .seconds(9), in: nil)
      timer.setFireDate(after: .milliseconds(4))
      stage.loop.add(timer)
      stage.loop.run()
      #expect(stage.milliseconds == 4)
    }
  }

  @Test func `bringing a timer forward and putting it off leaves one fire`() {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("t", after: .milliseconds(20)) { _ in stage.noteTime("") }
      for delay in [5, 50, 10, 40, 1, 30] { timer.setFireDate(after: .milliseconds(delay)) }
      stage.keepAlive()
      stage.loop.run(for: .milliseconds(100))
      #expect(stage.text == "t @30")
      #expect(stage.loop.statistics.timerCallouts == 1)
    }
  }

  // MARK: - Interval

  @Test func `a new interval holds from the next fire on`() {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("t", every: .milliseconds(10)) { _ in stage.noteTime("") }
      timer.interval = .milliseconds(3)
      #expect(timer.interval == .milliseconds(3))
      stage.loop.run(for: .milliseconds(17))
      #expect(stage.text == "t @10 t @13 t @16")
    }
  }

  @Test func `an interval set in the timer's own callout counts from the next fire`() {
    withStage(isObserved: false) { stage in
      stage.timer("t", every: .milliseconds(10)) { tick in
        stage.noteTime("")
        tick.timer.interval = .milliseconds(20)
      }
      stage.loop.run(for: .milliseconds(55))
      #expect(stage.text == "t @10 t @20 t @40")
    }
  }

  @Test func `a one-shot timer has the interval zero and does not repeat`() {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("t", after: .milliseconds(1))
      #expect(timer.interval == .zero)
      #expect(!timer.repeats)
      #expect(stage.timer("u", every: .milliseconds(1)).repeats)
    }
  }

  // MARK: - Tolerance

  @Test func `a timer with tolerance waits for its hard deadline when nothing else wakes the loop`() {
    withStage(isObserved: false) { stage in
      stage.timer("t", after: .milliseconds(10), tolerance: .milliseconds(4)) { _ in stage.noteTime("") }
      stage.loop.run()
      #expect(stage.text == "t @14")
    }
  }

  @Test func `a timer with tolerance fires with any wakeup after its date`() {
    withStage(isObserved: false) { stage in
      stage.timer("t", after: .milliseconds(10), tolerance: .milliseconds(4)) { _ in stage.noteTime("") }
      stage.virtual.at(.milliseconds(9)) { stage.loop.wakeUp() }
      stage.virtual.at(.milliseconds(11)) { stage.loop.wakeUp() }
      stage.loop.run()
      #expect(stage.text == "t @11")
    }
  }

  @Test func `a timer with tolerance shares the wakeup of an exact one`() {
    withStage(isObserved: false) { stage in
      stage.timer("soft", after: .milliseconds(10), tolerance: .milliseconds(4)) { _ in stage.noteTime("") }
      stage.timer("exact", after: .milliseconds(12)) { _ in stage.noteTime("") }
      stage.loop.run()
      #expect(stage.text == "soft @12 exact @12")
      #expect(stage.virtual.sleeps == 1)
    }
  }

  @Test func `tolerance does not shift the grid`() {
    withStage(isObserved: false) { stage in
      stage.timer("t", every: .milliseconds(10), tolerance: .milliseconds(4)) { tick in
        stage.note("\(stage.milliseconds)+\(tick.lateness.milliseconds)-\(tick.missed)")
      }
      stage.loop.run(for: .milliseconds(40))
      #expect(stage.text == "t 14+4-0 t 24+4-0 t 34+4-0 t 40+0-0")
    }
  }

  @Test func `a repeating timer's tolerance counts up to half its interval`() {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("t", every: .milliseconds(10), tolerance: .seconds(1)) { _ in stage.noteTime("") }
      #expect(timer.tolerance == .milliseconds(5))
      stage.loop.run(for: .milliseconds(30))
      #expect(stage.text == "t @15 t @25 t @30")
    }
  }

  @Test func `a one-shot timer's tolerance is not capped`() {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("t", after: .milliseconds(10), tolerance: .milliseconds(500))
      #expect(timer.tolerance == .milliseconds(500))
      stage.loop.run()
      #expect(stage.milliseconds == 510)
    }
  }

  @Test func `tolerance can be given to a scheduled timer`() {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("t", after: .milliseconds(10))
      timer.tolerance = .milliseconds(3)
      stage.loop.run()
      #expect(stage.milliseconds == 13)
    }
  }

  @Test func `tolerance can be taken from a scheduled timer`() {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("t", after: .milliseconds(10), tolerance: .milliseconds(3))
      timer.tolerance = .zero
      stage.loop.run()
      #expect(stage.milliseconds == 10)
    }
  }

  @Test func `a hundred timers of a second with a tenth's tolerance wake the loop at most eleven times a second`() {
    withStage(isObserved: false) { stage in
      let latest = Later(Duration.zero)
      let fires = Later(0)
      for index in 0..<100 {
        let first = stage.virtual.now.advanced(by: .milliseconds(10 * index + 10))
        let timer = Loop.Timer(at: first, every: .seconds(1), tolerance: .milliseconds(100)) { tick in
          #expect(tick.lateness >= .zero)
          latest.value = max(latest.value, tick.lateness)
          fires.value += 1
          #expect(tick.missed == 0)
        }
        stage.loop.add(timer)
      }
      stage.loop.run(for: .seconds(10))
      #expect(stage.virtual.sleeps <= 110)
      #expect(latest.value <= .milliseconds(100))
      // Ten times all of them: the end of the run wakes the loop for those of the last tenth.
      #expect(fires.value == 1000)
    }
  }

  @Test func `the same timers without tolerance wake the loop a hundred times a second`() {
    withStage(isObserved: false) { stage in
      for index in 0..<100 {
        let first = stage.virtual.now.advanced(by: .milliseconds(10 * index + 10))
        stage.loop.add(Loop.Timer(at: first, every: .seconds(1)) { _ in })
      }
      stage.loop.run(for: .seconds(10))
      #expect(stage.virtual.sleeps == 1000)
    }
  }

  // MARK: - By hand

  @Test func `fire calls a repeating timer and leaves its grid alone`() {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("t", every: .milliseconds(10)) { _ in stage.noteTime("") }
      stage.virtual.spend(.milliseconds(4))
      timer.fire()
      stage.loop.run(for: .milliseconds(20))
      #expect(stage.text == "t @4 t @10 t @20")
    }
  }

  @Test func `fire calls a one-shot timer and invalidates it`() {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("t", after: .milliseconds(10))
      timer.fire()
      #expect(!timer.isValid)
      #expect(stage.loop.run() == .finished)
      #expect(stage.text == "t")
    }
  }

  @Test func `fire does nothing for an invalid timer`() {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("t", after: .milliseconds(10))
      timer.invalidate()
      timer.fire()
      #expect(stage.text == "")
    }
  }

  @Test func `fire works for a timer that is in no loop`() {
    withStage(isObserved: false) { stage in
      stage.timer("t", every: .milliseconds(10), in: nil).fire()
      #expect(stage.text == "t")
    }
  }

  // MARK: - Misuse

  @Test(.offThePool) func `an interval for a one-shot timer is a programmer's error`() async {
    await #expect(processExitsWith: .failure) {
      Loop.Timer(after: .seconds(1)) { _ in }.interval = .seconds(1)
    }
  }

  @Test(.offThePool) func `an interval of zero is a programmer's error`() async {
    await #expect(processExitsWith: .failure) {
      _ = Loop.Timer(every: .zero) { _ in }
    }
  }

  @Test(.offThePool) func `a negative tolerance is a programmer's error`() async {
    await #expect(processExitsWith: .failure) {
      _ = Loop.Timer(after: .zero, tolerance: .seconds(-1)) { _ in }
    }
  }
}
