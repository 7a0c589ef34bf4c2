public import Foundation
public import Rondo

/// The reason why a thread did not perform a request.
public enum PerformError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The loop ended before it performed the request.
  case loopEnded
  /// The thread has not been started, or has ended.
  ///
  /// A thread that Foundation did not start has no run loop until it asks for its loop.
  case noRunLoop

  public var description: String {
    switch self {
    case .loopEnded: "the run loop ended before it came to it"
    case .noRunLoop: "the thread has no run loop: it has not been started, or has ended"
    }
  }
}

/// NSObject's and NSRunLoop's perform methods, for closures.
///
/// Each request without a delay is an input source: it wakes the loop, and ends a `run(mode:before:)`. The loop
/// performs requests in order. Without a mode, a request is never performed.
extension RunLoop {
  /// Runs `block` once, in the first of `modes` that runs. Any thread.
  ///
  /// If `waitUntilDone` is true, it blocks until the block has run or the loop has ended. On the loop's own thread, it
  /// runs the block immediately instead. See performSelector:onThread:withObject:waitUntilDone:modes:.
  ///
  /// - Throws: `.loopEnded` if the block did not run, or cannot run any more.
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

  /// Runs `block` once, after `delay` seconds, in the first of `modes` that runs.
  ///
  /// Any thread. See performSelector:withObject:afterDelay:inModes:.
  ///
  /// - Parameters:
  ///   - target: Identifies the request in `cancelPerformSelectors(withTarget:)`. Kept until the request ends.
  ///   - name: Identifies the request in `cancelPerformSelectors(withTarget:named:)`, as a selector does.
  @discardableResult
  public func perform(
    afterDelay delay: TimeInterval, inModes modes: [Mode] = [.default], target: AnyObject? = nil,
    named name: String? = nil, _ block: @Sendable @escaping () -> Void
  ) -> PerformRequest {
    perform(afterDelay: delay, inModes: modes, keeping: target, named: name, block)
  }

  /// Calls `method` of `target` with `argument` in the next turn. Any thread.
  ///
  /// The loop calls it in the first of `modes` that runs. See performSelector:target:argument:order:modes:.
  ///
  /// - Parameters:
  ///   - order: Decides between requests of the same turn: lower comes first.
  ///   - name: Identifies the request in `cancelPerformSelectors(withTarget:named:)`, as a selector does.
  @discardableResult
  public func perform<Target: AnyObject & Sendable, Argument: Sendable>(
    _ method: @escaping @Sendable (Target) -> (Argument) -> Void, target: Target, argument: Argument, order: Int = 0,
    modes: [Mode] = [.default], named name: String? = nil
  ) -> PerformRequest {
    let request = PerformRequest(named: name) { method(target)(argument) }
    post(request, order: order, modes: modes, target: target)
    return request
  }

  /// Cancels every request of `target`, with and without a delay. Any thread.
  ///
  /// See cancelPerformSelectorsWithTarget:.
  public func cancelPerformSelectors(withTarget target: AnyObject) {
    requests.cancel(ObjectIdentifier(target))
  }

  /// Cancels the requests of `target` that have this name. Any thread.
  ///
  /// See cancelPerformSelector:target:argument:. A method in Swift has no identity, so the name replaces the selector.
  public func cancelPerformSelectors(withTarget target: AnyObject, named name: String) {
    requests.cancel(ObjectIdentifier(target), named: name)
  }

  /// Cancels a request, even a request of another loop. Any thread.
  public func cancelPerform(_ request: PerformRequest) {
    request.cancel()
  }

  // MARK: - Requests

  func perform(
    afterDelay delay: TimeInterval, inModes modes: [Mode], keeping target: AnyObject?, named name: String?,
    _ block: @escaping () -> Void
  ) -> PerformRequest {
    require(!delay.isNaN, "A delay is a number of seconds, not NaN.")
    let request = PerformRequest(named: name) {
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
  /// The thread's run loop. It stays the same.
  public var runLoop: RunLoop { .of(loop) }
}
