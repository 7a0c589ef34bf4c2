import Dispatch
import Glibc
import Rondo
import RondoAsync
import RondoMain
import Synchronization

/// There and back, with something to do there that no optimiser leaves out.
@concurrent private func hop(_ steps: borrowing Steps) async { steps.count.add(1, ordering: .relaxed) }

private struct Steps: ~Copyable {
  let count = Atomic(0)
}

@MainActor private func nanosecondsPerHop(_ count: Int) async -> Int {
  let steps = Steps()
  let took = await ContinuousClock().measure { for _ in 0..<count { await hop(steps) } }
  return Int(took / .nanoseconds(1)) / count
}

/// To another thread and back, 200 times.
@MainActor func probeHops() async {
  var (here, there) = (0, 0)
  for _ in 0..<200 {
    if await !elsewhere() { there += 1 }
    if isOnMainThread() { here += 1 }
  }
  report("elsewhere", there)
  report("on-main", here)
  try? await Task.sleep(for: .milliseconds(1))
  report("after-sleep", isOnMainThread())
  report("from-elsewhere", await Task.detached { await MainActor.run { isOnMainThread() } }.value)
  if CommandLine.arguments.count > 2 {
    let took = await nanosecondsPerHop(20_000)
    report("ns-a-hop", took)
  }
}

/// What the main thread has served.
@MainActor private final class Served {
  var (ticks, bytes, blocks, onMain) = (0, 0, 0, 0)
  let (reader, writer): (CInt, CInt)

  init() {
    var ends: [CInt] = [0, 0]
    unsafe pipe(&ends)
    (reader, writer) = (ends[0], ends[1])
  }

  func receive() {
    var byte: UInt8 = 0
    bytes += unsafe read(reader, &byte, 1)
  }
}

/// Everything that the main thread serves while main is suspended.
///
/// What a continuation resumes passes by the default executor, so that there are other threads unless that is the loop.
@MainActor func probeServing(adopts: Bool) async {
  if adopts { Loop.main.adoptAllTasks() }
  let served = Served()
  let input = try! Loop.DescriptorSource(served.reader, for: .read) { _, _ in
    MainActor.assumeIsolated { served.receive() }
  }
  Loop.main.add(input, to: .common)
  for await _ in Loop.main.ticks(every: .milliseconds(1)) {
    served.ticks += 1
    if isOnMainThread() { served.onMain += 1 }
    unsafe write(served.writer, "x", 1)
    DispatchQueue.main.async { MainActor.assumeIsolated { served.blocks += 1 } }
    if served.ticks >= 200, served.bytes >= 20, served.blocks >= 20 { break }
  }
  report("resumed-elsewhere", served.ticks - served.onMain)
  report("bytes", served.bytes >= 20)
  report("blocks", served.blocks >= 20)
  if adopts { report("threads", threadCount()) }
}

/// An actor of the main loop.
private actor Neighbour {
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe Loop.main.asUnownedSerialExecutor() }
  private var visits = 0
  func visit() -> Int {
    visits += 1
    return visits
  }
}

/// Calls between the main actor and an actor of the main loop are no jobs.
@MainActor func probeOneExecutor() async {
  let neighbour = Neighbour()
  // From here on main is a job of the loop's.
  await Task.yield()
  let before = Loop.main.statistics.jobCallouts
  var visits = 0
  for _ in 0..<1_000 { visits = await neighbour.visit() }
  report("visits", visits)
  report("jobs", Loop.main.statistics.jobCallouts - before)
}

@MainActor func probeThrowing() async throws {
  print("before")
  fflush(nil)
  await Task.yield()
  throw Failure()
}

@MainActor func probeReturning() async {
  for _ in 0..<3 { await Task.yield() }
  reportAtExit()
}

/// A stop ends the program, though main is not over.
@MainActor func probeStopping() async {
  reportAtExit()
  Loop.main.add(Loop.Timer(after: .milliseconds(1)) { _ in Loop.main.stop() })
  await unsafe withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
  report("main", "went on")
}

/// With all tasks on the loop, the program has one thread.
@MainActor func probeAdopting() async {
  Loop.main.adoptAllTasks()
  Loop.main.adoptAllTasks()
  var (here, there) = (0, 0)
  for _ in 0..<200 {
    if await elsewhere() { there += 1 }
    if isOnMainThread() { here += 1 }
  }
  report("elsewhere-on-main", there)
  report("on-main", here)
  try? await Task.sleep(for: .milliseconds(1))
  report("after-sleep", isOnMainThread())
  report("detached", await Task.detached { isOnMainThread() }.value)
  report("children", await childrenOnMain())
  report("threads", threadCount())
  if CommandLine.arguments.count > 2 {
    let took = await nanosecondsPerHop(100_000)
    report("ns-a-hop", took)
    report("threads", threadCount())
  }
}

private func childrenOnMain() async -> Int {
  await withTaskGroup { group in
    for _ in 0..<100 { group.addTask { await elsewhere() } }
    return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
  }
}

/// Ten thousand tasks sleep with tolerance: the loop wakes as often as it must.
@MainActor func probeAdoptedSleeps() async {
  Loop.main.adoptAllTasks()
  await withDiscardingTaskGroup { group in
    for number in 0..<10_000 {
      // Dates of 20 to 120 ms, all good until 220 ms and more: one wakeup serves them all.
      group.addTask {
        try? await Task.sleep(for: .milliseconds(20 + number % 100), tolerance: .milliseconds(200))
      }
    }
  }
  report("sleeps", Loop.main.statistics.wakeupsByTimer)
  report("threads", threadCount())
}
