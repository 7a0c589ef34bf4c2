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
      #expect(stage.text == "the time given is over@0")
    }
  }

  // The runtime ends a sleep of its own clocks on a thread of its pool, and resumes the task from there: when the task goes
  // on is not for this loop's turns to say, but its timer is.
  @Test(.enabled(if: RuntimeInsides.areKnown), arguments: times)
  func `the timer of a task's sleep until a date that has passed is due at once`(_ time: Duration) {
    withVirtualLoop { virtual in
      Task(executorPreference: virtual.loop) { try await Task.sleep(for: time) }
      virtual.runUntilIdle()
      #expect(virtual.loop.statistics.timerCallouts == 1)
      #expect(virtual.elapsed == .zero)
    }
  }

  @Test(arguments: times)
  func `a task that prefers the loop wakes from a sleep until a date that has passed`(_ time: Duration) async throws {
    let running = RunningLoop()
    let loop = running.loop
    let isOn = try await Task(executorPreference: loop) {
      try await Task.sleep(for: time)
      return loop.isCurrent
    }.value
    #expect(isOn)
    running.stop()
  }

  @Test(arguments: times) func `the loop's own clock sleeps no time until a date that has passed`(_ time: Duration) {
    withStage(isObserved: false) { stage in
      Task(executorPreference: stage.loop) {
        try await stage.loop.clock.sleep(for: time)
        stage.noteTime("woke")
      }
      stage.loop.run()
      #expect(stage.text == "woke@0")
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
