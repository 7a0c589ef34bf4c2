/// A default actor: Swift's own executor, on worker threads. No loop, and nothing else to measure.
struct DefaultActorSubject: Subject {
  let name = "actor"
  let summary = "default actors on the runtime's worker threads, not pinned"

  func openActors() throws(Refusal) -> ActorHost {
    ActorHost(guests: [DefaultActor.shared, DefaultGuest()]) { count, parking in
      for _ in 0..<count { Task { @DefaultActor in await parking.park() } }
    }
  }
}

private actor DefaultGuest: Guest {
  var visits = 0
}

@globalActor
private enum DefaultActor {
  static let shared = DefaultGuest()
}
