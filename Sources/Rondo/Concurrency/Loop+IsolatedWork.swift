/// Blocks and timeouts of an actor of the loop.
extension Loop {
  /// Runs `block` once on the loop's thread, with the actor. The actor's executor is the loop; see
  /// `perform(in:waking:_:)`.
  ///
  /// Any thread. Traps at once if the actor does not run on this loop.
  ///
  /// - Returns: False if the loop's thread is gone; the block is then dropped.
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

  /// The same with a block of the main actor, on `Loop.main`.
  @discardableResult
  public func perform(
    isolatedTo actor: MainActor, in mode: Mode = .default, _ block: @escaping @MainActor () -> Void
  ) -> Bool {
    HandlerOwner(actor).check(self)
    return perform(in: mode) { MainActor.assumeIsolated { block() } }
  }

  /// Makes a timeout with a handler of `actor`, whose executor is the loop; see `makeTimeout(after:tolerance:in:handler:)`.
  ///
  /// The loop's thread. Traps at once if the actor does not run on this loop.
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

  /// The same with a handler of the main actor, on `Loop.main`.
  public func makeTimeout(
    isolatedTo actor: MainActor, after delay: Duration? = nil, tolerance: Duration = .zero, in mode: Mode = .default,
    handler: @escaping @MainActor () -> Void
  ) -> Timeout {
    HandlerOwner(actor).check(self)
    return makeTimeout(after: delay, tolerance: tolerance, in: mode) { MainActor.assumeIsolated { handler() } }
  }
}
