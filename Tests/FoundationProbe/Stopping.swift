import Rondo
import RondoFoundation
import Synchronization

/// Whoever stops either loop while both sleep stops the run that stands there.
func stopEither() {
  touchFoundation()
  let loop = Loop.current
  let runLoop = RunLoop.current
  let keeper = Loop.Source {}
  loop.add(keeper)
  onFoundationTimer(after: 0.01) { stopFoundation() }
  print("CFRunLoopStop in a timer:", loop.run())
  performInFoundation { stopFoundation() }
  print("CFRunLoopStop in a block:", loop.run())
  onFoundationTimer(after: 0.01) { runLoop.stop() }
  print("stop in Foundation's timer:", loop.run())
  whenAsleep(loop) { runLoop.stop() }
  print("stop from elsewhere:", loop.run())
  whenAsleep(loop) { loop.requestStop() }
  print("a request from elsewhere:", loop.run())
  loop.requestStop()
  print("a request before:", loop.run())
  print("time:", loop.run(for: .milliseconds(5)))
  // The request is for a run of Rondo's, and Foundation's neither obeys nor spins.
  let fires = Cell(0)
  loop.add(Loop.Timer(after: .milliseconds(5)) { _ in fires.value += 1 })
  loop.requestStop()
  let before = loop.statistics
  runFoundation { fires.value == 1 }
  runFoundation(for: 0.05)
  let turns = loop.statistics.turns - before.turns
  print("a request while Foundation's runs: fires", fires.value, turns < 10 ? "few turns" : "\(turns) turns")
  print("and the run after it:", loop.run())
  // A stop is for the run that stands there: nobody's, so the next one does not see it.
  let isStopped = Cell(false)
  whenAsleep(loop) {
    runLoop.stop()
    runLoop.perform { isStopped.value = true }
  }
  runFoundation { isStopped.value }
  print("a stop while Foundation's runs:", loop.run(for: .milliseconds(5)))
  // In a callout of a run of Rondo's.
  loop.add(
    Loop.Timer(after: .milliseconds(5)) { _ in
      loop.requestStop()
      let before = loop.statistics.turns
      runFoundation(for: 0.05)
      let turns = loop.statistics.turns - before
      print("a request in a callout that runs Foundation's:", turns < 10 ? "few turns" : "\(turns) turns")
    })
  print("and the run around it:", loop.run())
  keeper.invalidate()
}

/// Runs of both, in each other.
func nest() {
  touchFoundation()
  let loop = Loop.current
  let runLoop = RunLoop.current
  let report = Report()
  let depth = Cell(0)
  // In a timer of Foundation's that fires in Rondo's sleep, a run of Rondo's; in a timer of that, one of Foundation's;
  // in a timer of that, one of Rondo's in another mode.
  onFoundationTimer(after: 0.01) {
    report.add("1 Foundation's timer at depth \(loop.heartbeat.depth)")
    Timer.scheduledTimer(withTimeInterval: 0.01, repeats: false) { _ in
      report.add("2 Rondo's timer at depth \(loop.heartbeat.depth)")
      onFoundationTimer(after: 0.01) {
        report.add("3 Foundation's timer at depth \(loop.heartbeat.depth)")
        let timer = Timer(timeInterval: 0.01, repeats: false) { _ in
          report.add("4 Rondo's timer in another mode at depth \(loop.heartbeat.depth)")
          depth.value = 4
        }
        runLoop.add(timer, forMode: .tracking)
        while depth.value < 4 { runLoop.run(mode: .tracking, before: .distantFuture) }
      }
      while depth.value < 4 { runFoundation(for: 0.05) }
      report.add("5 back in Rondo's timer")
    }
    while depth.value < 4 { loop.run(for: .milliseconds(100), returnAfterSourceHandled: true) }
    report.add("6 back in Foundation's timer")
    runLoop.stop()
  }
  let keeper = Loop.Source {}
  loop.add(keeper)
  report.add("7 \(loop.run())")
  keeper.invalidate()
  // A mode that only Foundation's loop has something in.
  let mode = RunLoop.Mode("other")
  let isDone = Cell(false)
  Unmoded.schedule(mode.rawValue) { isDone.value = true }
  let end = Date(timeIntervalSinceNow: 10)
  while !isDone.value, Date() < end { guard runLoop.run(mode: mode, before: end) else { break } }
  report.add("8 another mode: \(isDone.value)")
  report.printSorted()
}

/// The bridge joins in the middle of a run of Foundation's, and leaves when it is told to.
func comeAndGo() {
  let loop = Loop.current
  let report = Report()
  onFoundationTimer(after: 0.01) {
    Timer.scheduledTimer(withTimeInterval: 0.01, repeats: false) { _ in report.add("timer") }
  }
  runFoundation { report.count == 1 }
  let runLoop = RunLoop.current
  print(RunLoop.current.foundationStatus)
  let ticks = Cell(0)
  onEachFoundationTick(0.005) {
    ticks.value += 1
    return true
  }
  RunLoop.current.servesFoundation = false
  print(RunLoop.current.foundationStatus)
  let keeper = Loop.Source {}
  loop.add(keeper)
  loop.run(for: .milliseconds(30))
  print("ticks while it is not served:", ticks.value)
  RunLoop.current.servesFoundation = true
  while ticks.value < 3 { loop.run(for: .milliseconds(5)) }
  print("ticks while it is:", ticks.value >= 3)
  // Told to in a callout of Foundation's in Rondo's sleep.
  onFoundationTimer(after: 0.01) { RunLoop.current.servesFoundation = false }
  while runLoop.servesFoundation { loop.run(for: .milliseconds(30)) }
  let seen = ticks.value
  loop.run(for: .milliseconds(30))
  print("ticks after that:", ticks.value - seen)
  print(RunLoop.current.foundationStatus)
  keeper.invalidate()
}
