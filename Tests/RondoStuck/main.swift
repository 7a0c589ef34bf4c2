// A program that gets stuck in the way its argument says, until a monitor has reported it, and prints the reports as JSON:
// `rondo-stuck WAY [MILLISECONDS]`.

import CTests
import Dispatch
import Glibc
import Rondo
import RondoInspect
import Synchronization

/// Not zero once the stall was reported, for C code.
nonisolated(unsafe) let word = UnsafeMutablePointer<UInt32>.allocate(capacity: 1)
unsafe word.initialize(to: 0)

let isReported = Atomic<Bool>(false)

@inline(never) func stuckInSleep() {
  while !isReported.load(ordering: .relaxed) { usleep(20_000) }
}

@inline(never) func stuckInComputation() {
  var sum: UInt64 = 1
  while !isReported.load(ordering: .relaxed) { sum = sum &* 6_364_136_223_846_793_005 &+ 1 }
  precondition(sum != 0)
}

@inline(never) func stuckInLock() {
  let semaphore = DispatchSemaphore(value: 0)
  let lock = PosixLock()
  lock.lock()
  Thread.start {
    semaphore.signal()
    stuckInSleep()
    lock.unlock()
  }
  semaphore.wait()
  lock.lock()
}

@inline(never) func stuckInC() {
  unsafe stuck_compute(word)
}

@MainActor @inline(never) func stuckOnTheMainActor() { stuckInSleep() }

/// A mutex of the C library's, which any thread may unlock.
@safe final class PosixLock: @unchecked Sendable {
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
  init() { unsafe sem_init(semaphore, 0, 1) }
  deinit {
    unsafe sem_destroy(semaphore)
    unsafe semaphore.deallocate()
  }
  func lock() { while unsafe sem_wait(semaphore) != 0 {} }
  func unlock() { unsafe sem_post(semaphore) }
}

@_silgen_name("fork") func fork() -> CInt

enum Thread {
  static func start(_ body: @escaping @Sendable () -> Void) {
    DispatchQueue.global().async(execute: body)
  }
}

let way = CommandLine.arguments.dropFirst().first ?? ""
let limit = CommandLine.arguments.count > 2 ? Int(CommandLine.arguments[2]) ?? 100 : 100
let loop = Loop.main
let began = Mutex<ContinuousClock.Instant?>(nil)

func begin() {
  began.withLock { $0 = ContinuousClock.now }
}

// Whoever started the program may have blocked them: threads of Dispatch do.
var signals = sigset_t()
unsafe sigfillset(&signals)
unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
alarm(120)
let monitor = try StallMonitor(limit: .milliseconds(limit)) { stall in
  let since = began.withLock { $0 }
  if !stall.isOver, let since { print("told after \(ContinuousClock.now - since)") }
  print(stall.json)
  if stall.isOver {
    // Flushes what was printed.
    exit(0)
  }
  if let since { print("with all symbols after \(ContinuousClock.now - since)") }
  print(stall.report)
  unsafe stuck_end(word)
  isReported.store(true, ordering: .relaxed)
}

let keepAlive = Loop.Source {}
loop.add(keepAlive, to: .common)
if way != "hold" { monitor.watch(loop) }

/// One timer, made on one line, for the ways that have no item of their own.
func inTimer(_ body: @escaping @Sendable () -> Void) {
  let timer = Loop.Timer(after: .milliseconds(5)) { _ in
    begin()
    body()
  }
  loop.add(timer)
}

switch way {
case "sleep": inTimer { stuckInSleep() }
case "lock": inTimer { stuckInLock() }
case "compute": inTimer { stuckInComputation() }
case "c-library": inTimer { stuckInC() }
case "nested":
  inTimer {
    loop.perform(in: "inner") { stuckInSleep() }
    loop.run(in: "inner", for: .seconds(60), returnAfterSourceHandled: true)
  }
case "main-actor":
  Task { @MainActor in stuckOnTheMainActor() }
case "main-queue":
  DispatchQueue.main.async { stuckInSleep() }
case "source":
  let source = Loop.Source {
    begin()
    stuckInSleep()
  }
  source.name = "the source"
  loop.add(source)
  source.signal()
case "descriptor":
  var ends: [CInt] = [0, 0]
  precondition(unsafe pipe(&ends) == 0)
  close(ends[1])
  let descriptor = try Loop.DescriptorSource(ends[0], for: .read) { source, _ in
    begin()
    stuckInSleep()
    source.invalidate()
  }
  loop.add(descriptor)
case "block":
  loop.perform { stuckInSleep() }
case "timeout":
  _ = loop.makeTimeout(after: .milliseconds(5)) { stuckInSleep() }
case "observer":
  loop.add(
    Loop.Observer(.beforeTimers, repeats: false) { _ in
      begin()
      stuckInSleep()
    })
// Rests, then has a descriptor that is always ready, and is stuck in one of its callouts.
case "busy":
  var ends: [CInt] = [0, 0]
  precondition(unsafe pipe(&ends) == 0)
  close(ends[1])
  let turns = Atomic(0)
  let ready = try Loop.DescriptorSource(ends[0], for: .read) { source, _ in
    if turns.add(1, ordering: .relaxed).newValue < 20_000 { return }
    begin()
    stuckInSleep()
    source.invalidate()
  }
  loop.add(Loop.Timer(after: .milliseconds(limit)) { _ in loop.add(ready) })
// Without a monitor, until it is ended: for whoever asks.
case "hold":
  let timer = Loop.Timer(after: .milliseconds(5)) { _ in
    print("holding")
    fflush(nil)
    stuckInSleep()
  }
  timer.name = "holder"
  loop.add(timer)
case "serve":
  let timer = Loop.Timer(every: .milliseconds(5)) { _ in }
  timer.name = "beat"
  loop.add(timer)
  loop.insight.measure()
  loop.perform {
    print("serving")
    fflush(nil)
  }
// A daemon, which forks after its first loop was made: the child says its number.
case "fork":
  while !threads_others_sleep() { usleep(1_000) }
  let child = fork()
  if child > 0 { exit(waitpid(child, nil, 0) == child ? 0 : 1) }
  alarm(120)
  let timer = Loop.Timer(every: .milliseconds(5)) { _ in }
  timer.name = "child's beat"
  Loop.main.add(timer)
  Loop.main.perform {
    print(getpid())
    fflush(nil)
  }
  Loop.main.run()
default:
  print("usage: rondo-stuck WAY [MILLISECONDS]")
  exit(2)
}

loop.run()
