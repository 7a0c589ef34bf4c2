import Glibc
import Rondo
import Synchronization

/// What a host on the main thread is put to, with the main loop as its guest. Prints what came of it: `name value`.
///
/// The same file for every host, here and in the benchmarks' package: a host is a function that watches a descriptor,
/// calls `turn` when it is readable until that says so, and has a timer of its own that calls `tick` every 10 ms.
final class HostExercise: @unchecked Sendable {
  // Unchecked: all but the posters is on the main thread.

  private let guest: Loop.Embedding
  private let loop = Loop.main
  private let idle: Duration
  private let isIdle: (Bool) -> Void
  private let clock = SuspendingClock()
  private let start: SuspendingClock.Instant
  private var hostLateness: [Duration] = []
  private var guestLateness: [Duration] = []
  private var early = 0
  private var posts = 0
  private var callback: CheckedContinuation<Void, Never>?

  private static let ticks = 20
  private static let threads = 3
  private static let postsOfEach = 33_334

  /// - Parameters:
  ///   - idle: How long nothing is to do in the end.
  ///   - isIdle: Told right before the loop sleeps, and right after it woke.
  init(idle: Duration, isIdle: @escaping (Bool) -> Void = { _ in }) {
    self.idle = idle
    self.isIdle = isIdle
    guest = Loop.Embedding(of: .main)
    start = clock.now
    Task { @MainActor in
      await self.fireTimers()
      await self.callActor()
      await self.spawnTasks()
      await self.takePosts()
      await self.doNothing()
      self.loop.stop()
    }
  }

  var descriptor: CInt { guest.descriptor }

  /// The guest's turn. Other than 0 when the host may stop.
  func turn() -> CInt { guest.turn() == .stopped ? 1 : 0 }

  /// The host's own timer. Other than 0 when it has ticked enough.
  func tick() -> CInt {
    let planned = start.advanced(by: .milliseconds(10 * (hostLateness.count + 1)))
    hostLateness.append(planned.duration(to: clock.now))
    return hostLateness.count == Self.ticks ? 1 : 0
  }

  /// The host has returned.
  func end() {
    guest.end()
    let statistics = loop.statistics
    print("turns", statistics.turns)
    print("sleeps", statistics.sleeps)
    print("spurious", statistics.spuriousWakeups)
  }

  @MainActor private func fireTimers() async {
    for number in 1...Self.ticks {
      let planned = clock.now.advanced(by: .milliseconds(5))
      await withCheckedContinuation { continuation in
        callback = continuation
        loop.add(
          Loop.Timer(at: planned) { [self] _ in
            let lateness = planned.duration(to: clock.now)
            if lateness < .zero { early += 1 }
            guestLateness.append(lateness)
            callback!.resume()
          })
      }
      if number == Self.ticks { break }
    }
    print("timers", guestLateness.count)
    print("early", early)
    report("guest", guestLateness)
  }

  private func report(_ name: String, _ lateness: [Duration]) {
    let sorted = lateness.sorted()
    guard let last = sorted.last else { return }
    print("\(name)-late-median-us", sorted[sorted.count / 2] / .microseconds(1))
    print("\(name)-late-most-us", last / .microseconds(1))
  }

  @MainActor private func callActor() async {
    let counter = HostedCounter(loop)
    var sum = 0
    for _ in 0..<1_000 { sum = await counter.add() }
    print("actor", sum)
  }

  @MainActor private func spawnTasks() async {
    var sum = 0
    for _ in 0..<200 {
      sum += await Task.detached { await Task { @MainActor in isMainThread() ? 1 : 0 }.value }.value
    }
    print("main-actor", sum)
  }

  @MainActor private func takePosts() async {
    await withCheckedContinuation { continuation in
      callback = continuation
      for _ in 0..<Self.threads {
        Task.detached { [loop] in
          for number in 0..<Self.postsOfEach {
            loop.perform { self.takePost() }
            if number % 100 == 0 { sched_yield() }
          }
        }
      }
    }
    print("posts", posts)
  }

  private func takePost() {
    posts += 1
    if posts == Self.threads * Self.postsOfEach { callback!.resume() }
  }

  @MainActor private func doNothing() async {
    // The host's own timer is to be over.
    while hostLateness.count < Self.ticks { await sleep(.milliseconds(10)) }
    report("host", hostLateness)
    await sleep(.milliseconds(100))
    let turns = loop.statistics.turns
    let watcher = Loop.Observer([.beforeWaiting, .afterWaiting]) { [self] in isIdle($0 == .beforeWaiting) }
    loop.add(watcher)
    await sleep(idle)
    watcher.invalidate()
    print("idle-turns", loop.statistics.turns - turns)
  }

  @MainActor private func sleep(_ duration: Duration) async {
    await withCheckedContinuation { continuation in
      loop.add(Loop.Timer(after: duration) { _ in continuation.resume() })
    }
  }
}

private func isMainThread() -> Bool { getpid() == gettid() }

/// Swift's Glibc module lacks gettid(2).
@_silgen_name("gettid") private func gettid() -> pid_t

/// An actor of the guest.
private actor HostedCounter {
  private let loop: Loop
  private var sum = 0
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

  init(_ loop: Loop) { self.loop = loop }

  func add() -> Int {
    precondition(loop.isCurrent)
    sum += 1
    return sum
  }
}
