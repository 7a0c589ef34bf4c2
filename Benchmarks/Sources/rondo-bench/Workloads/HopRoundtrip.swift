import CBench
import Dispatch

/// A function of one actor calls another's and comes back.
///
/// The actors have a thread each, or one thread for both. A subject that does the one where the other is asked for is
/// refused. Nobody's threads are pinned: two of the subjects run on worker threads, which cannot be.
struct HopRoundtrip: Workload {
  private let rule: ThreadUse.Rule

  init(_ rule: ThreadUse.Rule) {
    self.rule = rule
  }

  var name: String { rule == .two ? "hop.roundtrip" : "hop.onethread" }
  var summary: String {
    rule == .two
      ? "an actor calls an actor on another thread and comes back"
      : "an actor calls an actor on the same thread and comes back"
  }

  func plan(_ effort: Effort) -> Plan {
    switch effort {
    case .quick: Plan(rounds: 10, size: 500)
    case .full: Plan(rounds: 15, size: 20_000)
    }
  }

  private static let warmUp = 50

  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round {
    let host = try subject.openActors()
    let (caller, callee) = (host.guests[0], rule == .two ? host.guests[1] : host.neighbour)
    let times = Box<[Int64]>([])
    let use = Box<ThreadUse?>(nil)
    let done = DispatchSemaphore(value: 0)
    Task.detached {
      await caller.begin()
      await callee.begin()
      times.value = await caller.callAny(callee, Self.warmUp + size)
      use.value = await ThreadUse(caller.threads, callee.threads)
      done.signal()
    }
    guard done.wait(timeout: .now() + 30) == .success, let use = use.value else { throw .failed("a hop was lost") }
    let threads = try use.check(rule, Self.warmUp + size)
    return Round([Part(times: Array(times.value.dropFirst(Self.warmUp)), gauges: [threads])])
  }
}
