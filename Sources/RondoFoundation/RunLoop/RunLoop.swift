public import Foundation
public import Rondo
import Synchronization

/// Foundation's RunLoop, on Rondo, with Apple's members that Foundation on Linux lacks.
///
/// A thread has one run loop, made when you first ask for it. Only its own thread can run it. Use the other members
/// from any thread, unless they say otherwise. See NSRunLoop.
open class RunLoop: NSObject, LoopProviding, @unchecked Sendable {
  /// Foundation's own type, which its other interfaces take.
  public typealias Mode = Foundation.RunLoop.Mode

  /// *constant*
  private let loop: Loop
  /// *loop thread* The thread's notification queue, once a caller asked for it.
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

  /// The run loop of `loop`. Each loop has one.
  public static func of(_ loop: Loop) -> RunLoop {
    let runLoop = loop.companion { RunLoop(loop) }
    ThreadDirectory.enter(runLoop, on: loop)
    runLoop.bridge.attachForCaller()
    return runLoop
  }

  /// Returns the Rondo loop that this run loop is. Any thread.
  ///
  /// With `import RondoCoreFoundation`, `getCFRunLoop()` returns the same loop as a CFRunLoop.
  public final func getLoop() -> Loop {
    // A caller that has kept the run loop may leave something in it, too.
    bridge.attachForCaller()
    return loop
  }

  /// The text of the loop: its modes, and its items with their orders and dates. Any thread.
  open override var description: String { loop.description }

  /// The mode of the innermost run; nil while it is not running. Any thread.
  open var currentMode: Mode? {
    loop.currentMode.map { Mode($0) }
  }

  // MARK: - Items

  /// Adds a timer to a mode. Any thread. O(log n).
  ///
  /// A timer is in one loop at a time.
  open func add(_ timer: Timer, forMode mode: Mode) {
    timer.schedule(in: getLoop(), forMode: Loop.Mode(mode))
  }

  // MARK: - Polling

  /// Serves what is ready in `mode`, and returns the date of its next timer.
  ///
  /// - Returns: `.distantFuture` if the mode has no timer. Nil if the mode is empty, if it is `.common`, or on another
  ///   thread than the loop's own.
  open func limitDate(forMode mode: Mode) -> Date? {
    guard loop.isCurrent, mode != .common else { return nil }
    let mode = Loop.Mode(mode)
    bridge.welcome(mode)
    loop.run(in: mode, for: .zero, returnAfterSourceHandled: true)
    guard !loop.isFinished(mode) else { return nil }
    guard let next = loop.nextFireDate(in: mode) else { return .distantFuture }
    return Date(timeIntervalSinceNow: loop.clock.now.duration(to: next).seconds)
  }

  /// Runs `mode` until a source was handled or `limitDate` has passed.
  ///
  /// On another thread than the loop's own, it does nothing.
  @available(*, noasync, message: "Running a loop blocks its thread. Call it from a synchronous function.")
  open func acceptInput(forMode mode: String, before limitDate: Date) {
    guard loop.isCurrent, mode != Mode.common.rawValue else { return }
    bridge.welcome(Loop.Mode(rawValue: mode))
    runOnce(Loop.Mode(rawValue: mode), before: limitDate)
  }
}

// MARK: - Running

extension RunLoop {
  /// Runs the default mode until it is stopped or the mode is empty.
  ///
  /// On another thread than the loop's own, it does nothing.
  @available(*, noasync, message: "Running a loop blocks its thread. Call it from a synchronous function.")
  public func run() {
    guard loop.isCurrent else { return }
    loop.run()
    bridge.attachForFoundation()
  }

  /// Runs the default mode until `limitDate`, or until it is stopped or empty.
  ///
  /// On another thread than the loop's own, it does nothing.
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

  /// Runs `mode` until a source was handled, until `limitDate`, or until it is stopped.
  ///
  /// The fire of a timer does not end the run.
  ///
  /// - Returns: False, without a run, if the mode is empty or `.common`, or on another thread than the loop's own.
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

  /// Ends the innermost run. Any thread. See CFRunLoopStop.
  ///
  /// A loop that is not running ignores it. `getLoop().requestStop()` ends every run under way, or else the next one.
  public func stop() {
    loop.stop()
  }

  /// Wakes a sleeping loop for another turn. Any thread. See CFRunLoopWakeUp.
  public func wakeUp() {
    loop.wakeUp()
  }
}

// MARK: - Blocks

extension RunLoop {
  /// Runs `block` once, in the first of `modes` that runs. Any thread.
  ///
  /// Blocks run in the order in which they were posted. The call wakes a sleeping loop; Foundation's does not. Without
  /// a mode, the block never runs.
  public func perform(inModes modes: [Mode], block: @Sendable @escaping () -> Void) {
    guard !modes.isEmpty else { return }
    getLoop().perform(in: modes.map { Loop.Mode($0) }, block)
  }

  /// Runs `block` once, in a run of the default mode. Any thread.
  public func perform(_ block: @Sendable @escaping () -> Void) {
    getLoop().perform(in: .default, block)
  }
}
