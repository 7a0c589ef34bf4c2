public import Rondo

/// Blocks and timeouts of an actor of the loop.
extension Loop {
  /// Runs `block` once on the loop's thread, isolated to `actor`. Any thread.
  ///
  /// The loop must be the actor's executor; otherwise the call traps immediately. See `perform(in:waking:_:)`.
  ///
  /// - Returns: False if the loop's thread has ended. The block is then dropped.
  @discardableResult
  public func perform<A: Actor>(
    isolatedTo actor: A, in mode: Mode = .default, _ block: @escaping @Sendable (isolated A) -> Void
  ) -> Bool {
    HandlerOwner(actor).check(self)
    let handler = IsolatedHandler(actor, block)
    return perform(in: mode) {
      handler.call { actor, block in block(actor) }
    }
  }

  /// Runs `block` once on `Loop.main`, isolated to the main actor.
  @discardableResult
  public func perform(
    isolatedTo actor: MainActor, in mode: Mode = .default, _ block: @escaping @MainActor () -> Void
  ) -> Bool {
    HandlerOwner(actor).check(self)
    return perform(in: mode) { MainActor.assumeIsolated { block() } }
  }

  /// Makes a timeout with a handler of `actor`. The loop's thread.
  ///
  /// The loop must be the actor's executor; otherwise the call traps immediately. See
  /// `makeTimeout(after:tolerance:in:handler:)`.
  public func makeTimeout<A: Actor>(
    isolatedTo actor: A, after delay: Duration? = nil, tolerance: Duration = .zero, in mode: Mode = .default,
    handler: @escaping @Sendable (isolated A) -> Void
  ) -> Timeout {
    HandlerOwner(actor).check(self)
    let handler = IsolatedHandler(actor, handler)
    return makeTimeout(after: delay, tolerance: tolerance, in: mode) { [handler] in
      handler.call { actor, handler in handler(actor) }
    }
  }

  /// Makes a timeout of `Loop.main` with a handler of the main actor.
  public func makeTimeout(
    isolatedTo actor: MainActor, after delay: Duration? = nil, tolerance: Duration = .zero, in mode: Mode = .default,
    handler: @escaping @MainActor () -> Void
  ) -> Timeout {
    HandlerOwner(actor).check(self)
    return makeTimeout(after: delay, tolerance: tolerance, in: mode) { MainActor.assumeIsolated { handler() } }
  }
}
