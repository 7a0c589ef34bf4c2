import CBench
import Dispatch

/// `Task.sleep`: no loop, but what Swift offers for time without one.
struct TaskSleepSubject: Subject {
  let name = "task.sleep"
  let summary = "Task.sleep(until:) on the default executor; worker threads, not pinned"

  func openLoop(posts: Bool) throws(Refusal) -> any BenchLoop {
    SleepingTasks()
  }

  func runTimer(hitting meter: TickMeter) throws(Refusal) {
    let done = DispatchSemaphore(value: 0)
    Task {
      var isLast = false
      while !isLast {
        let due = Self.instant(bench_ticks_due(meter.pointer, meter.pointer.pointee.next))
        try? await Task.sleep(until: due, tolerance: .zero, clock: .suspending)
        isLast = bench_ticks_hit(meter.pointer)
      }
      done.signal()
    }
    done.wait()
  }

  static func instant(_ due: Int64) -> SuspendingClock.Instant {
    SuspendingClock().systemEpoch.advanced(by: .nanoseconds(due))
  }
}

/// Only what tasks that sleep can do: repeating timers.
private final class SleepingTasks: BenchLoop {
  private let stopped = DispatchSemaphore(value: 0)

  var isLoop: Bool { false }
  var sleepsOnItsThread: Bool { false }
  var pollRefusal: Refusal? { .cannot("has no turns") }
  var postRefusal: Refusal? { .cannot("posts no blocks") }

  func run() { stopped.wait() }
  func stop() { stopped.signal() }

  func addRepeats(
    _ dues: [Int64], every interval: Int64, tolerance: Int64, _ call: Call
  ) throws(Refusal) -> any Member {
    let counter = CallCounter(call)
    let tasks = dues.map { first in
      Task {
        var due = first
        while !Task.isCancelled {
          try? await Task.sleep(
            until: TaskSleepSubject.instant(due), tolerance: .nanoseconds(tolerance), clock: .suspending)
          if Task.isCancelled { return }
          await counter.call()
          due += interval
        }
      }
    }
    return Tasks(tasks: tasks)
  }
}

/// Tasks run on many threads, and callouts belong on one at a time.
private actor CallCounter {
  private let callout: Call

  init(_ callout: Call) {
    self.callout = callout
  }

  func call() { callout() }
}

private struct Tasks: Member {
  let tasks: [Task<Void, Never>]

  func remove() {
    let done = DispatchSemaphore(value: 0)
    for task in tasks { task.cancel() }
    Task {
      for task in tasks { await task.value }
      done.signal()
    }
    done.wait()
  }
}
