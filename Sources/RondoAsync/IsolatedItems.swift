public import Rondo

// Items whose handlers belong to an actor of the loop. They ask when they join a loop, and the runtime asks at each call.

extension Loop.Timer {
  /// Makes a timer that fires once, `delay` from now, with a handler of `actor`.
  ///
  /// The timer belongs to the loop that is the actor's executor. Adding it to another loop traps.
  ///
  /// - Parameter handler: Called on the loop's thread. It may use the actor's state.
  public static func isolated<A: Actor>(
    to actor: A, after delay: Duration, tolerance: Duration = .zero, order: Int = 0,
    fileID: StaticString = #fileID, line: UInt = #line,
    handler: @escaping @Sendable (isolated A, Tick) -> Void
  ) -> Loop.Timer {
    let handler = IsolatedHandler(actor, handler)
    return DelegatingTimer(after: delay, tolerance: tolerance, order: order, fileID: fileID, line: line) { tick in
      handler.call { actor, handler in handler(actor, tick) }
    }.owned(by: actor)
  }

  /// Makes a timer for `Loop.main` that fires once, with a handler of the main actor.
  public static func isolated(
    to actor: MainActor, after delay: Duration, tolerance: Duration = .zero, order: Int = 0,
    fileID: StaticString = #fileID, line: UInt = #line,
    handler: @escaping @MainActor (Tick) -> Void
  ) -> Loop.Timer {
    DelegatingTimer(after: delay, tolerance: tolerance, order: order, fileID: fileID, line: line) { tick in
      MainActor.assumeIsolated { handler(tick) }
    }.owned(by: actor)
  }

  /// Makes a timer that fires every `interval`, with a handler of `actor`.
  ///
  /// The timer belongs to the loop that is the actor's executor. Adding it to another loop traps.
  ///
  /// - Parameter handler: Called on the loop's thread. It may use the actor's state.
  public static func isolated<A: Actor>(
    to actor: A, every interval: Duration, tolerance: Duration = .zero, order: Int = 0,
    fileID: StaticString = #fileID, line: UInt = #line,
    handler: @escaping @Sendable (isolated A, Tick) -> Void
  ) -> Loop.Timer {
    let handler = IsolatedHandler(actor, handler)
    return DelegatingTimer(every: interval, tolerance: tolerance, order: order, fileID: fileID, line: line) { tick in
      handler.call { actor, handler in handler(actor, tick) }
    }.owned(by: actor)
  }

  /// Makes a repeating timer for `Loop.main`, with a handler of the main actor.
  public static func isolated(
    to actor: MainActor, every interval: Duration, tolerance: Duration = .zero, order: Int = 0,
    fileID: StaticString = #fileID, line: UInt = #line,
    handler: @escaping @MainActor (Tick) -> Void
  ) -> Loop.Timer {
    DelegatingTimer(every: interval, tolerance: tolerance, order: order, fileID: fileID, line: line) { tick in
      MainActor.assumeIsolated { handler(tick) }
    }.owned(by: actor)
  }
}

extension Loop.Observer {
  /// Makes an observer with a handler of `actor`.
  ///
  /// The observer belongs to the loop that is the actor's executor. Adding it to another loop traps.
  ///
  /// - Parameter handler: Called on the loop's thread. It may use the actor's state.
  public static func isolated<A: Actor>(
    to actor: A, _ activities: Loop.Activity, repeats: Bool = true, order: Int = 0,
    fileID: StaticString = #fileID, line: UInt = #line,
    handler: @escaping @Sendable (isolated A, Loop.Activity) -> Void
  ) -> Loop.Observer {
    let handler = IsolatedHandler(actor, handler)
    return DelegatingObserver(activities, repeats: repeats, order: order, fileID: fileID, line: line) { activity in
      handler.call { actor, handler in handler(actor, activity) }
    }.owned(by: actor)
  }

