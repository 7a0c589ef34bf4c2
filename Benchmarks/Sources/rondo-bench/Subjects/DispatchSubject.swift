import CBench
import Dispatch

/// Dispatch: a serial queue stands for the loop. Its callouts run on worker threads, which nobody can pin.
struct DispatchSubject: Subject {
  let name = "dispatch"
  let summary = "a serial DispatchQueue: data, read and timer sources, async; worker threads, not pinned"

  func openLoop(posts: Bool) throws(Refusal) -> any BenchLoop {
    QueueLoop()
  }

  func runTimer(hitting meter: TickMeter) throws(Refusal) {
    let queue = DispatchQueue(label: "bench")
    let done = DispatchSemaphore(value: 0)
    let timer = DispatchSource.makeTimerSource(flags: .strict, queue: queue)
    timer.setEventHandler {
      // A fire that was under way when the last was counted.
      guard !bench_ticks_are_done(meter.pointer) else { return }
      if bench_ticks_hit(meter.pointer) { done.signal() }
    }
    // Whole ticks from now: Dispatch takes an uptime, and rounds nothing.
    let first = DispatchTime(uptimeNanoseconds: UInt64(meter.first))
    timer.schedule(deadline: first, repeating: .nanoseconds(Int(meter.interval)), leeway: .nanoseconds(0))
    timer.activate()
    done.wait()
    cancelAndWait([timer])
  }
}

extension DispatchSubject {
  func openActors() throws(Refusal) -> ActorHost {
    ActorHost(guests: [QueueActor.shared, QueueActor.other], neighbour: QueueActor.neighbour) { count, parking in
      for _ in 0..<count { Task { @QueueActor in await parking.park() } }
    }
  }
}

/// Two queues that run jobs; the first is the global actor's.
@globalActor
private enum QueueActor {
  private static let executor = QueueExecutor()
  static let shared = HostedGuest(executor)
  static let neighbour = HostedGuest(executor)
  static let other = HostedGuest(QueueExecutor())
}

/// Runs jobs on a serial queue: what a program would write, since a queue of Linux's Dispatch is no executor.
private final class QueueExecutor: SerialExecutor {
  private let queue = DispatchQueue(label: "bench")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}

private final class QueueLoop: BenchLoop {
  private let queue = DispatchQueue(label: "bench")
  private let stopped = DispatchSemaphore(value: 0)
  /// Sources that the manager's thread has yet to tell the kernel of.
  private let registering = DispatchGroup()

  var isWaiting: Bool { false }
  var sleepsOnItsThread: Bool { false }
  var pollRefusal: Refusal? { .cannot("has no turns to ask for") }

  func run() { stopped.wait() }
  func stop() { stopped.signal() }

  /// A source is activated by another thread: what was added is watched when that is through.
  func poll() { registering.wait() }

  /// What is on the queue may still be about to return.
  func close() { queue.sync {} }

  func addWake(_ call: Call) throws(Refusal) -> any Wake {
    let source = DispatchSource.makeUserDataAddSource(queue: queue)
    source.setEventHandler { call() }
    source.activate()
    return DataWake(source)
  }

  func addSignal(_ call: Call) throws(Refusal) -> any Member {
    throw .cannot("a source signalled in its own handler is called again without a look at the kernel")
  }

  func addWatch(_ descriptor: CInt, _ call: Call) throws(Refusal) -> any Member {
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler { call() }
    let registering = registering
    registering.enter()
    source.setRegistrationHandler { registering.leave() }
    source.activate()
    return QueueMember(sources: [source])
  }

  func post(_ count: Int, _ work: Work) {
    for _ in 0..<count { queue.async { work() } }
  }

  func addShots(_ dues: [Int64], _ call: Call) throws(Refusal) -> any ShotBank {
    QueueTimers(timers: dues.map { timer(due: $0, every: nil, leeway: 0, call) })
  }

  func addRepeats(
    _ dues: [Int64], every interval: Int64, tolerance: Int64, _ call: Call
  ) throws(Refusal) -> any Member {
    QueueTimers(timers: dues.map { timer(due: $0, every: interval, leeway: tolerance, call) })
  }

  private func timer(
    due: Int64, every interval: Int64?, leeway: Int64, _ call: Call
  ) -> any DispatchSourceTimer {
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.setEventHandler { call() }
    timer.schedule(
      deadline: DispatchTime(uptimeNanoseconds: UInt64(due)),
      repeating: interval.map { .nanoseconds(Int($0)) } ?? .never, leeway: .nanoseconds(Int(leeway)))
    timer.activate()
    return timer
  }
}

private struct QueueMember: Member {
  let sources: [any DispatchSourceProtocol]

  func remove() { cancelAndWait(sources) }
}

/// A descriptor may not be closed before the source's cancel handler has run: dispatch_source_cancel(3).
private func cancelAndWait(_ sources: [any DispatchSourceProtocol]) {
  let cancelled = DispatchGroup()
  for source in sources {
    cancelled.enter()
    source.setCancelHandler { cancelled.leave() }
    source.cancel()
  }
  cancelled.wait()
}

/// Sendable because a dispatch source may be used from any thread.
private final class DataWake: Wake, @unchecked Sendable {
  private let source: any DispatchSourceUserDataAdd

  init(_ source: any DispatchSourceUserDataAdd) {
    self.source = source
  }

  func send() { source.add(data: 1) }
  func remove() { cancelAndWait([source]) }
}

private struct QueueTimers: ShotBank, Member {
  let timers: [any DispatchSourceTimer]

  func cancel(_ order: [Int]) { cancelAndWait(order.map { timers[$0] }) }

  func free() {}

  func remove() { cancelAndWait(timers) }
}
