import RondoTesting
import Testing

@testable import Rondo

/// A run that only looks, in a loop where nothing waits: one question for all there may be, and no turn.
@Suite struct QuietPollTests {
  /// What there may be to do. Each alone has the turn made.
  enum Thing: CaseIterable, Sendable {
    case signal, block, postedBlock, job, level, edge, timer, timerOfTwoModes, timeout, observer
  }

  /// A loop with a source, a timer far away, and two descriptors that are not ready.
  private func withQuietLoop<Result>(
    _ body: @escaping @Sendable (Stage, _ level: TestPipe, _ edge: TestPipe) -> Result
  ) -> Result {
    onLoopThread { stage in
      stage.keepAlive()
      stage.timer("far", after: .seconds(3600))
      let (level, edge) = (stage.pipe(), stage.pipe())
      stage.descriptor("x", level.reader) { _, _ in level.drain() }
      stage.descriptor("x", edge.reader, trigger: .edge)
      // The first look of a mode tells the kernel what is watched.
      stage.loop.run(for: .zero)
      return body(stage, level, edge)
    }
  }

  private func prepare(_ thing: Thing, _ stage: Stage, _ level: TestPipe, _ edge: TestPipe) {
    switch thing {
    case .signal: stage.source("x").signal()
    case .block: stage.block("x")
    case .postedBlock: TestThread { stage.block("x") }.join()
    case .job: Task(executorPreference: stage.loop) { stage.note("x") }
    case .level: level.write(1)
    case .edge: edge.write(1)
    case .timer: stage.timer("x", after: .zero)
    case .timerOfTwoModes: stage.loop.add(stage.timer("x", after: .zero), to: "m")
    case .timeout: _ = stage.loop.makeTimeout(after: .zero) { stage.note("x") }
    case .observer: stage.observer(.beforeTimers, repeats: false) { _ in stage.note("x") }
    }
  }

  @Test(arguments: Thing.allCases)
  func `one thing to do has the turn made, which does it once`(_ thing: Thing) {
    let texts = withQuietLoop { stage, level, edge -> [String] in
      let before = stage.loop.core.findsNothing(in: stage.loop.core.modeState(0))
      prepare(thing, stage, level, edge)
      let after = stage.loop.core.findsNothing(in: stage.loop.core.modeState(0))
      stage.loop.run(for: .zero)
      // The job of a task may make another one for its end.
      for _ in 0..<3 { stage.loop.run(for: .zero) }
      let last = stage.loop.core.findsNothing(in: stage.loop.core.modeState(0))
      return ["\(before)", "\(after)", stage.text, "\(last || thing == .timerOfTwoModes)"]
    }
    // Beside a loop of Foundation's, no look is quiet.
    let quiet = hasBridge ? "false" : "true"
    #expect(texts == [quiet, "false", "x", thing == .timerOfTwoModes ? "true" : quiet])
  }

  @Test func `a look that finds nothing counts as a turn that polled and timed out`() {
    let counts = withQuietLoop { stage, _, _ in
      let before = stage.loop.statistics
      let result = stage.loop.run(for: .zero)
      let after = stage.loop.statistics
      return [
        after.turns - before.turns, after.polls - before.polls, after.sleeps - before.sleeps,
        result == .timedOut ? 1 : 0,
      ]
    }
    #expect(counts == [1, 1, 0, 1])
  }

  @Test func `the first run of a mode makes a turn, so that the loop knows that it was run`() {
    let wasRun = onLoopThread { stage in
      stage.keepAlive(in: "m")
      let before = stage.loop.core.index(of: "m").map { stage.loop.core.modeState($0).wasRun }
      stage.loop.run(in: "m", for: .zero)
      let after = stage.loop.core.index(of: "m").map { stage.loop.core.modeState($0).wasRun }
      return [before, after]
    }
    #expect(wasRun == [false, true])
  }

  @Test func `an edge that a look found is told after a run that was stopped before its wait`() {
    let texts = withQuietLoop { stage, _, edge -> [String] in
      edge.write(1)
      _ = stage.loop.core.findsNothing(in: stage.loop.core.modeState(0))
      stage.loop.requestStop()
      let stopped = stage.loop.run(for: .zero)
      let before = stage.take()
      stage.loop.run(for: .zero)
      return ["\(stopped)", before, stage.text]
    }
    #expect(texts == ["stopped", "", "x"])
  }

  @Test func `of what a look found a stopped run keeps the edges, which the kernel does not repeat`() {
    let texts = withQuietLoop { stage, level, edge -> [String] in
      level.write(1)
      edge.write(1)
      let mode = stage.loop.core.modeState(0)
      _ = stage.loop.core.findsNothing(in: mode)
      unsafe mode.frameForRun()._withUnsafeGuaranteedRef { stage.loop.core.carryWhatWasFound($0) }
      mode.runEnded()
      // Another reader was faster: the level-triggered source has nothing to hear of.
      level.drain()
      stage.loop.run(for: .zero)
      let first = stage.take()
      stage.loop.run(for: .zero)
      return [first, stage.text]
    }
    #expect(texts == ["x", ""])
  }

  @Test func `what a look found is not told to a source that has ended since`() {
    let text = withQuietLoop { stage, level, _ in
      let other = stage.pipe()
      let source = stage.descriptor("gone", other.reader)
      stage.loop.run(for: .zero)
      other.write(1)
      _ = stage.loop.core.findsNothing(in: stage.loop.core.modeState(0))
      source.invalidate()
      stage.loop.run(for: .zero)
      level.write(1)
      stage.loop.run(for: .zero)
      return stage.text
    }
    #expect(text == "x")
  }
}