  /// Makes an observer for `Loop.main` with a handler of the main actor.
  public static func isolated(
    to actor: MainActor, _ activities: Loop.Activity, repeats: Bool = true, order: Int = 0,
    fileID: StaticString = #fileID, line: UInt = #line,
    handler: @escaping @MainActor (Loop.Activity) -> Void
  ) -> Loop.Observer {
    DelegatingObserver(activities, repeats: repeats, order: order, fileID: fileID, line: line) { activity in
      MainActor.assumeIsolated { handler(activity) }
    }.owned(by: actor)
  }
}

extension Loop.DescriptorSource {
  /// Makes a source for `descriptor` with a handler of `actor`.
  ///
  /// The source belongs to the loop that is the actor's executor. Adding it to another loop traps.
  ///
  /// - Parameter handler: Called on the loop's thread. It may use the actor's state.
  /// - Throws: `.notOpen` for a negative or closed descriptor, `.notPollable` for a regular file or a directory.
  public static func isolated<A: Actor>(
    to actor: A, _ descriptor: CInt, for interest: Readiness, trigger: Trigger = .level, order: Int = 0,
    closesOnInvalidation: Bool = false, fileID: StaticString = #fileID, line: UInt = #line,
    handler: @escaping @Sendable (isolated A, Loop.DescriptorSource, Readiness) -> Void
  ) throws(Loop.DescriptorError) -> Loop.DescriptorSource {
    let handler = IsolatedHandler(actor, handler)
    return try DelegatingDescriptorSource(
      descriptor, for: interest, trigger: trigger, order: order, closesOnInvalidation: closesOnInvalidation,
      fileID: fileID, line: line
    ) { source, readiness in
      handler.call { actor, handler in handler(actor, source, readiness) }
    }.owned(by: actor)
  }

  /// Makes a descriptor source for `Loop.main` with a handler of the main actor.
  public static func isolated(
    to actor: MainActor, _ descriptor: CInt, for interest: Readiness, trigger: Trigger = .level, order: Int = 0,
    closesOnInvalidation: Bool = false, fileID: StaticString = #fileID, line: UInt = #line,
    handler: @escaping @MainActor (Loop.DescriptorSource, Readiness) -> Void
  ) throws(Loop.DescriptorError) -> Loop.DescriptorSource {
    try DelegatingDescriptorSource(
      descriptor, for: interest, trigger: trigger, order: order, closesOnInvalidation: closesOnInvalidation,
      fileID: fileID, line: line
    ) { source, readiness in
      MainActor.assumeIsolated { handler(source, readiness) }
    }.owned(by: actor)
  }
}

extension Loop.Source {
  /// Makes a source whose `perform` belongs to `actor`.
  ///
  /// The source belongs to the loop that is the actor's executor. Adding it to another loop traps.
  ///
  /// - Parameter perform: Called on the loop's thread. It may use the actor's state.
  public static func isolated<A: Actor>(
    to actor: A, order: Int = 0, fileID: StaticString = #fileID, line: UInt = #line,
    perform: @escaping @Sendable (isolated A) -> Void
  ) -> Loop.Source {
    let handler = IsolatedHandler(actor, perform)
    return DelegatingSource(order: order, fileID: fileID, line: line) {
      handler.call { actor, perform in perform(actor) }
    }.owned(by: actor)
  }

  /// Makes a source for `Loop.main` with a `perform` of the main actor.
  public static func isolated(
    to actor: MainActor, order: Int = 0, fileID: StaticString = #fileID, line: UInt = #line,
    perform: @escaping @MainActor () -> Void
  ) -> Loop.Source {
    DelegatingSource(order: order, fileID: fileID, line: line) {
      MainActor.assumeIsolated { perform() }
    }.owned(by: actor)
  }
}

/// A handler of an actor, as a loop calls it: on a thread that the actor may be assumed on, which each call checks.
struct IsolatedHandler<A: Actor, Handler: Sendable>: Sendable {
  private let actor: A
  private let handler: Handler

  init(_ actor: A, _ handler: Handler) {
    self.actor = actor
    self.handler = handler
  }

  func call(_ body: @Sendable (isolated A, Handler) -> Void) {
    actor.assumeIsolated { actor in body(actor, handler) }
  }
}

extension DelegatingItem {
  fileprivate func owned(by actor: any Actor) -> Self {
    checkLoop = HandlerOwner(actor).check
    return self
  }
}
