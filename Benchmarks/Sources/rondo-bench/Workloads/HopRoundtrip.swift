import CBench
import Dispatch

/// A function of one actor calls another's, on another executor, and comes back.
///
/// Nobody's threads are pinned: two of the subjects run on worker threads, which cannot be.
struct HopRoundtrip: Workload {
  let name = "hop.roundtrip"
  let summary = "an actor calls an actor on another executor and comes back"

  func plan(_ effort: Effort) -> Plan {
    switch effort {
    case .quick: Plan(rounds: 10, size: 500)
    case .full: Plan(rounds: 15, size: 20_000)
    }
  }

  private static let warmUp = 50

  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round {
    let guests = try subject.openActors().guests
    let times = Box<[Int64]>([])
    let done = DispatchSemaphore(value: 0)
    Task.detached {
      times.value = await guests[0].callAny(guests[1], Self.warmUp + size)
      done.signal()
    }
    guard done.wait(timeout: .now() + 30) == .success else { throw .failed("a hop was lost") }
    return Round([Part(times: Array(times.value.dropFirst(Self.warmUp)))])
  }
}
