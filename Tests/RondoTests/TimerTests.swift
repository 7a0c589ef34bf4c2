import Rondo
import RondoTestSupport
import RondoTesting
import Testing

@Suite struct TimerTests {
  // MARK: - Firing

  @Test func `a repeating timer fires at every point of its grid`() {
    withStage(isObserved: false) { stage in
      stage.timer("t", every: .milliseconds(10)) { _ in stage.noteTime("") }
      #expect(stage.loop.run(for: .milliseconds(35)) == .timedOut)
      #expect(stage.text == "t @10 t @20 t @30")
    }
  }

  @Test func `a one-shot timer is valid in its callout and invalid afterwards`() {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("t", after: .milliseconds(1)) { tick in #expect(tick.timer.isValid) }
      stage.loop.run()
      #expect(!timer.isValid)
      #expect(!stage.loop.contains(timer))
    }
  }

  @Test func `a date in the past counts as now`() {
    withStage { stage in
      let date = stage.virtual.now.advanced(by: .seconds(-5))
      let timer = Loop.Timer(at: date) { tick in stage.note("\(tick.lateness == .zero)") }
      #expect(timer.fireDate == stage.virtual.now)
      stage.loop.add(timer)
      stage.loop.run()
      #expect(stage.text == "E BT BS BW AW true X")
      #expect(stage.virtual.sleeps == 0)
    }
  }

  @Test func `a grid that begins in the past begins now`() {
    withStage(isObserved: false) { stage in
      let date = stage.virtual.now.advanced(by: .milliseconds(-5))
      let timer = Loop.Timer(at: date, every: .milliseconds(10)) { _ in stage.noteTime("t") }
      stage.loop.add(timer)
      stage.loop.run(for: .milliseconds(25))
      #expect(stage.text == "t@0 t@10 t@20")
    }
  }

  @Test func `a grid begins at the date it was given`() {
    withStage(isObserved: false) { stage in
      let date = stage.virtual.now.advanced(by: .milliseconds(3))
      stage.loop.add(Loop.Timer(at: date, every: .milliseconds(10)) { _ in stage.noteTime("t") })
      stage.loop.run(for: .milliseconds(25))
      #expect(stage.text == "t@3 t@13 t@23")
    }
  }

  @Test func `a date of the clock that counts suspended time is converted`() {
    withStage(isObserved: false) { stage in
      let before = SuspendingClock().now
      let date = ContinuousClock().now.advanced(by: .seconds(3600))
      let timer = Loop.Timer(at: date) { _ in }
      let after = SuspendingClock().now
      // Relative to the real clock, whatever the virtual one says.
      if timer.fireDate > stage.virtual.now {
        #expect(timer.fireDate >= before.advanced(by: .seconds(3600)).advanced(by: .microseconds(-1)))
        #expect(timer.fireDate <= after.advanced(by: .seconds(3600)).advanced(by: .microseconds(1)))
      }
    }
  }

