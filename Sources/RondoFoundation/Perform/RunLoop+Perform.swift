public import Foundation
public import Rondo

/// Why nothing could be performed on a thread.
public enum PerformError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The loop has ended, or ended before it came to it.
  case loopEnded
  /// The thread has not been started, or has ended.
  ///
  /// One that Foundation did not start has no run loop until it asks for it.
  case noRunLoop

  public var description: String {
    switch self {
    case .loopEnded: "the run loop ended before it came to it"
    case .noRunLoop: "the thread has no run loop: it has not been started, or has ended"
    }
  }
}

/// The perform family of Apple's NSObject and NSRunLoop, for closures.
///
/// Each request is an input source of its own: it wakes the loop, is served in the order of requests, and lets
/// `run(mode:before:)` return. Of no modes, it is never done.
extension RunLoop {
  /// Runs `block` once, in whichever of `modes` is served first. Waits until it is done if told to. Any thread.
  ///
  /// On the loop's own thread, waiting means running it at once. Elsewhere the wait lasts no longer than the loop. See
  /// performSelector:onThread:withObject:waitUntilDone:modes:.
  ///
  /// - Throws: `.loopEnded` if it was not, or is not going to be, done.
  @available(*, noasync, message: "This may block the thread until another one is done. Use perform(inModes:block:).")
  public func perform(
    inModes modes: [Mode] = [.common], waitUntilDone: Bool, _ block: @Sendable @escaping () -> Void
  ) throws(PerformError) {
    guard !modes.isEmpty else { return }
    if waitUntilDone, getLoop().isCurrent { return block() }
    let isGiven = PerformRequest.give(block, waits: waitUntilDone) { request in
      post(request, order: 0, modes: modes, target: nil)
    }
    if !isGiven { throw .loopEnded }
  }

  /// Runs `block` once, `delay` seconds from now, in whichever of `modes` is served first. Any thread.
  ///
  /// See performSelector:withObject:afterDelay:inModes:.
  ///
  /// - Parameter target: Kept until it is over; names the request for `cancelPerformSelectors(withTarget:)`.
  @discardableResult
  public func perform(
    afterDelay delay: TimeInterval, inModes modes: [Mode] = [.default], target: AnyObject? = nil,
    _ block: @Sendable @escaping () -> Void
  ) -> PerformRequest {
    perform(afterDelay: delay, inModes: modes, keeping: target, block)
  }

  /// Calls `method` of `target` with `argument` in the next turn. In whichever of `modes` is served first. Any thread.
  ///
  /// See performSelector:target:argument:order:modes:.
  ///
  /// - Parameter order: Decides between requests that wait for the same turn, lower first.
  @discardableResult
  public func perform<Target: AnyObject & Sendable, Argument: Sendable>(
    _ method: @escaping @Sendable (Target) -> (Argument) -> Void, target: Target, argument: Argument, order: Int = 0,
    modes: [Mode] = [.default]
  ) -> PerformRequest {
    let request = PerformRequest { method(target)(argument) }
    post(request, order: order, modes: modes, target: target)
    return request
  }

  /// Takes back every request that names `target`, those after a delay among them. Any thread.
  ///
  /// See cancelPerformSelectorsWithTarget:.
  public func cancelPerformSelectors(withTarget target: AnyObject) {
    requests.cancel(ObjectIdentifier(target))
  }

  /// Takes a request back; another loop's is taken back all the same. See cancelPerformSelector:target:argument:.
  public func cancelPerform(_ request: PerformRequest) {
    request.cancel()
  }

  // MARK: - Requests

  func perform(
    afterDelay delay: TimeInterval, inModes modes: [Mode], keeping target: AnyObject?, _ block: @escaping () -> Void
  ) -> PerformRequest {
    contract(!delay.isNaN, "A delay is a number of seconds, not NaN.")
    let request = PerformRequest {
      block()
      withExtendedLifetime(target) {}
    }
    let lifeline = PerformLifeline(request, target: target.map { ObjectIdentifier($0) }, requests)
    let timer = Loop.Timer(after: Duration(rounding: max(delay, 0))) { _ in lifeline.request.run() }
    request.attach(timer)
    add(timer, modes)
    return request
  }

  @discardableResult
  func post(_ request: PerformRequest, order: Int, modes: [Mode], target: AnyObject?) -> Bool {
    let lifeline = PerformLifeline(request, target: target.map { ObjectIdentifier($0) }, requests)
    let source = Loop.Source(order: order) { lifeline.request.run() }
    request.attach(source)
    guard add(source, modes) else { return false }
    source.signal()
    return true
  }

  /// - Returns: Whether the loop has it now; otherwise it dies with the caller's reference.
  @discardableResult
  private func add(_ item: Loop.Item, _ modes: [Mode]) -> Bool {
    modes.reduce(false) { isMember, mode in add(item, forMode: mode) || isMember }
  }
}

extension LoopThread {
  /// The thread's run loop: one for the thread's life.
  public var runLoop: RunLoop { .of(loop) }
}
