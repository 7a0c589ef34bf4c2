import Rondo
import RondoAsync
import RondoTesting
import Testing

/// Items of a loop as async sequences.
@Suite struct SequenceTests {
  // MARK: - Ticks

  @Test func `ticks come at the points of a grid`() {
    withStage(isObserved: false) { stage in
      Task(executorPreference: stage.loop) {
        for await tick in stage.loop.ticks(every: .milliseconds(10)).prefix(3) {
          stage.noteTime("missed \(tick.missed)")
          #expect(tick.scheduled == stage.virtual.now)
        }
      }
      #expect(stage.loop.run() == .finished)
      #expect(stage.text == "missed 0@10 missed 0@20 missed 0@30")
    }
  }

  @Test func `ticks that a slow task does not take are merged and counted`() {
    withStage(isObserved: false) { stage in
      Task(executorPreference: stage.loop) {
        for await tick in stage.loop.ticks(every: .milliseconds(10)).prefix(3) {
          stage.noteTime("missed \(tick.missed)")
          try? await stage.loop.clock.sleep(for: .milliseconds(35))
        }
      }
      stage.loop.run()
      // At 40 one waits since 40, with those of 20 and 30 in it.
      #expect(stage.text == "missed 0@10 missed 2@45 missed 3@80")
    }
  }

  @Test func `a merged tick counts what the timer itself has missed`() {
    withStage(isObserved: false) { stage in
      Task(executorPreference: stage.loop) {
        var iterator = stage.loop.ticks(every: .milliseconds(10)).makeAsyncIterator()
        _ = await iterator.next()
        stage.virtual.spend(.milliseconds(35))
        for _ in 0..<2 { stage.noteTime("missed \(await iterator.next()!.missed)") }
      }
      stage.loop.run()
      // It fires for 20 as soon as it can, and for 50 with those of 30 and 40 passed over.
      #expect(stage.text == "missed 0@45 missed 2@50")
    }
  }

  @Test func `ten thousand ticks through a slow task are all counted`() {
    withStage(isObserved: false) { stage in
      let ticks = stage.loop.ticks(every: .milliseconds(1))
      Task(executorPreference: stage.loop) {
        var (elements, total) = (0, 0)
        for await tick in ticks {
          elements += 1
          total += 1 + tick.missed
          if total >= 10_000 { break }
          try? await stage.loop.clock.sleep(for: .milliseconds(99), tolerance: .zero)
        }
        stage.note("\(elements) elements, \(total) ticks")
      }
      stage.loop.run()
      // Each element but the first stands for the 99 ticks of a sleep.
      #expect(stage.text == "102 elements, 10000 ticks")
      #expect(!ticks.origin.isValid)
    }
  }

  @Test func `invalidating the timer ends its ticks, whether or not a task waits`() {
    withStage(isObserved: false) { stage in
      let ticks = stage.loop.ticks(every: .seconds(1))
      Task(executorPreference: stage.loop) {
        for await _ in ticks { stage.note("tick") }
        stage.noteTime("end")
      }
      stage.timer("invalidate", after: .milliseconds(5)) { _ in ticks.origin.invalidate() }
      #expect(stage.loop.run() == .finished)
      #expect(stage.take() == "invalidate end@5")
      Task(executorPreference: stage.loop) {
        for await _ in ticks { stage.note("tick") }
        stage.note("end")
      }
      stage.loop.run()
      #expect(stage.text == "end")
    }
  }

  @Test func `a tick that waits is given before the end`() {
    withStage(isObserved: false) { stage in
      let ticks = stage.loop.ticks(every: .milliseconds(10))
      stage.loop.run(for: .milliseconds(35))
      ticks.origin.invalidate()
      Task(executorPreference: stage.loop) {
        for await tick in ticks { stage.note("missed \(tick.missed)") }
        stage.note("end")
      }
      stage.loop.run()
      #expect(stage.text == "missed 2 end")
    }
  }

  @Test func `cancellation ends ticks at once and invalidates the timer`() {
    withStage(isObserved: false) { stage in
      let ticks = stage.loop.ticks(every: .seconds(1))
      let task = Task(executorPreference: stage.loop) {
        for await _ in ticks { stage.note("tick") }
        stage.noteTime("end")
      }
      stage.timer("cancel", after: .milliseconds(5)) { _ in task.cancel() }
      #expect(stage.loop.run() == .finished)
      #expect(stage.text == "cancel end@5")
      #expect(!ticks.origin.isValid)
    }
  }

  @Test func `a cancelled task gets no tick, not even one that waits`() {
    withStage(isObserved: false) { stage in
      let ticks = stage.loop.ticks(every: .milliseconds(10))
      stage.loop.run(for: .milliseconds(15))
      Task(executorPreference: stage.loop) {
        for await _ in ticks { stage.note("tick") }
        stage.note("end")
      }.cancel()
      stage.loop.run()
      #expect(stage.text == "end")
      #expect(!ticks.origin.isValid)
    }
  }

