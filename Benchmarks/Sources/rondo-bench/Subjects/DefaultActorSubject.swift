import CBench

/// A default actor: Swift's own executor, on worker threads. No loop, and nothing else to measure.
struct DefaultActorSubject: Subject {
  let name = "actor"
  let summary = "default actors on the runtime's worker threads, not pinned"

  func openActors() throws(Refusal) -> ActorHost {
    ActorHost(guests: [DefaultActor.shared, DefaultGuest()], neighbour: DefaultGuest()) { count, parking in
      for _ in 0..<count { Task { @DefaultActor in await parking.park() } }
    }
  }
}

private actor DefaultGuest: Guest {
  var threads = bench_threads()
}

@globalActor
private enum DefaultActor {
  static let shared = DefaultGuest()
}
