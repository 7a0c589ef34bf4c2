import Rondo
import RondoFoundation

/// What a loop that sleeps for both says of itself, and precise timers, and a wait set that is made anew.
func sleepWell() {
  touchFoundation()
  let loop = RunLoop.current.getLoop()
  let phases = Guarded<[String]>([])
  let keeper = Loop.Source {}
  loop.add(keeper)
  func watch(_ name: String) {
    whenAsleep(loop) {
      // It may have woken for a moment, by a wakeup that was left over.
      var (heartbeat, isWaiting) = (loop.heartbeat, loop.isWaiting)
      while heartbeat.phase != .waiting || !isWaiting { (heartbeat, isWaiting) = (loop.heartbeat, loop.isWaiting) }
      let phase = "\(name): \(heartbeat.phase) \(isWaiting) depth \(heartbeat.depth)"
      phases.withLock { $0.append(phase) }
      loop.stop()
      loop.perform {}
    }
  }
  watch("Rondo's run")
  loop.run()
  print(phases.withLock { $0.last } ?? "")
  watch("Foundation's run")
  runFoundation { phases.withLock { $0.count } == 2 }
  print(phases.withLock { $0.last } ?? "", loop.heartbeat.phase)

  // Never early; spun for, so the loop has spun.
  let start = ContinuousClock.now
  let precise = Loop.Timer(after: .milliseconds(20)) { _ in loop.stop() }
  precise.isPrecise = true
  loop.add(precise)
  loop.run()
  print("precise", ContinuousClock.now - start >= .milliseconds(20))

  // A watched file is closed behind the loop's back while a duplicate stays: the wait set is made anew.
  var ends: [CInt] = [0, 0]
  pipe(&ends)
  let copy = dup(ends[0])
  let lost = try! Loop.DescriptorSource(ends[0], for: .read) { _, _ in }
  loop.add(lost)
  loop.run(for: .milliseconds(5))
  close(ends[0])
  write(ends[1], "x", 1)
  lost.invalidate()
  let before = loop.statistics.turns
  let ticks = Cell(0)
  let fires = Cell(0)
  onEachFoundationTick(0.005) {
    ticks.value += 1
    return ticks.value < 5
  }
  let timer = Timer.scheduledTimer(withTimeInterval: 0.005, repeats: true) { _ in fires.value += 1 }
  while ticks.value < 5 || fires.value < 5 { loop.run(for: .milliseconds(50)) }
  timer.invalidate()
  whenAsleep(loop) { loop.stop() }
  print("after a new wait set:", loop.run(), loop.statistics.turns - before < 1_000)
  close(copy)
  keeper.invalidate()
}

/// Foundation's loop runs a mode that Rondo's has had, and has given back for want of room.
func runModeGivenBack() {
  touchFoundation()
  let loop = RunLoop.current.getLoop()
  let mode = Loop.Mode(rawValue: "given back")
  loop.add(Loop.Timer(after: .milliseconds(1)) { _ in }, to: mode)
  loop.run(in: mode)
  for index in 0..<64 {
    let source = Loop.Source {}
    loop.add(source, to: Loop.Mode(rawValue: "mode \(index)"))
    source.invalidate()
  }
  let turns = idleTurnsOfFoundation(in: mode.rawValue, for: 0.05)
  print("known", loop.modes.contains(mode), "turns", turns < 20 ? "few" : "\(turns)")
}

/// A forked child has loops of its own, and leaves its parent's alone.
func forkChild() {
  touchFoundation()
  let keeper = Loop.Source {}
  RunLoop.current.add(keeper, forMode: .default)
  RunLoop.current.run(until: Date(timeIntervalSinceNow: 0.005))
  fflush(nil)
  let child = forkProcess()
  if child == 0 {
    print("child", RunLoop.current.foundationStatus)
    let fires = Cell(0)
    Timer.scheduledTimer(withTimeInterval: 0.005, repeats: false) { _ in fires.value += 1 }
    while fires.value == 0 { RunLoop.current.run(until: Date(timeIntervalSinceNow: 0.01)) }
    print("child's fires", fires.value)
    fflush(nil)
    _exit(0)
  }
  var status: CInt = 0
  waitpid(child, &status, 0)
  let ticks = Cell(0)
  onFoundationTimer(after: 0.005) { ticks.value += 1 }
  while ticks.value == 0 { RunLoop.current.run(until: Date(timeIntervalSinceNow: 0.005)) }
  print("parent", RunLoop.current.foundationStatus, "status", status)
  keeper.invalidate()
}

/// Sleeps for a while with nothing to do, in each loop's run, between marks.
func idle() {
  touchFoundation()
  let loop = RunLoop.current.getLoop()
  let keeper = Loop.Source {}
  loop.add(keeper)
  // A run that ended without a sleep, as on a busy machine, has the next one look at the kernel once more.
  repeat { loop.run(for: .milliseconds(10)) } while loop.statistics.sleeps == 0
  // It may have left a wakeup, which a look of Foundation's takes.
  runFoundation(for: 0)
  loop.add(Loop.Observer(.beforeWaiting) { _ in mark("Rondo sleeps") })
  loop.run(for: .milliseconds(600))
  mark("Rondo ends")
  runFoundation(for: 0.01)
  mark("Foundation sleeps")
  runFoundation(for: 0.6)
  mark("Foundation ends")
  keeper.invalidate()
}
