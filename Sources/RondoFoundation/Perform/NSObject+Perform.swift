public import Foundation

/// The perform family as Apple's NSObject has it, with a method in place of a selector: `Sensor.poll`.
extension NSObjectProtocol where Self: AnyObject {
  /// Calls `method` of this object with `argument` after `delay` seconds. On the calling thread's run loop.
  ///
  /// See performSelector:withObject:afterDelay:inModes:.
  @available(*, noasync, message: "An async function has no run loop. Use runLoop.perform(afterDelay:).")
  @discardableResult
  public func perform<Argument>(
    _ method: @escaping (Self) -> (Argument) -> Void, with argument: Argument, afterDelay delay: TimeInterval,
    inModes modes: [RunLoop.Mode] = [.default]
  ) -> PerformRequest {
    RunLoop.current.perform(afterDelay: delay, inModes: modes, keeping: self) { method(self)(argument) }
  }

  /// Calls `method` of this object after `delay` seconds, on the calling thread's run loop.
  @available(*, noasync, message: "An async function has no run loop. Use runLoop.perform(afterDelay:).")
  @discardableResult
  public func perform(
    _ method: @escaping (Self) -> () -> Void, afterDelay delay: TimeInterval, inModes modes: [RunLoop.Mode] = [.default]
  ) -> PerformRequest {
    RunLoop.current.perform(afterDelay: delay, inModes: modes, keeping: self) { method(self)() }
  }
}

extension NSObjectProtocol where Self: AnyObject & Sendable {
  /// Calls `method` of this object with `argument` on a thread's run loop. Any thread.
  ///
  /// It may follow the thread's `start()` at once: it waits, in order, for the thread to ask for its run loop. On that
  /// thread itself, waiting means calling it at once. See performSelector:onThread:withObject:waitUntilDone:.
  ///
  /// - Throws: `.noRunLoop` if the thread was not started, or has ended, before this or before it asked for its run loop;
  ///   `.loopEnded` if its run loop ended and it was not done.
  @available(*, noasync, message: "This may block the thread until another one is done. Use runLoop.perform { }.")
  public func perform<Argument: Sendable>(
    _ method: @escaping @Sendable (Self) -> (Argument) -> Void, on thread: Thread, with argument: Argument,
    waitUntilDone: Bool, modes: [RunLoop.Mode] = [.common]
  ) throws(PerformError) {
    try thread.perform(inModes: modes, waitUntilDone: waitUntilDone) { method(self)(argument) }
  }

  /// Calls `method` of this object with `argument` on the main thread. Any thread.
  ///
  /// See performSelectorOnMainThread:withObject:waitUntilDone:modes:.
  @available(
    *, noasync, message: "This may block the thread until the main thread is done. Use RunLoop.main.perform { }."
  )
  public func performOnMainThread<Argument: Sendable>(
    _ method: @escaping @Sendable (Self) -> (Argument) -> Void, with argument: Argument, waitUntilDone: Bool,
    modes: [RunLoop.Mode] = [.common]
  ) throws(PerformError) {
    try RunLoop.main.perform(inModes: modes, waitUntilDone: waitUntilDone) { method(self)(argument) }
  }
}

extension NSObject {
  /// Takes back what `target` was to do on the calling thread's run loop.
  ///
  /// See cancelPreviousPerformRequestsWithTarget:.
  @available(*, noasync, message: "An async function has no run loop. Use runLoop.cancelPerformSelectors(withTarget:).")
  public class func cancelPreviousPerformRequests(withTarget target: AnyObject) {
    RunLoop.current.cancelPerformSelectors(withTarget: target)
  }
}

extension Thread {
  /// The thread's run loop, once the thread has asked for it; the main thread's always. Any thread.
  ///
  /// It is nil for a while after `start()`. An object's `perform(_:on:with:waitUntilDone:modes:)` need not wait for it.
  public var runLoop: RunLoop? {
    ThreadDirectory.runLoop(of: self)
  }

  @available(*, noasync)
  fileprivate func perform(
    inModes modes: [RunLoop.Mode], waitUntilDone: Bool, _ block: @Sendable @escaping () -> Void
  ) throws(PerformError) {
    guard !modes.isEmpty else { return }
    if let runLoop { return try runLoop.perform(inModes: modes, waitUntilDone: waitUntilDone, block) }
    let isGiven = PerformRequest.give(block, waits: waitUntilDone) { request in
      ThreadDirectory.post(request, modes: modes, to: self)
    }
    if !isGiven { throw .noRunLoop }
  }
}
