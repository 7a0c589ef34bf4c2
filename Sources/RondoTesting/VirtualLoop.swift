public import Rondo
internal import RondoInspect

/// A loop in virtual time, for tests: the clock jumps from deadline to deadline.
///
/// It runs the same turns as a real loop, but makes no system call: its wait is scripted. Inside `withVirtualLoop` it
/// is `Loop.current`, and timers made there use its clock. Use its members on the thread of the scope, also in
/// handlers; on another thread they end the test with a message. The members of `Loop` that any thread may use work
/// here too, but the loop sees wakeups from other threads at its next turn.
public final class VirtualLoop: @unchecked Sendable {
  /// The loop itself: add items, post blocks, run it.
  public let loop: Loop
  /// *thread of the scope*
  private let ownScript: Script
  /// A date that looks like a monotonic clock's, away from zero so that earlier instants exist.
  static let start = Instant(nanoseconds: 1_000_000_000_000)
  /// The seed that picks the orders which the contract leaves open.
  ///
  /// Nil for the documented orders.
  public let seed: Seed?

  init(_ seed: Seed?) {
    self.seed = seed
    ownScript = Script(start: Self.start, seed: seed)
    loop = Loop.makeVirtual(ownScript)
  }

  /// Runs the body of the scope.
  fileprivate func watched<Result>(_ body: () throws -> Result) rethrows -> Result {
    let thread = ThreadState.ownNumber
    return try Loop.within(ScopeOfTasks()) {
      try RealTimeWatch.during(
        ownScript.timeline, thread: { thread }, isRunning: { [loop] in loop.heartbeat.depth > 0 }, body)
    }
  }

  private var script: Script {
    require(loop.isCurrent, "A virtual loop belongs on the thread of its scope. Use what it offers from there.")
    return ownScript
  }

  /// The virtual time since the scope began.
  public var elapsed: Duration {
    .nanoseconds(script.now.nanoseconds - Self.start.nanoseconds)
  }

  /// The present date of the virtual clock.
  public var now: SuspendingClock.Instant {
    script.now.suspending
  }

  /// How often the loop has slept.
  public var sleeps: Int { script.sleeps }

  // MARK: - The script

  /// Calls `action` when `offset` has passed since the scope began, during a wait.
  ///
  /// The action takes the place of another thread: let it wake, stop, signal or post.
  public func at(_ offset: Duration, _ action: @escaping () -> Void) {
    let timeline = script.timeline
    timeline.schedule(at: Self.start.advanced(by: offset.saturatingNanoseconds)) {
      timeline.noteEvent { "the test's action" }
      action()
    }
  }

  /// Makes `source` ready for one wait of the loop: the next, or at `offset`.
  public func makeReady(
    _ source: Loop.DescriptorSource, _ readiness: Loop.DescriptorSource.Readiness, at offset: Duration? = nil
  ) {
    guard let offset else { return script.makeReady(source, readiness) }
    let script = script
    at(offset) { script.makeReady(source, readiness) }
  }

  /// Makes the loop's sources of `descriptor` ready for one wait.
  ///
  /// With `at`, they are ready when that time has passed since the scope began; else in the next wait. Use it for a
  /// source that contains a descriptor source: `virtual.makeReady(socket.descriptor, .read)`.
  public func makeReady(
    _ descriptor: CInt, _ readiness: Loop.DescriptorSource.Readiness, at offset: Duration? = nil
  ) {
    guard let offset else { return script.makeReady(descriptor, readiness) }
    let script = script
    at(offset) { script.makeReady(descriptor, readiness) }
  }

  /// Whether each wait polls the loop's real descriptors. False at first.
  ///
  /// Time stays virtual. Data that a test has written into a pipe or a socket pair is there in the next wait, so a test
  /// with real sockets is as exact as one without. All sources act as level-triggered. The loop does not wait for data
  /// of another process or thread. Costs one poll(2) for each source and direction.
  public var looksAtDescriptors: Bool {
    get { script.looksAtDescriptors }
    set { script.looksAtDescriptors = newValue }
  }

  /// Moves the clock forward inside a callout, as work would.
  public func spend(_ duration: Duration) {
    script.timeline.advance(to: script.now.advanced(by: duration.saturatingNanoseconds))
  }

  // MARK: - Moving on

  /// Serves everything that is due, without moving the clock. The last turn does nothing.
  ///
  /// - Parameter turns: The most turns; a source that signals itself in each perform needs more.
  /// - Returns: False if work was left after that many turns.
  @discardableResult
  public func runUntilIdle(in mode: Loop.Mode = .default, turns: Int = 10_000) -> Bool {
    for _ in 0..<turns {
      let before = loop.callouts
      loop.run(in: mode, for: .zero)
      if loop.callouts == before { return true }
    }
    return false
  }

  /// Jumps to the next timer or scripted event, and serves it.
  ///
  /// - Returns: False if there is none.
  @discardableResult
  public func advanceToNextDeadline(in mode: Loop.Mode = .default) -> Bool {
    let timer = loop.nextFireDate(in: mode).map { Instant($0) } ?? .distantFuture
    let next = min(timer, script.timeline.nextEvent)
    guard next != .distantFuture else { return false }
    script.timeline.advance(to: next)
    runUntilIdle(in: mode)
    return true
  }

  /// Runs the loop for `duration` of virtual time, even with an empty mode.
  ///
  /// At the end it runs the jobs of tasks until none is left.
  @discardableResult
  public func advance(by duration: Duration, in mode: Loop.Mode = .default) -> Loop.RunResult {
    let end = script.now.advanced(by: duration.saturatingNanoseconds)
    let result = loop.run(in: mode, until: end.suspending)
    script.timeline.advance(to: end)
    // A task that slept until now goes on by several jobs, if it goes from one executor to another.
    while loop.hasJobs(in: mode) { loop.run(in: mode, for: .zero) }
    return result
  }
}

/// Runs `body` with a loop in virtual time as the thread's current loop. Not from async code.
///
/// - Parameter seed: Picks the order where the loop's contract leaves it open: of ready descriptors and of signalled
///   sources of one order, of timers of one date and order, of jobs of one priority, and of scripted events of one
///   moment. Nil for the documented order.
@available(*, noasync, message: "A virtual loop belongs to a thread; use it in a synchronous test.")
public func withVirtualLoop<Result>(
  seed: Seed? = Seed.current, _ body: (VirtualLoop) throws -> Result
) rethrows -> Result {
  let virtual = VirtualLoop(seed)
  return try virtual.watched { try Loop.withVirtual(virtual.loop) { try body(virtual) } }
}
