import Glibc
import Rondo
import RondoTestSupport
import RondoTesting
import Testing

/// Timers that are spun for.
@Suite struct PrecisionTests {
  @Test func `a precise timer is never early and is spun for`() {
    let (early, spins) = onLoopThread { stage -> (Int, UInt64) in
      stage.loop.precisionBudget = .seconds(1)
      let early = Later(0)
      let left = Later(50)
      let timer = Loop.Timer(every: .milliseconds(1)) { tick in
        if SuspendingClock().now < tick.scheduled { early.value += 1 }
        left.value -= 1
        if left.value == 0 { tick.timer.invalidate() }
      }
      timer.isPrecise = true
      stage.loop.add(timer)
      stage.loop.run()
      return (early.value, stage.loop.statistics.spins)
    }
    #expect(early == 0)
    #expect(spins > 0)
  }

  @Test func `without a budget a precise timer is slept for, and the statistics say so`() {
    let statistics = onLoopThread { stage in
      stage.loop.precisionBudget = .zero
      // Where the machine stalls until the date has passed, there is no sleep to plan: then once more.
      for _ in 0..<100 where stage.loop.statistics.spinsDenied == 0 {
        let timer = stage.timer("t", after: .milliseconds(5))
        timer.isPrecise = true
        #expect(stage.loop.run() == .finished)
      }
      return stage.loop.statistics
    }
    #expect(statistics.spins == 0)
    #expect(statistics.timeSpinning == .zero)
    #expect(statistics.spinsDenied > 0)
  }

  @Test func `a loop without precise timers never spins`() {
    let statistics = onLoopThread { stage in
      stage.timer("t", after: .milliseconds(1))
      stage.loop.run()
      return stage.loop.statistics
    }
    #expect(statistics.spins == 0)
    #expect(statistics.spinsDenied == 0)
  }

  @Test func `a timer that stops being precise is slept for`() {
    let spins = onLoopThread { stage in
      let timer = stage.timer("t", after: .milliseconds(5))
      timer.isPrecise = true
      timer.isPrecise = false
      #expect(stage.loop.run() == .finished)
      return stage.loop.statistics.spins
    }
    #expect(spins == 0)
  }

  @Test func `a loop that always spins still serves descriptors, posts and other timers`() {
    let text = onLoopThread { stage -> [String] in
      stage.loop.precisionBudget = .seconds(1)
      // Less than the shortest margin apart: there is no time to sleep between two fires.
      let spun = Loop.Timer(every: .microseconds(5)) { _ in }
      spun.isPrecise = true
      stage.loop.add(spun)
      let pipe = stage.pipe()
      let loop = stage.loop
      stage.descriptor("d", pipe.reader) { source, _ in
        source.invalidate()
        // From another thread, so that it is a post.
        let poster = TestThread { loop.perform { stage.note("b") } }
        _ = poster.join()
        stage.timer("t", after: .milliseconds(1)) { _ in spun.invalidate() }
      }
      pipe.write(1)
      #expect(stage.loop.run() == .finished)
      return stage.trace.tokens
    }
    #expect(text == ["d", "b", "t"])
  }

  @Test func `precise and plain timers of one date fire in order`() {
    let text = onLoopThread { stage -> String in
      var delay = Duration.milliseconds(3)
      while true {
        let date = SuspendingClock().now.advanced(by: delay)
        let timers = [("c", 2), ("a", 0), ("b", 1)].map { name, order in
          let timer = Loop.Timer(at: date, order: order) { _ in stage.note(name) }
          timer.isPrecise = name == "b"
          return timer
        }
        // A date that is over when its timer is made becomes that moment, another one for each.
        if SuspendingClock().now < date {
          for timer in timers { stage.loop.add(timer) }
          break
        }
        delay *= 4
      }
      stage.loop.run()
      return stage.text
    }
    #expect(text == "a b c")
  }

  @Test func `in virtual time a precise timer fires at its date without spinning`() {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("t", after: .milliseconds(10), tolerance: .milliseconds(50)) { _ in stage.noteTime("") }
      timer.isPrecise = true
      stage.loop.run()
      #expect(stage.text == "t @10")
      #expect(stage.loop.statistics.spins == 0)
    }
  }

  @Test func `a precise timer's tolerance does not count`() {
    let timer = Loop.Timer(after: .seconds(1), tolerance: .milliseconds(100)) { _ in }
    #expect(timer.tolerance == .milliseconds(100))
    timer.isPrecise = true
    #expect(timer.tolerance == .zero)
    timer.isPrecise = false
    #expect(timer.tolerance == .milliseconds(100))
  }

  @Test(.offThePool) func `a precision budget of more than a second is a programmer's error that says so`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      Loop.main.precisionBudget = .seconds(2)
    }
    #expect(result?.complaint.contains("from zero to one second, not 2.0 seconds") == true)
  }

  // MARK: - The account

  private let start = Instant(nanoseconds: 5_000_000_000)

  @Test func `a budget is kept in each second of the clock and is fresh in the next`() {
    var plan = SpinPlan()
    let budget = plan.margin * 3
    var spun: Int64 = 0
    while plan.affords(plan.margin, of: budget, at: start) {
      plan.book(plan.margin, at: start)
      spun += plan.margin
    }
    #expect(spun == budget)
    #expect(!plan.affords(plan.margin, of: budget, at: start.advanced(by: 999_999_999)))
    #expect(plan.affords(plan.margin, of: budget, at: start.advanced(by: 1_000_000_000)))
  }

  @Test func `asking about a later second does not forget what was spent in this one`() {
    var plan = SpinPlan()
    plan.book(plan.margin, at: start)
    #expect(plan.affords(plan.margin, of: plan.margin, at: start.advanced(by: 2_000_000_000)))
    #expect(!plan.affords(plan.margin, of: plan.margin, at: start))
  }

  @Test func `a budget below the margin affords nothing`() {
    let plan = SpinPlan()
    #expect(!plan.affords(plan.margin, of: plan.margin - 1, at: start))
    #expect(!plan.affords(plan.margin, of: 0, at: start))
  }

  @Test func `the margin settles where one sleep in twenty is later`() {
    var plan = SpinPlan()
    // Lateness in a fixed cycle: nineteen of 60 us, one of 150 us.
    for round in 0..<4000 { plan.learn(lateness: round % 20 == 0 ? 150_000 : 60_000) }
    // A step is a two-hundredth of the margin.
    #expect((59_000...150_000).contains(plan.margin))
    for _ in 0..<4000 { plan.learn(lateness: 30_000) }
    #expect((25_000...40_000).contains(plan.margin))
  }

  @Test func `the margin stays within its bounds`() {
    var plan = SpinPlan()
    for _ in 0..<10_000 { plan.learn(lateness: 0) }
    #expect(plan.margin == SpinPlan.margins.lowerBound)
    for _ in 0..<10_000 { plan.learn(lateness: 1_000_000_000) }
    #expect(plan.margin == SpinPlan.margins.upperBound)
  }
}
