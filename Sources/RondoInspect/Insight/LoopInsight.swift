internal import CLinux
public import Rondo
import Synchronization

extension Loop {
  /// The loop's record of its turns and callouts. The first access begins it. Any thread.
  ///
  /// The record has the last 1,024 turns and takes 60 KiB. The loop then reads the clock before and after each sleep.
  /// Each callout takes some nanoseconds more.
  public var insight: LoopInsight { LoopInsight(loop: self, recorder: Recorders.recorder(of: self)) }
}

/// A loop's turns, callouts, measures and stack. Any thread.
public struct LoopInsight: Sendable {
  let loop: Loop
  let recorder: Recorder

  init(loop: Loop, recorder: Recorder) {
    if !recorder.isHeard(by: rondo_listener_turns) {
      loop.reportSleeps()
      recorder.setListening(rondo_listener_turns, true)
    }
    self.loop = loop
    self.recorder = recorder
  }

  /// Begins to measure how long callouts wait and how long they run.
  ///
  /// The loop then reads the clock after each callout, and before it unless it directly follows another one. The measures
  /// take 80 KiB, and 20 KiB for each name whose items are called, up to 512 names. If the process has no memory for
  /// them, the call does nothing.
  ///
  /// - Parameter names: Parts of the names of the items to measure. If it is empty, all items are measured.
  public func measure(only names: [String] = []) {
    recorder.measure(true, names: names)
  }

  /// Stops measuring. The measures so far remain.
  public func stopMeasuring() {
    recorder.measure(false)
  }

  /// The measures of each item name, the longest total run first.
  ///
  /// It looks up symbols for blocks and jobs.
  public var measures: [Measures] { recorder.measured }

  /// The last 1,024 turns in which the loop woke or called an item, oldest first.
  public var wakeups: [Wakeup] { recorder.wakeups }

  /// The causes of the last wakeups, the most frequent first.
  public var wakers: [Waker] { WakeupSummary.wakers(recorder.wakeups) }

  /// Timers whose wakeups in the last turns a tolerance would have saved.
  ///
  /// The loop woke shortly afterwards for another cause.
  public var savableWakeups: [SavableWakeups] { WakeupSummary.savable(recorder.wakeups) }

  /// The callouts under way, the innermost last.
  public var callouts: [Stall.Callout] { CalloutsUnderWay.read(recorder).callouts }

  /// The loop thread's present activity and stack, the innermost function first.
  ///
  /// It traps on the loop's own thread. A blocked thread is not disturbed. A signal stops a running thread for some
  /// microseconds.
  public var stack: (activity: ThreadActivity, frames: [StackFrame]) {
    require(!loop.isCurrent, "A loop's stack is looked at by another thread, which the loop's own is not.")
    let sample = ThreadSampler.sample(of: loop.threadNumber)
    return (sample.activity, sample.stack.frames)
  }
}