  @Test func `letting the iterator go invalidates the timer`() {
    withStage(isObserved: false) { stage in
      let ticks = stage.loop.ticks(every: .milliseconds(10))
      Task(executorPreference: stage.loop) {
        for await _ in ticks { break }
        stage.note("valid \(ticks.origin.isValid)")
      }
      #expect(stage.loop.run() == .finished)
      #expect(stage.text == "valid false")
    }
  }

  @Test func `letting the sequence go invalidates the timer`() {
    withStage(isObserved: false) { stage in
      let timer = stage.loop.ticks(every: .milliseconds(10)).origin
      #expect(!timer.isValid)
      #expect(stage.loop.run() == .finished)
    }
  }

  @Test func `the end of the loop ends its ticks`() {
    let told = Later("")
    withStage(isObserved: false) { stage in
      Task(executorPreference: stage.loop) {
        for await _ in stage.loop.ticks(every: .seconds(1)) {}
        told.value = "end"
      }
      stage.loop.run(for: .zero)
    }
    #expect(told.value == "end")
  }

  @Test func `a loop that has ended gives no tick`() async throws {
    let thread = try LoopThread()
    let loop = thread.loop
    await thread.end()
    for await _ in loop.ticks(every: .nanoseconds(1)) { Issue.record("a tick") }
  }

  @Test func `ticks of a real loop reach a task of the runtime`() async throws {
    let thread = try LoopThread()
    let start = SuspendingClock().now
    var total = 0
    for await tick in thread.loop.ticks(every: .milliseconds(2)) {
      total += 1 + tick.missed
      if total >= 10 { break }
    }
    #expect(SuspendingClock().now - start >= .milliseconds(20))
    await thread.end()
  }

  // MARK: - Readiness

  @Test func `readiness is told once for each time it is asked for`() {
    withStage(isObserved: false) { stage in
      let pipe = stage.pipe()
      let sequence = try! stage.loop.readiness(of: pipe.reader, for: .read)
      let source = sequence.origin
      Task(executorPreference: stage.loop) {
        var iterator = sequence.makeAsyncIterator()
        stage.note("enabled \(source.enabled)")
        stage.note("\(try await iterator.next()!)")
        stage.note("enabled \(source.enabled)")
        stage.note("\(try await iterator.next()!)")
      }
      stage.virtual.at(.milliseconds(1)) { stage.virtual.makeReady(source, .read) }
      stage.virtual.at(.milliseconds(2)) { stage.virtual.makeReady(source, .read) }
      #expect(stage.loop.run() == .finished)
      #expect(stage.text == "enabled  read enabled  read")
      #expect(stage.loop.statistics.descriptorCallouts == 2)
    }
  }

  @Test func `a task that does not ask costs no callout, however ready the descriptor`() {
    let (callouts, read) = onLoopThread { stage in
      let pipe = stage.pipe()
      pipe.write(1)
      let sequence = try! stage.loop.readiness(of: pipe.reader, for: .read)
      let read = Later(0)
      Task(executorPreference: stage.loop) {
        for try await _ in sequence {
          read.value += 1
          try await stage.loop.clock.sleep(for: .milliseconds(2))
          if read.value == 3 { break }
        }
      }
      stage.loop.run()
      return (stage.loop.statistics.descriptorCallouts, read.value!)
    }
    #expect(callouts == 3)
    #expect(read == 3)
  }

  @Test func `a descriptor that the loop gives up on ends its readiness with the reason`() {
    let text = onLoopThread { stage in
      let pipe = stage.pipe()
      stage.descriptor("edge", pipe.reader, trigger: .edge)
      Task(executorPreference: stage.loop) {
        do throws(Loop.DescriptorSource.InvalidationReason) {
          for try await _ in try! stage.loop.readiness(of: pipe.reader, for: .read) { stage.note("ready") }
          stage.note("end")
        } catch {
          stage.note("\(error)")
        }
        stage.loop.stop()
      }
      stage.loop.run()
      return stage.text
    }
    #expect(text == "\(Loop.DescriptorSource.InvalidationReason.mixedTriggers)")
  }

  @Test func `invalidating the source by hand, and cancellation, end its readiness`() {
    withStage(isObserved: false) { stage in
      let pipe = stage.pipe()
      let sequences = (0..<2).map { _ in try! stage.loop.readiness(of: pipe.reader, for: .read) }
      let tasks = sequences.map { sequence in
        Task(executorPreference: stage.loop) {
          for try await _ in sequence { stage.note("ready") }
          stage.noteTime("end")
        }
      }
      stage.timer("invalidate", after: .milliseconds(1)) { _ in sequences[0].origin.invalidate() }
      stage.timer("cancel", after: .milliseconds(2)) { _ in tasks[1].cancel() }
      #expect(stage.loop.run() == .finished)
      #expect(stage.text == "invalidate end@1 cancel end@2")
      #expect(sequences.allSatisfy { !$0.origin.isValid })
    }
  }

  @Test func `readiness of what cannot be waited for is refused`() {
    withStage(isObserved: false) { stage in
      #expect(throws: Loop.DescriptorError.notOpen(-1)) { try stage.loop.readiness(of: -1, for: .read) }
    }
  }
}
