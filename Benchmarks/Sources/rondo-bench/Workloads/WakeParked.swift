import CBench
import Foundation
import Synchronization

/// Another thread wakes a sleeping loop to a callout: how long from the call to the callout.
///
/// The sender waits until the kernel says that the loop sleeps, stamps the time, wakes, and goes to sleep itself, which
/// on one core is what lets the loop run. So the figure holds the sender's call, the switch and the loop's way to the
/// callout, and nothing of the measuring.
///
/// On one core the kernel decides at each wake whether the loop preempts the sender or has to wait until that sleeps:
/// times fall into two groups some 6 us apart, and a loop that worked longer at its last wake preempts less often. Both
/// are true of real programs, so `1core` leaves the kernel its choice; its median may stand between the groups.
/// `1core.preempt` takes the choice away (the sender is SCHED_IDLE) and so measures the loops and nothing else.
struct WakeParked: Workload {
  enum Placement: String, Sendable {
    case oneCore = "1core"
    /// One core, and the kernel always lets the woken thread run first.
    case oneCorePreempting = "1core.preempt"
    case twoCores = "2core"
  }

  private let placement: Placement
  private let processors = Processors()

  init(_ placement: Placement) {
    self.placement = placement
  }

  var name: String { "wake.parked.\(placement.rawValue)" }

  var summary: String {
    switch placement {
    case .oneCore: "another thread on the same core wakes a sleeping loop to a callout"
    case .oneCorePreempting: "the same, and the woken thread always preempts the sender"
    case .twoCores: "another thread on another core wakes a sleeping loop to a callout"
    }
  }

  var obstacle: String? {
    placement == .twoCores && processors.all.count < 2 ? "needs two processors" : nil
  }

  func plan(_ effort: Effort) -> Plan {
    switch effort {
    case .quick: Plan(rounds: 10, size: 100)
    case .full: Plan(rounds: 15, size: 500)
    }
  }

  /// Where the threads run does not change how many calls they make.
  var counting: Counting? {
    placement == .oneCore ? Counting(metric: "syscalls/wake", small: 50, large: 150) : nil
  }

  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round {
    let meter = try wake(subject, Self.warmUp + size, isWatched: true)
    return Round([Part(times: meter.latencies(dropping: Self.warmUp))])
  }

  /// Under strace the sender does not ask the kernel whether the loop sleeps, it waits long enough.
  func countedRound(of subject: any Subject, size: Int) throws(Refusal) -> Int {
    try wake(subject, size, isWatched: false).received
  }

  /// The first wakes of a fresh loop pay for its set-up and are not measured.
  private static let warmUp = 32

  /// Between wakes: enough for any loop to finish its turn and go back to sleep.
  private static let gap: Int64 = 50_000

  /// Where the kernel cannot be asked whether the loop sleeps.
  private static let longGap: Int64 = 300_000

  /// Under strace.
  private static let tracedGap: Int64 = 3_000_000

  /// After this many seconds a wake counts as lost.
  private static let patience = 2.0

  private func wake(_ subject: any Subject, _ count: Int, isWatched: Bool) throws(Refusal) -> WakeMeter {
    let meter = WakeMeter(expecting: count)
    let announcement = Announcement()
    let thread = PinnedThread(on: processors.loop) { () throws(Refusal) in
      let (handle, wake) = try announcement.open(subject, meter)
      handle.loop.run()
      wake.remove()
      handle.loop.close()
    }
    guard let (wake, watch) = announcement.wait() else {
      try thread.join(within: Self.patience)
      throw .failed("the loop was not opened")
    }
    defer { if let watch { close(watch) } }
    // A thread of its own: SCHED_IDLE cannot be taken back.
    let sender = PinnedThread(on: placement == .twoCores ? processors.all[0] : processors.loop) { () throws(Refusal) in
      if placement == .oneCorePreempting, !bench_give_way() { throw .failed("could not make the sender SCHED_IDLE") }
      for index in 0..<count {
        if isWatched {
          try awaitSleep(before: index, of: count, watch, meter)
        } else {
          repeat { bench_pause(Self.tracedGap) } while meter.received < index
        }
        bench_meter_send(meter.pointer)
        wake.send()
      }
    }
    try sender.join(within: Self.patience * 10 + Double(count) / 100)
    try thread.join(within: Self.patience)
    guard meter.received == count, meter.surplus == 0 else {
      throw .failed("\(meter.received + meter.surplus) callouts for \(count) wakes")
    }
    return meter
  }

  /// Waits until the loop has served every wake so far and sleeps again.
  private func awaitSleep(
    before index: Int, of count: Int, _ watch: CInt?, _ meter: WakeMeter
  ) throws(Refusal) {
    let deadline = bench_now() + Int64(Self.patience * 1e9)
    repeat {
      guard bench_now() < deadline else {
        throw .failed(meter.received < index ? "wake \(index) of \(count) was lost" : "the loop does not sleep")
      }
      bench_pause(watch == nil ? Self.longGap : Self.gap)
    } while meter.received < index || !(watch.map { bench_thread_sleeps($0) } ?? true)
    guard meter.received == index else { throw .failed("\(meter.received) callouts for \(index) wakes") }
  }
}

/// How a loop's thread tells the sender that the loop exists, or never will.
final class Announcement: Sendable {
  private let ready = DispatchSemaphore(value: 0)
  private let opened = Mutex<(wake: any Wake, watch: CInt?)?>(nil)

  /// Opens the loop and announces its wake. Loop thread.
  func open(_ subject: any Subject, _ meter: WakeMeter) throws(Refusal) -> (LoopHandle, any Wake) {
    defer { ready.signal() }
    let handle = LoopHandle(try subject.openLoop(posts: false))
    let wake = try handle.loop.addWake(meter.call(stopping: handle))
    var watch: CInt?
    if handle.loop.sleepsOnItsThread {
      let descriptor = bench_thread_watch(bench_thread_id())
      guard descriptor >= 0 else { throw .failed("could not watch the loop's thread") }
      watch = descriptor
    }
    opened.withLock { $0 = (wake, watch) }
    return (handle, wake)
  }

  /// Waits for the announcement; nil when the loop could not be opened. Sender's thread.
  func wait() -> (wake: any Wake, watch: CInt?)? {
    ready.wait()
    return opened.withLock { $0 }
  }
}
