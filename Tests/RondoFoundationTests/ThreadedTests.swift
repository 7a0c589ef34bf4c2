import Rondo
import RondoFoundation
import Testing

/// Real threads, exact counts: what several threads do to one run loop.
@Suite(.serialized) struct ThreadedTests {
  @Test func `waits that race with the end of the loop are answered or fail, and none hangs`() throws {
    let (answered, failed, ran) = (Tally(), Tally(), Tally())
    for round in 0..<100 {
      let thread = try LoopThread()
      let runLoop = thread.runLoop
      let callers = try (0..<2).map { _ in try LoopThread() }
      for caller in callers {
        caller.execute {
          while true {
            do {
              try runLoop.perform(waitUntilDone: true) { ran.add() }
              answered.add()
            } catch {
              return failed.add()
            }
          }
        }
      }
      while answered.count < round { Thread.sleep(forTimeInterval: 0.0001) }
      thread.stop(round % 2 == 0 ? .drain : .drop)
      for caller in callers { caller.stop() }
    }
    #expect(failed.count == 200)
    #expect(answered.count == ran.count)
  }

  @Test func `requests that other threads make and take back are done once or not at all, and leave nothing`() throws {
    let (ran, cancelled, deaths) = (Tally(), Tally(), Tally())
    let thread = try LoopThread()
    let callers = try (0..<2).map { _ in try LoopThread() }
    for caller in callers {
      caller.execute {
        for number in 0..<2_000 {
          let witness = Witness(deaths)
          let request = thread.runLoop.perform(afterDelay: number % 2 == 0 ? 0 : 0.0001) {
            _ = witness
            ran.add()
          }
          if number % 3 == 0, request.cancel() { cancelled.add() }
        }
      }
    }
    for caller in callers { caller.stop() }
    while ran.count + cancelled.count < 4_000 { Thread.sleep(forTimeInterval: 0.0001) }
    thread.stop()
    #expect(ran.count + cancelled.count == 4_000)
    #expect(deaths.count == 4_000)
  }

  @Test func `timers that other threads add, move and invalidate are all gone in the end`() throws {
    let deaths = Tally()
    let thread = try LoopThread()
    let callers = try (0..<2).map { _ in try LoopThread() }
    for caller in callers {
      caller.execute {
        for number in 0..<1_000 {
          let witness = Witness(deaths)
          let timer = Timer(timeInterval: Double(number % 3) / 10_000, repeats: number % 2 == 0) { timer in
            _ = witness
            if timer.tolerance > 0 { timer.invalidate() }
          }
          thread.runLoop.add(timer, forMode: .default)
          timer.tolerance = 0.00001
          timer.fireDate = Date(timeIntervalSinceNow: Double(number % 5) / 10_000)
          if number % 4 == 0 { timer.invalidate() }
        }
      }
    }
    for caller in callers { caller.stop() }
    thread.stop()
    #expect(deaths.count == 2_000)
  }
}
