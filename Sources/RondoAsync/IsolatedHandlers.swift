internal import Rondo

// Handlers of an actor whose executor is a loop, for whatever a loop calls: items, blocks, timeouts, and the sources of
// other products. One function for each number of arguments: with a parameter pack, closures are not inferred isolated.

/// Makes a handler of `actor`, which may use the actor's state.
///
/// Give it to an item, a block or a timeout of the loop that is the actor's executor. On another loop's thread, the
/// call of the handler ends the program.
///
/// ```swift
/// loop.add(try SignalSource(SIGHUP, handler: isolated(to: self) { server, _, _ in server.reload() }))
/// ```
public func isolated<A: Actor>(
  to actor: A, _ handler: @escaping @Sendable (isolated A) -> Void
) -> @Sendable () -> Void {
  let owner = HandlerOwner(actor)
  return {
    owner.check()
    actor.assumeIsolated { actor in handler(actor) }
  }
}

/// Makes a handler of `actor` with an argument; see ``isolated(to:_:)-(A,_)``.
public func isolated<A: Actor, Argument>(
  to actor: A, _ handler: @escaping @Sendable (isolated A, Argument) -> Void
) -> @Sendable (Argument) -> Void {
  let owner = HandlerOwner(actor)
  return { argument in
    owner.check()
    // It stays on this thread.
    nonisolated(unsafe) let argument = argument
    actor.assumeIsolated { actor in unsafe handler(actor, argument) }
  }
}

/// Makes a handler of `actor` with two arguments; see ``isolated(to:_:)-(A,_)``.
public func isolated<A: Actor, First, Second>(
  to actor: A, _ handler: @escaping @Sendable (isolated A, First, Second) -> Void
) -> @Sendable (First, Second) -> Void {
  let owner = HandlerOwner(actor)
  return { first, second in
    owner.check()
    nonisolated(unsafe) let (first, second) = (first, second)
    actor.assumeIsolated { actor in unsafe handler(actor, first, second) }
  }
}

/// Makes a handler of the main actor, for `Loop.main`.
///
/// On another loop's thread, the call of the handler ends the program.
///
/// ```swift
/// Loop.main.add(Loop.Timer(every: .seconds(1), handler: isolated(to: .shared) { _ in self.ticks += 1 }))
/// ```
public func isolated(to actor: MainActor, _ handler: @escaping @MainActor () -> Void) -> @Sendable () -> Void {
  let owner = HandlerOwner(actor)
  return {
    owner.check()
    MainActor.assumeIsolated { handler() }
  }
}

/// Makes a handler of the main actor with an argument; see ``isolated(to:_:)-(MainActor,_)``.
public func isolated<Argument>(
  to actor: MainActor, _ handler: @escaping @MainActor (Argument) -> Void
) -> @Sendable (Argument) -> Void {
  let owner = HandlerOwner(actor)
  return { argument in
    owner.check()
    nonisolated(unsafe) let argument = argument
    MainActor.assumeIsolated { unsafe handler(argument) }
  }
}

/// Makes a handler of the main actor with two arguments; see ``isolated(to:_:)-(MainActor,_)``.
public func isolated<First, Second>(
  to actor: MainActor, _ handler: @escaping @MainActor (First, Second) -> Void
) -> @Sendable (First, Second) -> Void {
  let owner = HandlerOwner(actor)
  return { first, second in
    owner.check()
    nonisolated(unsafe) let (first, second) = (first, second)
    MainActor.assumeIsolated { unsafe handler(first, second) }
  }
}
