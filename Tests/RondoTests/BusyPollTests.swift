import Glibc
import Rondo
import RondoTestSupport
import Testing

/// Spins before sleeps.
@Suite struct BusyPollTests {
  // MARK: - When to spin

  /// Goes through `count` sleeps; the numbers of those that began with a spin.
  private func spins(
    _ plan: inout BusyPollPolicy, over count: Int, wasWoken: (Int) -> Bool
  ) -> [Int] {
    var found: [Int] = []
    for number in 0..<count where plan.begins() {
      found.append(number)
      plan.learn(wokenAfter: wasWoken(number) ? 1_000 : nil)
    }
    return found
  }

  @Test func `as long as spins are woken, every sleep begins with one`() {
    var plan = BusyPollPolicy()
    #expect(spins(&plan, over: 10_000) { _ in true }.count == 10_000)
  }

  @Test func `after eight futile spins they rest, twice as long each time, and try once in between`() {
    var plan = BusyPollPolicy()
    var expected = Array(0..<8)
    var next = 8
    for rest in [64, 128, 256, 512, 1_024, 2_048, 4_096, 4_096] {
      next += rest
      expected.append(next)
      next += 1
    }
    #expect(spins(&plan, over: next) { _ in false } == expected)
  }

  @Test func `one spin that is woken after a rest begins anew`() {
    var plan = BusyPollPolicy()
    let trial = 8 + 64
    let found = spins(&plan, over: 300) { $0 == trial }
    // It takes eight in a row again, and the short rest.
    #expect(
      found == Array(0..<8) + [trial] + Array(trial + 1...trial + 8)
        + [trial + 9 + 64, trial + 10 + 64 + 128].filter { $0 < 300 })
  }

  @Test func `seven futile ones of eight are no reason to rest`() {
    var plan = BusyPollPolicy()
    #expect(spins(&plan, over: 8_000) { $0 % 8 == 7 }.count == 8_000)
  }

  @Test func `when another thread wants the processor spins rest, twice as long each time though they are woken`() {
    var plan = BusyPollPolicy()
    for rest in [64, 128, 256, 512, 1_024, 2_048, 4_096, 4_096] {
      plan.learn(wasFree: false)
      #expect(spins(&plan, over: rest) { _ in true } == [])
      #expect(spins(&plan, over: 3) { _ in true } == [0, 1, 2])
    }
  }

  @Test
  func `after thirty yields in a row at which the processor was free a woken spin begins with a short rest again`() {
    for (freeYields, rest) in [(29, 128), (30, 64)] {
      var plan = BusyPollPolicy()
      plan.learn(wasFree: false)
      #expect(spins(&plan, over: 64) { _ in true } == [])
      for _ in 0..<freeYields { plan.learn(wasFree: true) }
      #expect(spins(&plan, over: 1) { _ in true } == [0])
      plan.learn(wasFree: false)
      #expect(spins(&plan, over: rest + 1) { _ in true } == [rest])
    }
  }

  /// Begins `count` sleeps, `interval` apart, each after one that a post ended or not; before which a loop may spin.
  private func answers(every interval: Int64, _ count: Int, isPosted: (Int) -> Bool = { _ in true }) -> [Int] {
    var dialogue = Dialogue()
    var posts: UInt64 = 0
    var found: [Int] = []
    for number in 0..<count {
      if isPosted(number) { posts += 1 }
      let time = Instant(nanoseconds: 1_000_000_000 + Int64(number) * interval)
      if dialogue.answers(at: time, posts: posts) { found.append(number) }
    }
    return found
  }

  @Test func `after four posts that each came within 100 us of the last a loop is in a dialogue, and not before`() {
    #expect(answers(every: 100_000, 7) == [4, 5, 6])
    #expect(answers(every: 100_001, 100) == [])
  }

  @Test func `a sleep that no post has ended begins none, and those of a dialogue go on if the next post comes soon`() {
    #expect(answers(every: 50_000, 9) { $0 != 6 } == [4, 5, 7, 8])
    #expect(answers(every: 50_001, 9) { $0 != 6 } == [4, 5])
    #expect(answers(every: 1_000, 100) { _ in false } == [])
  }

  @Test func `of a spin that was woken the price of a sleep is not booked, and all of one that was not`() {
    let start = Instant(nanoseconds: 5_000_000_000)
    let price = SpinPlan.priceOfSleep
    for (spun, wasWoken, booked) in [(price, true, 0), (price + 7, true, 7), (price, false, price)] {
      var plan = SpinPlan()
      plan.book(spun, at: start, wasWoken: wasWoken)
      #expect(plan.affords(100, of: booked + 100, at: start))
      #expect(!plan.affords(101, of: booked + 100, at: start))
    }
  }

  @Test func `spins before sleeps and for precise timers share an account`() {
    let start = Instant(nanoseconds: 5_000_000_000)
    var plan = SpinPlan()
    let budget: Int64 = 100_000
    #expect(plan.affords(20_000, of: budget, at: start))
    plan.book(80_001, at: start)
    #expect(!plan.affords(20_000, of: budget, at: start))
    #expect(plan.affords(20_000, of: budget, at: start.advanced(by: 1_000_000_000)))
  }

  @Test func `patience becomes four times what it takes to be woken, within its bounds, and is whole after a rest`() {
    var plan = BusyPollPolicy()
    for (delay, patience) in [(5_000, 20_000), (1, 10_000), (1_000_000, 100_000), (5_000, 20_000)] as [(Int64, Int64)] {
      for _ in 0..<200 { plan.learn(wokenAfter: delay) }
      // It comes within a step of the division.
      #expect(abs(plan.patience - patience) < 8 && BusyPollPolicy.patiences.contains(plan.patience))
    }
    for _ in 0..<BusyPollPolicy.mostFutile { plan.learn(wokenAfter: nil) }
    #expect(plan.patience == BusyPollPolicy.patiences.upperBound)
  }

  // MARK: - On threads

  /// Two loops that have each other run blocks, on two threads; what the first one counts.
  fileprivate func rally(_ count: Int, budget: Duration?, on processors: [Int]? = nil) -> Loop.Statistics {
    let other = RunningLoop { loop in
      if let processors { pinThread(to: processors[1]) }
      if let budget { loop.busyPollBudget = budget }
    }
    let statistics = onLoopThread { stage -> Loop.Statistics in
      if let processors { pinThread(to: processors[0]) }
      if let budget { stage.loop.busyPollBudget = budget }
      let keeper = Loop.Source {}
      stage.loop.add(keeper)
      let served = Later(0)
      let back = stage.loop
      let loop = other.loop
      @Sendable func serve() {
        served.value += 1
        if served.value == count { return keeper.invalidate() }
        loop.perform { back.perform { serve() } }
      }
      back.perform { serve() }
      #expect(back.run() == .finished)
      #expect(served.value == count)
      return back.statistics
    }
    other.stop()
    return statistics
  }

  @Test func `a rally of blocks between two loops that spin loses none`() {
    let statistics = rally(20_000, budget: .seconds(1))
    #expect(statistics.blockCallouts == 20_000)
    #expect((statistics.timeSpinning > .zero) == (statistics.spins > 0))
    // None in Foundation's wait.
    if usableProcessors().count == 1 || hasBridge { #expect(statistics.spins == 0) }
  }

  @Test func `wakeups that never let up keep no descriptor waiting`() {
    let other = RunningLoop { $0.busyPollBudget = .seconds(1) }
    let isServed = onLoopThread { stage -> Bool in
      let back = stage.loop
      back.busyPollBudget = .seconds(1)
      let isServed = Later(false)
      let pipe = stage.pipe()
      stage.descriptor("d", pipe.reader) { source, _ in
        isServed.value = true
        source.invalidate()
      }
      pipe.write(1)
      let loop = other.loop
      let keeper = Loop.Source {}
      back.add(keeper)
      // As long as the descriptor waits.
      @Sendable func serve() {
        if isServed.value { return keeper.invalidate() }
        loop.perform { back.perform { serve() } }
      }
      back.perform { serve() }
      return back.run() == .finished && isServed.value
    }
    other.stop()
    #expect(isServed)
  }

  @Test func `a descriptor that is ready each time never waits for a spin`() {
    let statistics = onLoopThread { stage -> Loop.Statistics in
      stage.loop.busyPollBudget = .seconds(1)
      let pipe = stage.pipe()
      pipe.write(1)
      let left = Later(1_000)
      stage.descriptor("d", pipe.reader) { source, _ in
        left.value -= 1
        if left.value == 0 { source.invalidate() }
      }
      stage.loop.run()
      return stage.loop.statistics
    }
    #expect(statistics.descriptorCallouts == 1_000)
    #expect(statistics.spins == 0 && statistics.timeSpinning == .zero)
  }

  @Test func `with a budget of zero nothing spins`() {
    let statistics = rally(200, budget: .zero)
    #expect(statistics.spins == 0 && statistics.spinsDenied == 0 && statistics.timeSpinning == .zero)
  }

  @Test func `a loop begins with 20 ms, and spins neither for its timers nor for posts that come now and then`() {
    let loop = RunningLoop()
    let (served, ticks) = (Tally(), Tally())
    loop.loop.add(Loop.Timer(every: .milliseconds(1)) { _ in ticks.add() })
    for number in 1...20 {
      loop.loop.perform { served.add() }
      // Longer than a spin, and never shorter.
      repeat { usleep(500) } while served.count < number || ticks.count < number
    }
    let (statistics, budget) = (loop.loop.statistics, loop.loop.busyPollBudget)
    loop.stop()
    #expect(budget == .milliseconds(20))
    #expect(statistics.spins == 0 && statistics.spinsDenied == 0)
  }

  @Test func `threads that are kept on a processor each spin for one another`() {
    let processors = usableProcessors()
    guard processors.count > 1, !hasBridge else { return }
    // Other tests want the processors, too: until they are free once.
    var spins: UInt64 = 0
    let end = SuspendingClock.now.advanced(by: .seconds(120))
    while spins == 0, SuspendingClock.now < end {
      let statistics = rally(2_000, budget: .seconds(1), on: [processors[0], processors.last!])
      #expect(statistics.blockCallouts == 2_000)
      spins = statistics.spins
    }
    #expect(spins > 0)
  }

  @Test(.offThePool) func `on one processor nothing spins`() async {
    await #expect(processExitsWith: .success) {
      pinProcess()
      for budget in [.seconds(1), nil] as [Duration?] {
        let statistics = BusyPollTests().rally(200, budget: budget)
        precondition(statistics.spins == 0 && statistics.blockCallouts == 200)
      }
    }
  }

  @Test func `while another thread wants the loop's processor most sleeps begin without a spin`() {
    let processors = usableProcessors()
    guard processors.count > 1, !hasBridge else { return }
    let count = 2_000
    let end = Tally()
    let busy = TestThread {
      pinThread(to: processors[0])
      while end.count == 0 {}
    }
    let other = RunningLoop { loop in
      pinThread(to: processors[0])
      loop.busyPollBudget = .seconds(1)
    }
    TestThread {
      pinThread(to: processors[1])
      let served = Tally()
      for number in 1...count {
        other.loop.perform { served.add() }
        while served.count < number {}
        // Within what a spin waits.
        let next = SuspendingClock.now.advanced(by: .microseconds(20))
        while SuspendingClock.now < next {}
      }
    }.join()
    end.add()
    busy.join()
    other.stop()
    let statistics = other.loop.statistics
    #expect(statistics.blockCallouts == count)
    #expect(statistics.spins < statistics.turns / 2)
  }

  @Test func `a spin ends before a timer's date, and the timer is not early`() {
    let early = onLoopThread { stage -> Int in
      stage.loop.busyPollBudget = .seconds(1)
      let early = Later(0)
      let left = Later(200)
      stage.loop.add(
        Loop.Timer(every: .microseconds(15)) { tick in
          if SuspendingClock().now < tick.scheduled { early.value += 1 }
          left.value -= 1
          if left.value == 0 { tick.timer.invalidate() }
        })
      stage.loop.run()
      return early.value
    }
    #expect(early == 0)
  }

  @Test(.offThePool) func `a budget that is no part of a second is a programmer's error`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      Loop.main.busyPollBudget = .seconds(2)
    }
    #expect(result?.complaint.contains("from zero to one second, not 2.0 seconds") == true)
  }
}
