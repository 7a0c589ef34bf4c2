public import Foundation
public import Rondo
import Synchronization

/// Foundation's RunLoop, on Rondo: the same members and results, and what Foundation on Linux lacks.
///
/// A thread has one, made when first asked for. Only its own thread runs it; everything else may be called from any
/// thread. See NSRunLoop.
open class RunLoop: NSObject, @unchecked Sendable {
  /// Foundation's own type, so that its other interfaces take the same modes.
  public typealias Mode = Foundation.RunLoop.Mode

  /// *constant*
  private let loop: Loop
  /// *loop thread* The thread's notification queue, once somebody asked for it.
  var defaultQueue: NotificationQueue?
  /// *constant* What can be taken back by its target.
  let requests = PerformRequests()
  /// *constant* What has Foundation's loop of the thread, if there is one, and this one serve each other.
  let bridge: FoundationBridge
  /// *atomic* Whether the thread's directory has it.
  let isEntered = Atomic<Bool>(false)

  private init(_ loop: Loop) {
    self.loop = loop
    bridge = FoundationBridge(loop)
  }

  /// The calling thread's run loop, made on first use.
  @available(*, noasync, message: "An async function has no thread of its own. Keep the RunLoop you mean, or use main.")
  open class var current: RunLoop {
    of(Loop.current)
  }

  /// The main thread's run loop, from any thread.
  open class var main: RunLoop {
    of(Loop.main)
  }

  /// The run loop that stands on `loop`: one for each.
  public static func of(_ loop: Loop) -> RunLoop {
    let runLoop = loop.companion { RunLoop(loop) }
    ThreadDirectory.enter(runLoop, on: loop)
    runLoop.bridge.attachForCaller()
    return runLoop
  }

  /// The loop underneath, for what Foundation has no name for; the counterpart of `getCFRunLoop()`. Any thread.
  public final func getLoop() -> Loop {
    // Whoever has kept the run loop may leave something in it, too.
    bridge.attachForCaller()
    return loop
  }

  /// The mode of the innermost run; nil while it is not running. Any thread.
  open var currentMode: Mode? {
    loop.currentMode.map { Mode($0) }
  }

  // MARK: - Items

  /// Adds a timer to a mode; a timer can be in one loop. Any thread. O(log n).
  open func add(_ timer: Timer, forMode mode: Mode) {
    timer.schedule(in: getLoop(), forMode: Loop.Mode(mode))
  }

  // MARK: - Polling

  /// Serves what is ready in `mode` and tells when its next timer is due.
  ///
  /// - Returns: `.distantFuture` if the mode has no timer, nil if it has nothing at all or on another thread.
  open func limitDate(forMode mode: Mode) -> Date? {
    guard loop.isCurrent, mode != .common else { return nil }
    let mode = Loop.Mode(mode)
    bridge.welcome(mode)
    loop.run(in: mode, for: .zero, returnAfterSourceHandled: true)
    guard !loop.isFinished(mode) else { return nil }
    guard let next = loop.nextFireDate(in: mode) else { return .distantFuture }
    return Date(timeIntervalSinceNow: loop.clock.now.duration(to: next).timeInterval)
  }

  /// Runs `mode` until a source was handled or `limitDate` has passed. Elsewhere than on its own thread, does nothing.
  @available(*, noasync, message: "Running a loop blocks its thread. Call it from a synchronous function.")
  open func acceptInput(forMode mode: String, before limitDate: Date) {
    guard loop.isCurrent, mode != Mode.common.rawValue else { return }
    bridge.welcome(Loop.Mode(rawValue: mode))
    runOnce(Loop.Mode(rawValue: mode), before: limitDate)
  }
}

// MARK: - Running

extension RunLoop {
  /// Runs the default mode until it is stopped or nothing is left in it. Elsewhere than on its own thread, does nothing.
  @available(*, noasync, message: "Running a loop blocks its thread. Call it from a synchronous function.")
  public func run() {
    guard loop.isCurrent else { return }
    loop.run()
    bridge.attachForFoundation()
  }

  /// Runs the default mode until `limitDate`, until it is stopped, or has nothing left.
  @available(*, noasync, message: "Running a loop blocks its thread. Call it from a synchronous function.")
  public func run(until limitDate: Date) {
    guard loop.isCurrent else { return }
    defer { bridge.attachForFoundation() }
    // The wall clock may be a little behind the one that waits; a virtual clock has nothing to do with it.
    while true {
      let result = loop.run(in: .default, limit: limitDate, returnAfterSourceHandled: false)
      guard result == .timedOut, !loop.isVirtual, limitDate.timeIntervalSinceNow > 0 else { return }
    }
  }

  /// Runs `mode` until a source was handled, until `limitDate`, or until it is stopped. A timer does not end it.
  ///
  /// - Returns: False without having run if nothing is in the mode, or on another thread.
  @available(*, noasync, message: "Running a loop blocks its thread. Call it from a synchronous function.")
  @discardableResult
  public func run(mode: Mode, before limitDate: Date) -> Bool {
    guard loop.isCurrent, mode != .common else { return false }
    let mode = Loop.Mode(mode)
    bridge.welcome(mode)
    guard !loop.isFinished(mode) else { return false }
    runOnce(mode, before: limitDate)
    return true
  }

  private func runOnce(_ mode: Loop.Mode, before limitDate: Date) {
    loop.run(in: mode, limit: limitDate, returnAfterSourceHandled: true)
    bridge.attachForFoundation()
  }

  /// Ends the run under way, the innermost if runs are nested. Any thread.
  ///
  /// A loop that is not running ignores it; `getLoop().requestStop()` also ends a run that is yet to begin. See
  /// CFRunLoopStop.
  public func stop() {
    loop.stop()
  }

  /// Has a sleeping loop go round once more. Any thread. See CFRunLoopWakeUp.
  public func wakeUp() {
    loop.wakeUp()
  }
}

// MARK: - Blocks

extension RunLoop {
  /// Runs `block` once, in a run of one of `modes`. What was posted before goes first. It wakes the loop. Any thread.
  ///
  /// In no mode, it never runs. Foundation leaves a sleeping loop asleep.
  public func perform(inModes modes: [Mode], block: @Sendable @escaping () -> Void) {
    guard !modes.isEmpty else { return }
    getLoop().perform(in: modes.map { Loop.Mode($0) }, block)
  }

  /// Runs `block` once, while the loop runs in the default mode. Any thread.
  public func perform(_ block: @Sendable @escaping () -> Void) {
    getLoop().perform(in: .default, block)
  }
}
