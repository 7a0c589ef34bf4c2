public import Rondo

/// Short runs with a purpose.
extension Loop {
  /// Runs `mode` until `condition` holds or `timeout` is over. The loop's own thread.
  ///
  /// The condition is looked at before the run, in each turn and at the end, on the loop's thread. Whoever makes it true
  /// on another thread also wakes the loop, with `perform` or `wakeUp()`. The run ends early if it is stopped or if
  /// nothing is left in the mode.
  ///
  /// - Parameter timeout: Nil for none.
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

  /// Runs each mode that exists once, one after the other, for `duration`. What is ready everywhere is served.
  ///
  /// For a program that has to keep going where nobody runs its loop, as after an error in the middle of a run. With
  /// no duration it only looks. The loop's own thread.
  ///
  /// - Returns: What became of each run, in the order of `modes`.
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
