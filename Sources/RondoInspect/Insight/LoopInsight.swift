internal import CLinux
public import Rondo
import Synchronization

extension Loop {
  /// What the loop can be asked. It is kept from the first time that it is asked for. Any thread.
  ///
  /// From then on the loop keeps a record of its callouts and its last 1,024 turns, which costs 60 KiB, a reading of the
  /// clock before and after a sleep, and some nanoseconds a callout.
  public var insight: LoopInsight { LoopInsight(loop: self, recorder: Recorders.recorder(of: self)) }
}

/// What a loop can be asked about what it does. Any thread.
public struct LoopInsight: Sendable {
  let loop: Loop
  let recorder: Recorder

  init(loop: Loop, recorder: Recorder) {
    if !recorder.isHeard(by: rondo_listener_turns) {
      loop.tellSleeps()
      recorder.setListening(rondo_listener_turns, true)
    }
    self.loop = loop
    self.recorder = recorder
  }

  /// Measures callouts from now on: how long they waited, and how long they ran. Two readings of the clock a callout.
  ///
  /// It takes 80 KiB, and 20 KiB for each place in the source whose items are called, up to 512 of them.
  ///
  /// - Parameter names: Parts of the names of the items to measure; all of them if there is none.
  public func measure(only names: [String] = []) {
    recorder.measure(true, names: names)
  }

  /// Measures no more; what was measured stays.
  public func stopMeasuring() {
    recorder.measure(false)
  }

  /// What was measured, by item, what took the most time first. Looks up symbols for blocks and jobs.
  public var measures: [Measures] { recorder.measured }

  /// The same, by kind.
  public var measuresByKind: [Measures] {
    let all = measures
    return Set(all.map(\.kind)).sorted().map { kind in Measures.sum(of: all.filter { $0.kind == kind }, kind: kind) }
  }

  /// The same, all in one.
  public var measuresOfLoop: Measures { Measures.sum(of: measures, kind: "loop") }

  /// The last turns in which it did something or woke, the oldest first. At most 1,024 of them.
  public var wakeups: [Wakeup] { recorder.wakeups }

  /// What woke it in the last turns, the most frequent first.
  public var wakers: [Waker] { WakeupSummary.wakers(recorder.wakeups) }

  /// Timers whose wakeups a tolerance would have saved in the last turns. Something else was about to come.
  public var savableWakeups: [SavableWakeups] { WakeupSummary.savable(recorder.wakeups) }

  /// The callouts under way, the innermost last.
  public var callouts: [Stall.Callout] { CalloutsUnderWay.read(recorder).callouts }

  /// What the loop's thread does at present, and its stack, the innermost function first.
  ///
  /// Not on the loop's own thread. A blocked thread is not disturbed; a running one is stopped by a signal for some
  /// microseconds.
  public var stack: (activity: ThreadActivity, frames: [StackFrame]) {
    contract(!loop.isCurrent, "A loop's stack is looked at by another thread, which the loop's own is not.")
    let sample = ThreadSampler.sample(of: loop.threadNumber)
    return (sample.activity, sample.stack.frames)
  }
}
