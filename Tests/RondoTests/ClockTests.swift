import Glibc
import Rondo
import RondoTesting
import Testing

/// Sleeping by a loop's timers.
@Suite struct ClockTests {
  /// A task on the stage's loop that sleeps and notes what came of it.
  @discardableResult
  private func sleep(
    _ name: String, for duration: Duration, tolerance: Duration? = nil, on stage: VirtualStage
  ) -> Task<Void, Never> {
    Task(executorPreference: stage.loop) {
      do {
        try await stage.loop.clock.sleep(for: duration, tolerance: tolerance)
        stage.noteTime(name)
      } catch {
        stage.noteTime("\(name) \(error)")
      }
    }
  }

  // MARK: - Sleeping

  @Test func `ten hours of virtual sleep take two jobs and one sleep of the loop`() {
    withStage(isObserved: false) { stage in
      sleep("woke", for: .seconds(36_000), on: stage)
      #expect(stage.loop.run() == .finished)
      #expect(stage.text == "woke@36000000")
      #expect(stage.loop.statistics.jobCallouts == 2)
      #expect(stage.virtual.sleeps == 1)
    }
  }

  @Test func `sleepers wake at their dates`() {
    withStage(isObserved: false) { stage in
      for milliseconds in [30, 10, 20] { sleep("s", for: .milliseconds(milliseconds), on: stage) }
      stage.loop.run()
      #expect(stage.text == "s@10 s@20 s@30")
    }
  }

  @Test func `a sleeper's tolerance lets it share a wakeup`() {
    withStage(isObserved: false) { stage in
      sleep("tolerant", for: .milliseconds(10), tolerance: .milliseconds(10), on: stage)
      sleep("exact", for: .milliseconds(15), on: stage)
      stage.loop.run()
      #expect(stage.text == "tolerant@15 exact@15")
      #expect(stage.virtual.sleeps == 1)
    }
  }

  @Test func `a sleeper wakes at the end of its tolerance at the latest`() {
    withStage(isObserved: false) { stage in
      sleep("tolerant", for: .milliseconds(10), tolerance: .milliseconds(10), on: stage)
      sleep("later", for: .milliseconds(25), on: stage)
      stage.loop.run()
      #expect(stage.text == "tolerant@20 later@25")
    }
  }

  @Test func `sleeping until a date that has passed neither suspends nor makes a timer`() {
    withStage(isObserved: false) { stage in
      Task(executorPreference: stage.loop) {
        let clock = stage.loop.clock
        try await clock.sleep(until: clock.now)
        try await clock.sleep(for: .seconds(-1))
        stage.noteTime("done")
      }
      stage.loop.run(for: .zero)
      #expect(stage.text == "done@0")
      #expect(stage.loop.statistics.jobCallouts == 1)
    }
  }

  @Test func `an actor of the loop stays on it while it sleeps`() {
    withStage(isObserved: false) { stage in
      let actor = LoopActor(stage.loop)
      Task(executorPreference: stage.loop) { await sleepIsolated(to: actor, stage) }
      stage.loop.run()
      #expect(stage.text == "isolated isolated")
    }
  }

  @Test func `a real sleep from a task of the runtime is never early`() async throws {
    let thread = try LoopThread()
    let start = SuspendingClock().now
    let measured = try await thread.loop.clock.measure { try await thread.loop.clock.sleep(for: .milliseconds(20)) }
    #expect(SuspendingClock().now - start >= .milliseconds(20))
    #expect(measured >= .milliseconds(20))
    await thread.end()
  }

  // MARK: - Cancellation

  @Test func `cancellation ends a sleep at once, and its timer is gone`() {
    withStage(isObserved: false) { stage in
      let task = sleep("s", for: .seconds(3600), on: stage)
      stage.timer("cancel", after: .milliseconds(5)) { _ in task.cancel() }
      #expect(stage.loop.run() == .finished)
      #expect(stage.text == "cancel s CancellationError()@5")
      #expect(stage.milliseconds == 5)
      #expect(stage.loop.nextFireDate() == nil)
    }
  }

  @Test func `a task that is cancelled already does not begin to sleep`() {
    withStage(isObserved: false) { stage in
      sleep("s", for: .seconds(3600), on: stage).cancel()
      stage.loop.run(for: .zero)
      #expect(stage.text == "s CancellationError()@0")
      #expect(stage.loop.nextFireDate() == nil)
    }
  }

  @Test func `cancellation after the sleep changes nothing`() {
    withStage(isObserved: false) { stage in
      let task = sleep("s", for: .milliseconds(5), on: stage)
      stage.loop.run()
      task.cancel()
      #expect(stage.text == "s@5")
    }
  }

