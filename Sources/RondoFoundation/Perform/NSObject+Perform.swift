public import Foundation

/// NSObject's perform methods, where a method such as `Sensor.poll` replaces the selector.
extension NSObjectProtocol where Self: AnyObject {
  /// Calls `method` of this object with `argument` after `delay` seconds.
  ///
  /// The calling thread's run loop calls it. See performSelector:withObject:afterDelay:inModes:.
  ///
  /// - Parameter name: Identifies the request in `cancelPreviousPerformRequests(withTarget:named:)`, as a selector does.
  @available(*, noasync, message: "An async function has no run loop. Use runLoop.perform(afterDelay:).")
  @discardableResult
  public func perform<Argument>(
    _ method: @escaping (Self) -> (Argument) -> Void, with argument: Argument, afterDelay delay: TimeInterval,
    inModes modes: [RunLoop.Mode] = [.default], named name: String? = nil
  ) -> PerformRequest {
    RunLoop.current.perform(afterDelay: delay, inModes: modes, keeping: self, named: name) { method(self)(argument) }
  }

  /// Calls `method` of this object after `delay` seconds, on the calling thread's run loop.
  ///
  /// - Parameter name: Identifies the request in `cancelPreviousPerformRequests(withTarget:named:)`, as a selector does.
  @available(*, noasync, message: "An async function has no run loop. Use runLoop.perform(afterDelay:).")
  @discardableResult
  public func perform(
    _ method: @escaping (Self) -> () -> Void, afterDelay delay: TimeInterval,
    inModes modes: [RunLoop.Mode] = [.default], named name: String? = nil
  ) -> PerformRequest {
    RunLoop.current.perform(afterDelay: delay, inModes: modes, keeping: self, named: name) { method(self)() }
  }
}

extension NSObjectProtocol where Self: AnyObject & Sendable {
  /// Calls `method` of this object with `argument` on a thread's run loop. Any thread.
  ///
  /// You may call it right after the thread's `start()`: requests wait in order until the thread asks for its run loop.
  /// On that thread itself, `waitUntilDone` calls the method immediately. See
  /// performSelector:onThread:withObject:waitUntilDone:.
  ///
  /// - Throws: `.noRunLoop` if the thread was not started, or has ended; also if you wait, and the thread ends before
  ///   it asks for its run loop. `.loopEnded` if its run loop ended before.
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
  /// Cancels the requests of `target` in the calling thread's run loop.
  ///
  /// See cancelPreviousPerformRequestsWithTarget:.
  @available(*, noasync, message: "An async function has no run loop. Use runLoop.cancelPerformSelectors(withTarget:).")
  public class func cancelPreviousPerformRequests(withTarget target: AnyObject) {
    RunLoop.current.cancelPerformSelectors(withTarget: target)
  }

  /// Cancels the requests of `target` with this name in the calling thread's run loop.
  ///
  /// See cancelPreviousPerformRequestsWithTarget:selector:object:. The name replaces the selector and the object.
  @available(
    *, noasync, message: "An async function has no run loop. Use runLoop.cancelPerformSelectors(withTarget:named:)."
  )
  public class func cancelPreviousPerformRequests(withTarget target: AnyObject, named name: String) {
    RunLoop.current.cancelPerformSelectors(withTarget: target, named: name)
  }
}

extension Thread {
  /// The thread's run loop; nil until the thread has asked for it. Any thread.
  ///
  /// The main thread's and the calling thread's run loop are never nil. An object's
  /// `perform(_:on:with:waitUntilDone:modes:)` does not need it.
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
