internal import Dispatch

/// Has Dispatch, which runs the process of an exit test, open what it needs: where it cannot, it ends the process.
///
/// Its threads start at their leisure. A test that takes all descriptors, lowers their limit or counts on a number's
/// being free calls this first.
package func awakenDispatch() {
  let fired = DispatchSemaphore(value: 0)
  let timers = (0..<2).map { _ in DispatchSource.makeTimerSource() }
  // Each clock has a descriptor of its own.
  timers[0].schedule(deadline: .now() + .milliseconds(1))
  timers[1].schedule(wallDeadline: .now() + .milliseconds(1))
  for timer in timers {
    timer.setEventHandler { fired.signal() }
    timer.activate()
  }
  for _ in timers { fired.wait() }
}
