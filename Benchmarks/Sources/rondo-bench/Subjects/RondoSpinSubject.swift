import Rondo
import RondoDaemon

/// Rondo's loops with a budget for spinning before they sleep.
struct RondoSpinSubject: Subject {
  let name = "rondo.spin"
  let summary = "rondo with a busyPollBudget of a second, actors' loops spread; in all else it is rondo"

  func openLoop(posts: Bool) throws(Refusal) -> any BenchLoop {
    RondoLoop(busyPollBudget: .seconds(1))
  }

  func runTimer(hitting meter: TickMeter) throws(Refusal) {
    throw .cannot("differs from rondo in its wakeups alone")
  }

  func openActors() throws(Refusal) -> ActorHost {
    ActorHost(guests: [SpinningActor.shared, SpinningActor.other]) { count, parking in
      for _ in 0..<count { Task { @SpinningActor in await parking.park() } }
    }
  }
}

/// Two threads with a loop each, which spin for one another; the first is the global actor's.
@globalActor
private enum SpinningActor {
  static let threads = {
    let threads = (0..<2).map { try! Rondo.LoopThread(name: "spin \($0)") }
    for thread in threads { thread.loop.busyPollBudget = .seconds(1) }
    try! Loop.spread(threads.map(\.loop))
    return threads
  }()
  static let shared = HostedGuest(threads[0].loop)
  static let other = HostedGuest(threads[1].loop)
}
