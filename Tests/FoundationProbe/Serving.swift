import Rondo
import RondoFoundation

/// Rondo's loop runs, and serves what an unported file has scheduled with Foundation's.
func serveUnported() {
  let report = Report()
  let unported = Unported { report.add($0) }
  unported.schedule()
  // Foundation tells of what FileHandle reads on the main thread alone.
  let isMain = Thread.isMainThread
  if isMain { unported.listen() }
  let end = Date(timeIntervalSinceNow: 20)
  while report.count < (isMain ? 6 : 4), Date() < end {
    // The timer, which may come last, ends no run.
    RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.1))
  }
  report.printSorted()
  print(RunLoop.current.foundationStatus)
}

/// Foundation's loop runs by itself, and serves what a ported file has scheduled with Rondo's.
func serveThroughFoundation() {
  touchFoundation()
  let report = Report()
  let loop = Loop.current
  let runLoop = RunLoop.current
  Timer.scheduledTimer(withTimeInterval: 0.02, repeats: false) { _ in report.add("timer") }
  runLoop.perform { report.add("perform") }
  let source = Loop.Source { report.add("source") }
  loop.add(source)
  after(0.03) { source.signal() }
  let pipe = Pipe()
  let readable = try! Loop.DescriptorSource(pipe.fileHandleForReading.fileDescriptor, for: .read) { source, _ in
    report.add("descriptor")
    source.invalidate()
  }
  loop.add(readable)
  after(0.04) { pipe.fileHandleForWriting.write(Data("x".utf8)) }
  after(0.05) { runLoop.perform { report.add("perform from elsewhere") } }
  runFoundation { report.count == 5 || readable.invalidationReason != nil }
  if let reason = readable.invalidationReason {
    print("The pipe is not watched: \(reason)")
    exit(1)
  }
  source.invalidate()
  report.printSorted()
}

/// What Rondo has to serve is there before Foundation's run begins: serving it ends that run, once.
func serveWhatWasThere() {
  touchFoundation()
  let loop = Loop.current
  // Whoever asks for it joins the two.
  _ = RunLoop.current
  let serves = Cell(0)
  let source = Loop.Source { serves.value += 1 }
  loop.add(source)
  // Observers are told of Foundation's sleeps, which is no service.
  let observer = Loop.Observer(.beforeWaiting) { _ in }
  loop.add(observer)
  source.signal()
  print("a source:", returns { serves.value == 1 })
  loop.add(Loop.Timer(after: .milliseconds(1)) { _ in serves.value += 1 })
  usleep(20_000)
  print("a timer:", returns { serves.value == 2 })
  loop.perform { serves.value += 1 }
  print("a block:", returns { serves.value == 3 })
  // A run of Rondo's is not ended by it.
  source.signal()
  runFoundation(for: 0.01)
  print("a run of Rondo's:", serves.value, loop.run(for: .milliseconds(20), returnAfterSourceHandled: true))
  runFoundation(for: 0.01)
  print("a run of Foundation's:", serves.value)
  observer.invalidate()
  source.invalidate()

  /// How often Foundation's run returned, which otherwise sleeps for ever.
  func returns(until isOver: () -> Bool) -> Int {
    var count = 0
    while !isOver() {
      runFoundationOnce()
      count += 1
    }
    return count
  }
}

/// A worker waits for a process as Foundation's documentation has it; says how often its run has returned.
func waitForProcess() {
  let process = startSleeping("0.5")
  var returns = 0
  while process.isRunning {
    _ = RunLoop.current.run(mode: .default, before: .distantFuture)
    returns += 1
  }
  print("returns", returns <= 5 ? "few" : "\(returns)")
  print("turns", Loop.current.statistics.turns <= 20 ? "few" : "\(Loop.current.statistics.turns)")
}

/// A worker's loop stays while a process runs, and no longer.
func stayForProcess() {
  let process = startSleeping("0.3")
  RunLoop.current.run()
  print("running", process.isRunning)
}

/// Foundation's loop ends when neither has anything, and Rondo's does.
func endWhenEmpty() {
  touchFoundation()
  let report = Report()
  print(RunLoop.current.foundationStatus)
  runFoundationUntilEmpty()
  Timer.scheduledTimer(withTimeInterval: 0.01, repeats: false) { _ in report.add("Rondo's timer") }
  runFoundationUntilEmpty()
  // A turn of Rondo's, which Foundation's loop gives it before its second sleep, finds nothing.
  Timer.scheduledTimer(withTimeInterval: 0.001, repeats: false) { _ in report.add("Rondo's timer, due before the run") }
  usleep(5_000)
  runFoundationUntilEmpty()
  onFoundationTimer(after: 0.01) { report.add("Foundation's timer") }
  RunLoop.current.run()
  RunLoop.current.run()
  report.printSorted()
  print("ended")
}

/// Neither loop starves the other, whichever is always busy.
func keepBusy() {
  touchFoundation()
  let loop = Loop.current
  let runLoop = RunLoop.current
  // Rondo is busy.
  let ticks = Cell(0)
  let busy = Cell<Loop.Source?>(nil)
  busy.value = Loop.Source { busy.value?.signal() }
  loop.add(busy.value!)
  busy.value?.signal()
  onEachFoundationTick(0.001) {
    ticks.value += 1
    if ticks.value == 20 { loop.stop() }
    return ticks.value < 20
  }
  runLoop.run()
  print("Foundation's ticks", ticks.value)
  busy.value?.invalidate()
  // Foundation is busy: it polls, and it performs a source for ever.
  let fires = Cell(0)
  let timer = Timer.scheduledTimer(withTimeInterval: 0.001, repeats: true) { _ in fires.value += 1 }
  pollFoundation { fires.value >= 20 }
  print("Rondo's ticks while polled", fires.value >= 20)
  let hand = Cell<HandSource?>(nil)
  hand.value = HandSource { hand.value?.signal() }
  hand.value?.signal()
  fires.value = 0
  runFoundation { fires.value >= 20 }
  print("Rondo's ticks beside a busy source", fires.value >= 20)
  // Both sleep in Rondo's run, beside the busy source of Foundation's.
  fires.value = 0
  while fires.value < 20 { runLoop.run(mode: .default, before: .distantFuture) }
  print("Rondo's ticks in its own run", fires.value >= 20)
  hand.value?.invalidate()
  timer.invalidate()
}
