import Rondo

/// Rondo's loops with a budget for spinning before they sleep.
struct RondoSpinSubject: Subject {
  let name = "rondo.spin"
  let summary = "rondo with a busyPollBudget of all of each second; in all else it is rondo"

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
  static let threads = (0..<2).map { number in
    let thread = try! Rondo.LoopThread(name: "spin \(number)")
    thread.loop.busyPollBudget = .seconds(1)
    return thread
  }
  static let shared = HostedGuest(threads[0].loop)
  static let other = HostedGuest(threads[1].loop)
}
