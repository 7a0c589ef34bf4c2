import Rondo
import RondoTestSupport
import Testing

extension StressTests {
  /// Stops, wakeups and date changes that race with entry and sleep.
  @Suite struct RacingTests {
    @Test func `a requested stop ends a run however it races with its entry`() {
      let rounds = stressCount(100_000)
      let finished = SharedNumber()
      let wrong = SharedNumber()
      let box = LoopBox()
      let runner = TestThread {
        let loop = Loop.current
        loop.add(Loop.Source {})
        box.set(loop)
        for _ in 0..<rounds {
          if loop.run() != .stopped { wrong.add() }
          finished.add()
        }
      }
      let loop = box.wait()
      for round in 0..<rounds {
        // Whether the next run has begun by now is up to the scheduler.
        loop.requestStop()
        spin { finished.value == round + 1 }
      }
      runner.join()
      #expect(wrong.value == 0)
    }

    @Test func `a stop after entry ends the run however it races with its sleep`() {
      let rounds = stressCount(100_000)
      let entered = SharedNumber()
      let wrong = SharedNumber()
      let box = LoopBox()
      let runner = TestThread {
        let loop = Loop.current
        loop.add(Loop.Source {})
        loop.add(Loop.Observer(.entry) { _ in entered.add() })
        box.set(loop)
        for _ in 0..<rounds where loop.run() != .stopped { wrong.add() }
      }
      let loop = box.wait()
      for round in 1...rounds {
        spin { entered.value == round }
        loop.stop()
      }
      runner.join()
      #expect(wrong.value == 0)
    }

    @Test func `a block ends a sleep however it races with it`() {
      let rounds = stressCount(100_000)
      let running = RunningLoop()
      let done = SharedNumber()
      for round in 1...rounds {
        running.loop.perform { done.add() }
        spin { done.value == round }
      }
      running.end()
      #expect(done.value == rounds)
    }

    @Test func `a wakeup has the loop go round however it races with its sleep`() {
      let rounds = stressCount(100_000)
      let asked = SharedNumber()
      let answered = SharedNumber()
      let running = RunningLoop { loop in
        loop.add(Loop.Observer(.beforeTimers) { _ in answered.set(asked.value) })
      }
      for round in 1...rounds {
        asked.set(round)
        running.loop.wakeUp()
        spin { answered.value == round }
      }
      running.end()
      #expect(answered.value == rounds)
    }

    @Test func `a stop ends a run that wakeups keep going round, and leaves nothing for the next run`() {
      let rounds = stressCount(20_000)
      let entered = SharedNumber()
      let finished = SharedNumber()
      let wrong = SharedNumber()
      let box = LoopBox()
      let runner = TestThread {
        let loop = Loop.current
        loop.add(Loop.Source {})
        loop.add(Loop.Observer(.entry) { _ in entered.add() })
        box.set(loop)
        for _ in 0..<rounds {
          if loop.run() != .stopped { wrong.add() }
          finished.add()
        }
        // Every request has been obeyed.
        if loop.run(for: .zero) != .timedOut { wrong.add() }
      }
      let loop = box.wait()
      let waker = TestThread {
        for round in 1...rounds {
          spin { entered.value >= round }
          // So that stops meet every point of the turn.
          for _ in 0..<round % 8 { loop.wakeUp() }
        }
      }
      for round in 1...rounds {
        spin { entered.value >= round }
        if round % 16 == 0 { loop.requestStop() } else { loop.stop() }
        spin { finished.value >= round }
      }
      waker.join()
      runner.join()
      #expect(wrong.value == 0)
    }

    @Test func `a timer that four threads move fires once for every date that came, and never early`() {
      let rounds = 5_000
      let running = RunningLoop()
      let early = SharedNumber()
      let fires = (0..<4).map { _ in SharedNumber() }
      let timers = (0..<4).map { number in
        Loop.Timer(every: .seconds(3_600)) { tick in
          if tick.lateness < .zero { early.add() }
          fires[number].add()
        }
      }
      for timer in timers { running.loop.add(timer) }
      TestThread.race(4) { number in
        for round in 1...rounds {
          timers[number].setFireDate(after: .seconds(1_800 + round % 60))
          timers[number].tolerance = .milliseconds(round % 3)
          timers[number].setFireDate(after: .microseconds(round % 20))
          spin { fires[number].value == round }
        }
      }
      running.settle()
      running.end()
      #expect(early.value == 0)
      #expect(fires.map(\.value) == [rounds, rounds, rounds, rounds])
    }

    @Test func `one timer that four threads pull about ends where the last of them put it`() {
      let running = RunningLoop()
      let loop = running.loop
      let fires = SharedNumber()
      let timer = Loop.Timer(every: .seconds(7_200)) { _ in fires.add() }
      loop.add(timer)
      TestThread.race(4) { number in
        for round in 0..<5_000 { timer.setFireDate(after: .seconds(1_000 + (round * 7 + number * 13) % 997)) }
      }
      timer.setFireDate(after: .zero)
      spin { fires.value == 1 }
      running.settle()
      running.end()
      #expect(fires.value == 1)
    }
  }
}