  @Test func `a hundred thousand cancelled sleeps leave no timer`() {
    withStage(isObserved: false) { stage in
      // Hundreds of turns with as many timers: a walk over all of them after each would take minutes.
      stage.loop.checksInvariants = false
      let errors = Later(0)
      let tasks = (0..<100_000).map { number in
        Task(executorPreference: stage.loop) {
          do {
            try await stage.loop.clock.sleep(for: .seconds(1 + number % 1000))
          } catch {
            errors.value += 1
          }
        }
      }
      stage.virtual.runUntilIdle()
      #expect(stage.loop.nextFireDate() != nil)
      stage.loop.checkInvariants()
      for task in tasks { task.cancel() }
      #expect(stage.loop.nextFireDate() == nil)
      #expect(stage.loop.run() == .finished)
      stage.loop.checkInvariants()
      #expect(errors.value == 100_000)
      #expect(stage.milliseconds == 0)
      #expect(stage.loop.statistics.timerCallouts == 0)
    }
  }

  // MARK: - The end of the loop

  @Test func `sleepers of a loop that ends are told, on its thread`() {
    let told = Later<[String]>([])
    withStage(isObserved: false) { stage in
      let thread = pthread_self()
      for _ in 0..<3 {
        Task(executorPreference: stage.loop) {
          do {
            try await stage.loop.clock.sleep(for: .seconds(1))
          } catch {
            told.value.append(pthread_self() == thread && error is Loop.EndError ? "ended" : "\(error)")
          }
        }
      }
      stage.loop.run(for: .zero)
      #expect(told.value == [])
    }
    #expect(told.value == ["ended", "ended", "ended"])
  }

  @Test func `a loop that has ended lets nobody sleep`() async throws {
    let thread = try LoopThread()
    let loop = thread.loop
    await thread.end()
    await #expect(throws: Loop.EndError.self) { try await loop.clock.sleep(for: .seconds(3600)) }
  }

  // MARK: - As any clock

  @Test func `a virtual loop's clock measures virtual time`() {
    withStage(isObserved: false) { stage in
      Task(executorPreference: stage.loop) {
        let clock = stage.loop.clock
        let took = try await clock.measure { try await clock.sleep(for: .milliseconds(250)) }
        stage.note("\(took.milliseconds)")
      }
      stage.loop.run()
      #expect(stage.text == "250")
    }
  }

  @Test func `Task sleeps by it`() {
    withStage(isObserved: false) { stage in
      Task(executorPreference: stage.loop) {
        let clock = stage.loop.clock
        try await Task.sleep(for: .seconds(1), clock: clock)
        try await Task.sleep(until: clock.now.advanced(by: .seconds(1)), tolerance: .zero, clock: clock)
        stage.noteTime("woke")
      }
      stage.loop.run()
      #expect(stage.text == "woke@2000")
    }
  }

  @Test func `a timer sequence over any clock ticks by it`() {
    withStage(isObserved: false) { stage in
      Task(executorPreference: stage.loop) {
        for await instant in Beats(interval: .milliseconds(10), clock: stage.loop.clock).prefix(3) {
          stage.noteTime("beat")
          #expect(instant == stage.virtual.now)
        }
      }
      stage.loop.run()
      #expect(stage.text == "beat@10 beat@20 beat@30")
    }
  }
}

/// Sleeps in a function that is isolated to the actor, as its own functions are.
private func sleepIsolated(to actor: isolated LoopActor, _ stage: Stage) async {
  stage.note(actor.loop.isIsolatingCurrentContext() == true ? "isolated" : "elsewhere")
  try? await actor.loop.clock.sleep(for: .milliseconds(1))
  stage.note(actor.loop.isIsolatingCurrentContext() == true ? "isolated" : "elsewhere")
}

/// What AsyncTimerSequence of swift-async-algorithms asks of a clock, and how it uses it.
private struct Beats<C: Clock>: AsyncSequence {
  let interval: C.Instant.Duration
  let clock: C

  struct Iterator: AsyncIteratorProtocol {
    let interval: C.Instant.Duration
    let clock: C
    var last: C.Instant?

    mutating func next() async -> C.Instant? {
      let next = (last ?? clock.now).advanced(by: interval)
      do {
        try await clock.sleep(until: next, tolerance: nil)
      } catch {
        return nil
      }
      last = next
      return clock.now
    }
  }

  func makeAsyncIterator() -> Iterator { Iterator(interval: interval, clock: clock) }
}
