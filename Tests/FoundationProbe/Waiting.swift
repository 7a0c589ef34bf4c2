import Rondo
import RondoFoundation

// Whoever waits makes Foundation's loop: nothing of the thread's has touched that before.

/// Counts the fires of a ported timer, and calls the body at the tenth.
private func tick(in runLoop: RunLoop, _ count: Cell<Int>, _ body: @escaping @Sendable () -> Void = {}) {
  let timer = Timer(timeInterval: 0.001, repeats: true) { timer in
    count.value += 1
    guard count.value == 10 else { return }
    timer.invalidate()
    body()
  }
  runLoop.add(timer, forMode: .default)
}

/// A ported timer fires while the thread waits for a process, which ends when that timer lets it.
func waitUntilExit() {
  let fires = Cell(0)
  let input = Cell(Pipe())
  tick(in: .current, fires) { try? input.value.fileHandleForWriting.close() }
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/bin/cat")
  process.standardInput = input.value
  try! process.run()
  process.waitUntilExit()
  print("fires", fires.value)
}

/// A ported timer fires while an unported file runs the thread's loop of Foundation's.
func waitInFoundation() {
  let fires = Cell(0)
  tick(in: .current, fires)
  while fires.value < 10 { runFoundation(for: 0.05) }
  print("fires", fires.value)
}

/// So does one that another thread has added to the main run loop, which the main thread has never asked for.
func waitForTimerFromElsewhere() {
  let fires = Cell(0)
  onThread { tick(in: .main, fires) }
  while fires.value < 10 { runFoundation(for: 0.05) }
  print("fires", fires.value)
}

/// The main thread sleeps in Rondo's loop when an unported file of another thread asks for Foundation's first.
func wakeSleeper() {
  let loop = Loop.current
  let keeper = Loop.Source {}
  loop.add(keeper)
  whenAsleep(loop) {
    if CommandLine.arguments.contains("ported") { RunLoop.main.perform {} }
    performInMainOfFoundation { print("performed") }
    performInMainOfFoundation { loop.stop() }
  }
  if !CommandLine.arguments.contains("ported") { _ = RunLoop.current }
  loop.run()
}

/// A worker leaves half of the process's descriptors alone, since there may be hundreds of them; the main thread is one.
func goWithHalfOfDescriptors() {
  var limit = rlimit()
  getrlimit(__rlimit_resource_t(7), &limit)
  var number: CInt = 0
  while number < 99 { number = dup(2) }
  limit.rlim_cur = 198
  setrlimit(__rlimit_resource_t(7), &limit)
  print(RunLoop.current.foundationStatus)
}

/// Without descriptors for Foundation's loop, which ends a process that has none for it, Rondo's goes on alone, until there
/// are some.
func goWithoutDescriptors() {
  _ = Loop.current
  var limit = rlimit()
  getrlimit(__rlimit_resource_t(7), &limit)
  let usual = limit.rlim_cur
  let number = open("/dev/null", O_RDONLY)
  close(number)
  limit.rlim_cur = rlim_t(number + 3)
  setrlimit(__rlimit_resource_t(7), &limit)
  let fires = Cell(0)
  tick(in: .current, fires)
  let status = RunLoop.current.foundationStatus
  while fires.value < 10 { RunLoop.current.run(until: Date(timeIntervalSinceNow: 0.05)) }
  limit.rlim_cur = usual
  setrlimit(__rlimit_resource_t(7), &limit)
  print("fires", fires.value, status, RunLoop.current.foundationStatus)
}

private nonisolated(unsafe) var key = pthread_key_t()

/// A thread asks for its run loop in each round in which its keys are destroyed, and Foundation's key is one of them.
func askWhileDying() {
  let statuses = Report()
  let isOver = DispatchSemaphore(value: 0)
  final class Rounds {
    var count = 0
    let body: (Int) -> Void
    init(_ body: @escaping (Int) -> Void) { self.body = body }
  }
  let rounds = Rounds { round in
    // A loop that is made in the last round stays.
    if round <= 3 { statuses.add("\(round) \(RunLoop.current.foundationStatus)") }
    if round == 4 { isOver.signal() }
  }
  pthread_key_create(&key) { pointer in
    let rounds = Unmanaged<Rounds>.fromOpaque(pointer!).takeUnretainedValue()
    rounds.count += 1
    rounds.body(rounds.count)
    if rounds.count < 4 { pthread_setspecific(key, pointer) }
  }
  Thread {
    _ = RunLoop.current
    pthread_setspecific(key, Unmanaged.passUnretained(rounds).toOpaque())
  }.start()
  isOver.wait()
  statuses.printSorted()
}
