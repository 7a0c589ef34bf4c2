public import Rondo

/// A loop in virtual time, for tests: the clock jumps from deadline to deadline.
///
/// It is the same loop, turn for turn, with no syscall: only its wait is scripted. Inside `withVirtualLoop` it stands
/// in for `Loop.current`, and timers made there go by its clock. Handlers may use it, for they run on the thread of the
/// scope, where it belongs: elsewhere its members end the test with a message. What `Loop` itself allows any thread is
/// allowed here too, but foreign wakeups are seen at the next turn.
public final class VirtualLoop: @unchecked Sendable {
  /// The loop itself: add items, post blocks, run it.
  public let loop: Loop
  /// *thread of the scope*
  private let ownScript: ScriptedWait
  private let start: Instant

  init() {
    // A date that looks like a monotonic clock's, away from zero so that earlier instants exist.
    start = Instant(nanoseconds: 1_000_000_000_000)
    ownScript = ScriptedWait(start: start)
    loop = Loop.makeVirtual(ownScript)
  }

  private var script: ScriptedWait {
    contract(loop.isCurrent, "A virtual loop belongs on the thread of its scope. Use what it offers from there.")
    return ownScript
  }

  /// The virtual time that has passed since the scope began.
  public var elapsed: Duration {
    .nanoseconds(script.now.nanoseconds - start.nanoseconds)
  }

  /// The virtual clock.
  public var now: SuspendingClock.Instant {
    script.now.suspending
  }

  /// How often the loop slept.
  public var sleeps: Int { script.sleeps }

  // MARK: - The script

  /// Has `action` happen when `offset` has passed since the scope began, while the loop waits.
  ///
  /// It runs where another thread's doing would be noticed: wake, stop, signal or post from it.
  public func at(_ offset: Duration, _ action: @escaping () -> Void) {
    script.schedule(at: start.advanced(by: offset.saturatingNanoseconds), action)
  }

  /// Makes `source` ready for the loop's next wait, once. With `at`, when that much time has passed.
  public func makeReady(
    _ source: Loop.DescriptorSource, _ readiness: Loop.DescriptorSource.Readiness, at offset: Duration? = nil
  ) {
    guard let offset else { return script.makeReady(source, readiness) }
    let script = script
    at(offset) { script.makeReady(source, readiness) }
  }

  /// Makes the loop's sources of `descriptor` ready for its next wait, once. With `at`, when that much time has passed.
  ///
  /// For what has its descriptor source inside, as a socket source: `virtual.makeReady(socket.descriptor, .read)`.
  public func makeReady(
    _ descriptor: CInt, _ readiness: Loop.DescriptorSource.Readiness, at offset: Duration? = nil
  ) {
    guard let offset else { return script.makeReady(descriptor, readiness) }
    let script = script
    at(offset) { script.makeReady(descriptor, readiness) }
  }

  /// Whether the loop's real descriptors are looked at whenever it waits. False at first.
  ///
  /// Time stays virtual: what a script has sent into a pipe or a socket pair is there when it is looked at, and a test with
  /// real sockets is as exact as one without. Level-triggered, whatever the source says. What another process or thread
  /// sends is not waited for. One poll(2) for each source and direction.
  public var looksAtDescriptors: Bool {
    get { script.looksAtDescriptors }
    set { script.looksAtDescriptors = newValue }
  }

  /// Lets time pass inside a callout, as work would.
  public func spend(_ duration: Duration) {
    script.pass(duration.saturatingNanoseconds)
  }

  // MARK: - Moving on

  /// Serves all that is due, without moving the clock. It ends with a turn that finds nothing to do.
  ///
  /// - Parameter turns: The most turns it may take; a source that signals itself for ever would need more.
  /// - Returns: False if there was still something to do after that many.
  @discardableResult
  public func runUntilIdle(in mode: Loop.Mode = .default, turns: Int = 10_000) -> Bool {
    for _ in 0..<turns {
      let before = callouts
      loop.run(in: mode, for: .zero)
      if callouts == before { return true }
    }
    return false
  }

  /// Jumps to the next timer or scripted event, and serves it.
  ///
  /// - Returns: False if there is none.
  @discardableResult
  public func advanceToNextDeadline(in mode: Loop.Mode = .default) -> Bool {
    let timer = loop.nextFireDate(in: mode).map { Instant($0) } ?? .distantFuture
    let next = min(timer, script.nextEvent)
    guard next != .distantFuture else { return false }
    script.pass(max(0, next.nanoseconds - script.now.nanoseconds))
    runUntilIdle(in: mode)
    return true
  }

  /// Runs the loop for `duration` of virtual time, and ends there. Even if nothing is left to wait for.
  @discardableResult
  public func advance(by duration: Duration, in mode: Loop.Mode = .default) -> Loop.RunResult {
    let end = script.now.advanced(by: duration.saturatingNanoseconds)
    let result = loop.run(in: mode, until: end.suspending)
    if script.now < end { script.pass(end.nanoseconds - script.now.nanoseconds) }
    return result
  }

  /// Callouts other than observers', which come with every turn.
  private var callouts: UInt64 {
    let statistics = loop.statistics
    return statistics.timerCallouts + statistics.sourceCallouts + statistics.descriptorCallouts
      + statistics.blockCallouts + statistics.mainQueueCallouts + statistics.jobCallouts
  }
}

/// Runs `body` with a loop in virtual time that stands in for the thread's own. Not from async code.
@available(*, noasync, message: "A virtual loop belongs to a thread; use it in a synchronous test.")
public func withVirtualLoop<Result>(_ body: (VirtualLoop) throws -> Result) rethrows -> Result {
  let virtual = VirtualLoop()
  return try Loop.withVirtual(virtual.loop) { try body(virtual) }
}