  @Test func `a timer with the longest delay there is never fires`() {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("t", after: .seconds(Int64.max))
      #expect(stage.loop.run(for: .seconds(1_000_000_000)) == .timedOut)
      #expect(timer.isValid)
      #expect(stage.text == "")
    }
  }

  @Test func `timers that are due together fire by date`() {
    withStage { stage in
      stage.timer("c", after: .milliseconds(3))
      stage.timer("a", after: .milliseconds(1))
      stage.timer("b", after: .milliseconds(2))
      stage.virtual.spend(.milliseconds(5))
      stage.loop.run()
      #expect(stage.text == "E BT BS BW AW a b c X")
    }
  }

  @Test func `timers of one date fire by order, then in the order they were added`() {
    withStage { stage in
      stage.timer("d", after: .milliseconds(1), order: 1)
      stage.timer("b", after: .milliseconds(1))
      stage.timer("a", after: .milliseconds(1), order: -1)
      stage.timer("c", after: .milliseconds(1))
      stage.loop.run()
      #expect(stage.text == "E BT BS BW AW a b c d X")
    }
  }

  @Test func `timers of one date keep their order fire after fire`() {
    withStage(isObserved: false) { stage in
      for name in ["a", "b", "c"] { stage.timer(name, every: .milliseconds(1)) }
      stage.loop.run(for: .microseconds(3500))
      #expect(stage.text == "a b c a b c a b c")
    }
  }

  @Test func `a due timer fires in the same turn as a ready descriptor and a wakeup`() throws {
    try withStage { stage in
      let descriptor = try Loop.DescriptorSource(UnconnectedSocket.shared, for: .read) { _, _ in stage.note("d") }
      stage.loop.add(descriptor)
      stage.timer("t", after: .milliseconds(10))
      stage.virtual.makeReady(descriptor, .read, at: .milliseconds(10))
      stage.virtual.at(.milliseconds(10)) { stage.loop.wakeUp() }
      stage.loop.run(for: .milliseconds(15))
      #expect(stage.text == "E BT BS BW AW t d BT BS BW AW X")
    }
  }

  @Test func `a timer added by a timer's callout fires in the next turn at the earliest`() {
    withStage { stage in
      stage.timer("t", after: .milliseconds(1)) { _ in stage.timer("u", after: .zero) }
      stage.loop.run()
      #expect(stage.text == "E BT BS BW AW t BT BS BW AW u X")
    }
  }

  // MARK: - The grid

  @Test func `the grid does not shift when a callout takes long, and missed points are counted`() {
    withStage(isObserved: false) { stage in
      stage.timer("t", every: .milliseconds(100)) { tick in
        stage.note("\(stage.milliseconds)-\(tick.missed)")
        if stage.milliseconds == 100 { stage.virtual.spend(.milliseconds(250)) }
      }
      stage.loop.run(for: .milliseconds(550))
      #expect(stage.text == "t 100-0 t 400-2 t 500-0")
      #expect(stage.loop.statistics.missedTicks == 2)
    }
  }

  @Test func `the grid does not shift when another callout makes the timer late`() {
    withStage(isObserved: false) { stage in
      stage.timer("slow", after: .milliseconds(5)) { _ in stage.virtual.spend(.milliseconds(8)) }
      stage.timer("t", every: .milliseconds(10)) { tick in
        stage.note("\(stage.milliseconds)+\(tick.lateness.milliseconds)")
      }
      stage.loop.run(for: .milliseconds(35))
      #expect(stage.text == "slow t 13+3 t 20+0 t 30+0")
    }
  }

  @Test func `points missed while the loop was not running are merged into one fire`() {
    withStage(isObserved: false) { stage in
      stage.timer("t", every: .milliseconds(10)) { tick in
        stage.note("\(stage.milliseconds)+\(tick.lateness.milliseconds)-\(tick.missed)")
      }
      stage.virtual.spend(.milliseconds(35))
      stage.loop.run(for: .milliseconds(20))
      #expect(stage.text == "t 35+25-0 t 40+0-2 t 50+0-0")
    }
  }

  /// CFRunLoop's has the date of the fire.
  @Test func `in its callout a repeating timer has its next date`() {
    withStage(isObserved: false) { stage in
      stage.timer("t", every: .milliseconds(10)) { tick in
        #expect(tick.timer.fireDate - tick.scheduled == .milliseconds(10))
        #expect(stage.loop.nextFireDate() == tick.timer.fireDate)
      }
      stage.loop.run(for: .milliseconds(25))
      #expect(stage.text == "t t")
    }
  }

  @Test func `a point that is reached exactly at the end of a long callout counts as missed`() {
    withStage(isObserved: false) { stage in
      stage.timer("t", every: .milliseconds(10)) { tick in
        stage.note("\(stage.milliseconds)-\(tick.missed)")
        if stage.milliseconds == 10 { stage.virtual.spend(.milliseconds(10)) }
      }
      stage.loop.run(for: .milliseconds(35))
      #expect(stage.text == "t 10-0 t 30-1")
    }
  }

  @Test func `a tick says when it was scheduled and when it came`() {
    withStage(isObserved: false) { stage in
      let date = stage.virtual.now.advanced(by: .milliseconds(10))
      stage.loop.add(
        Loop.Timer(at: date) { tick in
          #expect(tick.scheduled == date)
          #expect(tick.actual == date.advanced(by: .milliseconds(2)))
          #expect(tick.lateness == .milliseconds(2))
          stage.note("t")
        })
      stage.virtual.spend(.milliseconds(12))
      stage.loop.run()
      #expect(stage.text == "t")
    }
  }

  // MARK: - Invalidation and membership

  @Test func `a repeating timer may invalidate itself in its callout`() {
    withStage { stage in
      stage.timer("t", every: .milliseconds(10)) { tick in tick.timer.invalidate() }
      #expect(stage.loop.run() == .finished)
      #expect(stage.text == "E BT BS BW AW t X")
    }
  }

  @Test func `a due timer that a sibling invalidates does not fire`() {
    withStage { stage in
      let u = Later<Loop.Timer>()
      stage.timer("t", after: .milliseconds(10)) { _ in u.value.invalidate() }
      u.value = stage.timer("u", after: .milliseconds(10))
      #expect(stage.loop.run() == .finished)
      #expect(stage.text == "E BT BS BW AW t X")
    }
  }

  @Test func `a due timer that a sibling removes does not fire`() {
    withStage { stage in
      let u = Later<Loop.Timer>()
      stage.timer("t", after: .milliseconds(10)) { _ in stage.loop.remove(u.value) }
      u.value = stage.timer("u", after: .milliseconds(10))
      #expect(stage.loop.run() == .finished)
      #expect(stage.text == "E BT BS BW AW t X")
      #expect(u.value.isValid)
    }
  }

  /// CFRunLoop's fires in the same turn: row G06e.
  @Test func `a due timer that a sibling removes and adds again fires in the next turn`() {
    withStage { stage in
      let u = Later<Loop.Timer>()
      stage.timer("t", after: .milliseconds(10)) { _ in
        stage.loop.remove(u.value)
        stage.loop.add(u.value)
      }
      u.value = stage.timer("u", after: .milliseconds(10))
      stage.loop.run()
      #expect(stage.text == "E BT BS BW AW t BT BS BW AW u X")
    }
  }

  @Test func `an invalid timer is not added`() {
    withStage { stage in
      let timer = stage.timer("t", after: .milliseconds(1), in: nil)
      timer.invalidate()
      #expect(!stage.loop.add(timer))
      #expect(stage.loop.run() == .finished)
    }
  }

  @Test func `a timer that is added twice fires once`() {
    withStage { stage in
      let timer = stage.timer("t", after: .milliseconds(1))
      #expect(stage.loop.add(timer))
      stage.loop.run()
      #expect(stage.text == "E BT BS BW AW t X")
    }
  }

  @Test func `a one-shot timer in two modes fires in the one that runs, once`() {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("t", after: .milliseconds(5))
      stage.loop.add(timer, to: "m")
      #expect(stage.loop.run(in: "m") == .finished)
      #expect(stage.loop.run() == .finished)
      #expect(stage.text == "t")
    }
  }

  @Test func `a repeating timer in two modes keeps one grid across both`() {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("t", every: .milliseconds(10)) { _ in stage.noteTime(stage.loop.currentMode!.rawValue) }
      stage.loop.add(timer, to: "m")
      stage.loop.run(in: "m", for: .milliseconds(25))
      stage.trace.note("|")
      stage.loop.run(in: .default, for: .milliseconds(10))
      stage.loop.run(in: "m", for: .milliseconds(10))
      #expect(
        stage.text
          == "t m@10 t m@20 | t kCFRunLoopDefaultMode@30 t m@40")
    }
  }

  @Test func `a timer that leaves one of its modes stays in the other`() {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("t", after: .milliseconds(5))
      stage.loop.add(timer, to: "m")
      stage.loop.remove(timer)
      #expect(stage.loop.run() == .finished)
      stage.loop.run(in: "m")
      #expect(stage.text == "t")
    }
  }

  @Test func `a timer of another loop is not added until it has left it`() {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("t", after: .milliseconds(1))
      withStage(isObserved: false) { other in
        #expect(!other.loop.add(timer))
        stage.loop.remove(timer)
        #expect(other.loop.add(timer))
      }
      // The inner loop is gone, and its items with it.
      #expect(!timer.isValid)
    }
  }

  @Test func `a date of a mode is the earliest of its timers, none without one`() {
    withStage(isObserved: false) { stage in
      #expect(stage.loop.nextFireDate() == nil)
      stage.timer("b", after: .seconds(2))
      let a = stage.timer("a", after: .seconds(1), tolerance: .seconds(5))
      stage.timer("m", after: .milliseconds(1), in: "m")
      #expect(stage.loop.nextFireDate() == a.fireDate)
      a.invalidate()
      #expect(stage.loop.nextFireDate() == stage.virtual.now.advanced(by: .seconds(2)))
      #expect(stage.loop.nextFireDate(in: "missing") == nil)
    }
  }

  // MARK: - Many

  @Test func `many timers can be added and cancelled, and the one that is left fires`() {
    withStage(isObserved: false) { stage in
      var random = SeededRandom(seed: 1)
      var timers: [Loop.Timer] = []
      for _ in 0..<stressCount(1_000_000) {
        let timer = Loop.Timer(after: .microseconds(Int64.random(in: 1...1_000_000_000, using: &random))) { _ in
          stage.note("t")
        }
        stage.loop.add(timer)
        timers.append(timer)
      }
      for timer in timers.dropLast() { timer.invalidate() }
      #expect(stage.loop.run() == .finished)
      #expect(stage.text == "t")
      #expect(stage.loop.statistics.turns == 1)
    }
  }

  @Test func `a thousand timers fire each once and by date, whatever the order of adding`() {
    withStage(isObserved: false) { stage in
      var random = SeededRandom(seed: 2)
      let last = Later(-1)
      for delay in (0..<1000).shuffled(using: &random) {
        stage.timer("t", after: .microseconds(delay)) { _ in
          #expect(last.value == delay - 1)
          last.value = delay
        }
      }
      #expect(stage.loop.run() == .finished)
      #expect(last.value == 999)
    }
  }
}
