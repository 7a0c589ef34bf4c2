import Rondo
import RondoTesting
import Testing

/// A date before the machine was booted, or before anything at all, is one that has passed.
@Suite struct PastDateTests {
  private static let times: [Duration] = [.seconds(-1), .seconds(-100_000_000), .seconds(Int64.min / 2)]

  private func past(_ time: Duration, _ stage: VirtualStage) -> SuspendingClock.Instant {
    stage.loop.clock.now.advanced(by: time)
  }

  @Test(arguments: times) func `waiting for a descriptor for less than no time times out at once`(_ time: Duration) {
    withStage(isObserved: false) { stage in
      let pipe = stage.pipe()
      Task(executorPreference: stage.loop) {
        do throws(Loop.WaitError) {
          try await stage.loop.readable(pipe.reader, timeout: time)
        } catch {
          stage.noteTime("\(error)")
        }
      }
      #expect(stage.loop.run() == .finished)
      #expect(stage.text == "timedOut@0")
    }
  }

  @Test(.enabled(if: RuntimeInsides.areKnown), arguments: times)
  func `a task that prefers the loop sleeps no time until a date that has passed`(_ time: Duration) {
    withStage(isObserved: false) { stage in
      Task(executorPreference: stage.loop) {
        try await Task.sleep(for: time)
        stage.noteTime("task")
        try await stage.loop.clock.sleep(for: time)
        stage.noteTime("loop")
      }
      // The sleep's timer, and the job that it resumes, are due without the clock being moved.
      for _ in 0..<3 { stage.virtual.runUntilIdle() }
      #expect(stage.text == "task@0 loop@0")
    }
  }

  @Test(arguments: times) func `timers and timeouts of dates that have passed fire at once`(_ time: Duration) {
    withStage(isObserved: false) { stage in
      let date = past(time, stage)
      let late = stage.timer("moved", after: .seconds(3600))
      let later = stage.timer("put", after: .seconds(3600))
      stage.timer("after", after: time)
      stage.loop.add(Loop.Timer(at: date) { _ in stage.note("at") })
      late.fireDate = date
      later.setFireDate(after: time)
      _ = stage.loop.makeTimeout(after: time) { stage.note("timeout") }
      stage.loop.arm(stage.loop.makeTimeout { stage.note("armed") }, at: date)
      stage.loop.arm(stage.loop.makeTimeout { stage.note("again") }, after: time)
      #expect(stage.loop.run(for: .seconds(1)) == .finished)
      let told = Set(stage.text.split(separator: " ").map(String.init))
      #expect(told == ["moved", "put", "after", "at", "timeout", "armed", "again"])
      #expect(stage.virtual.elapsed == .zero)
    }
  }

  @Test(arguments: times) func `a timeout's date is never before the clock's beginning`(_ time: Duration) {
    withStage(isObserved: false) { stage in
      let timeout = stage.loop.makeTimeout {}
      stage.loop.arm(timeout, at: past(time, stage))
      #expect(stage.loop.fireDate(of: timeout)! >= SuspendingClock().systemEpoch)
      stage.loop.discard(timeout)
    }
  }

  @Test(arguments: times) func `a run until a date that has passed only looks`(_ time: Duration) {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      #expect(stage.loop.run(for: time) == .timedOut)
      #expect(stage.loop.run(until: past(time, stage)) == .timedOut)
      #expect(stage.virtual.sleeps == 0)
    }
  }
}
