import Rondo
import RondoDaemon

/// Rondo's loops with another budget for spinning before they sleep than the one that they begin with.
struct RondoSpinSubject: Subject {
  let name: String
  let summary: String
  private let budget: Duration

  static let most = RondoSpinSubject("rondo.spin", .seconds(1), "a second, actors' loops spread")
  static let none = RondoSpinSubject("rondo.still", .zero, "zero")

  private init(_ name: String, _ budget: Duration, _ words: String) {
    (self.name, self.budget) = (name, budget)
    summary = "rondo with a busyPollBudget of \(words); in all else it is rondo"
  }

  func openLoop(posts: Bool) throws(Refusal) -> any BenchLoop {
    RondoLoop(busyPollBudget: budget)
  }

  func runTimer(hitting meter: TickMeter) throws(Refusal) {
    throw .cannot("differs from rondo in its wakeups alone")
  }

  func openActors() throws(Refusal) -> ActorHost {
    if budget == .zero { throw .cannot("differs from rondo in the wakeups of its own loops alone") }
    return ActorHost(guests: [SpinningActor.shared, SpinningActor.other], neighbour: SpinningActor.neighbour) {
      count, parking in
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
  static let neighbour = HostedGuest(threads[0].loop)
}
