public import Rondo

/// Short runs with a purpose.
extension Loop {
  /// Runs a mode until `condition` holds or `timeout` has passed. On the loop's thread.
  ///
  /// It checks the condition before the run, in each turn and at the end. If another thread makes the condition true,
  /// that thread must also wake the loop, with `perform` or `wakeUp()`. The run ends early if it is stopped or if the
  /// mode is empty.
  ///
  /// - Parameter timeout: The longest run; nil for no limit.
  /// - Returns: Whether the condition holds.
  @available(*, noasync, message: "Running a loop blocks its thread. Call it from a synchronous function.")
  public func run(in mode: Mode = .default, timeout: Duration? = nil, until condition: () -> Bool) -> Bool {
    if condition() { return true }
    withoutActuallyEscaping(condition) { condition in
      nonisolated(unsafe) let watch = ConditionWatch(condition, depth: depth + 1)
      let observer = Observer([.beforeTimers, .beforeWaiting], order: .max) { [unowned self] _ in
        if unsafe depth == watch.depth, unsafe watch.holds { stop() }
      }
      add(observer, to: mode)
      if let timeout { run(in: mode, for: timeout) } else { run(in: mode) }
      observer.invalidate()
      // The observer may live on until the end of the enclosing turn.
      unsafe watch.end()
    }
    return condition()
  }

  /// Runs the loop's modes for `duration` each, one after another. On the loop's thread.
  ///
  /// Use it where a program must continue but its loop does not run, for example after an error within a run. If the
  /// duration is zero, it serves the ready items of every mode without a wait.
  ///
  /// - Returns: The result of each run, in the order of `modes`.
  @available(*, noasync, message: "Running a loop blocks its thread. Call it from a synchronous function.")
  @discardableResult
  public func runAllModes(for duration: Duration = .zero) -> [(mode: Mode, result: RunResult)] {
    modes.map { ($0, run(in: $0, for: duration)) }
  }
}

/// A condition on loan: nothing holds it once the run it is for has returned.
private final class ConditionWatch {
  private var condition: (() -> Bool)?
  /// Runs nested in the one that waits do not stop for it.
  let depth: Int

  init(_ condition: @escaping () -> Bool, depth: Int) {
    self.condition = condition
    self.depth = depth
  }

  var holds: Bool { condition?() ?? false }

  func end() { condition = nil }
}
