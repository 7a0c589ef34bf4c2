import Rondo
import RondoRecipes
import RondoTesting
import Testing

/// The idioms of the articles, each as an exact trace in virtual time.
@Suite struct RecipeTests {
  // MARK: - Idle work

  @Test func `idle work is one piece a turn, and the loop sleeps when there is none`() {
    withRecipeStage { stage in
      stage.keepAlive()
      let work = Loop.IdleWork(on: stage.loop)
      for piece in ["1", "2"] { work.add { stage.note(piece) } }
      stage.virtual.at(.milliseconds(5)) { stage.note("asleep") }
      stage.loop.run(for: .milliseconds(10))
      #expect(
        stage.text
          == "E BT BS BW 1 AW BT BS BW 2 asleep AW X")
      #expect(work.count == 0)
    }
  }

  @Test func `between two pieces everything due is served`() {
    withRecipeStage(isObserved: false) { stage in
      let work = Loop.IdleWork(on: stage.loop)
      let source = stage.source("source")
      for piece in ["1", "2", "3"] {
        work.add {
          stage.note(piece)
          stage.virtual.spend(.milliseconds(4))
          if piece == "2" { source.signal() }
        }
      }
      stage.timer("timer", after: .milliseconds(3))
      stage.loop.run(for: .milliseconds(50))
      #expect(stage.text == "1 timer 2 source 3")
    }
  }

  @Test func `a piece may add pieces, which come last`() {
    withRecipeStage(isObserved: false) { stage in
      stage.keepAlive()
      let work = Loop.IdleWork(on: stage.loop)
      work.add {
        stage.note("1")
        work.add { stage.note("3") }
      }
      work.add { stage.note("2") }
      stage.loop.run(for: .milliseconds(1))
      #expect(stage.text == "1 2 3")
    }
  }

  @Test func `work added while the loop sleeps wakes it`() {
    withRecipeStage { stage in
      stage.keepAlive()
      let work = Loop.IdleWork(on: stage.loop)
      stage.virtual.at(.milliseconds(1)) { work.add { stage.note("piece") } }
      stage.loop.run(for: .milliseconds(5))
      #expect(stage.text == "E BT BS BW AW BT BS BW piece AW X")
    }
  }

  @Test func `pieces that were removed, or whose owner is gone, are dropped`() {
    withRecipeStage(isObserved: false) { stage in
      stage.keepAlive()
      var work: Loop.IdleWork? = Loop.IdleWork(on: stage.loop)
      work?.add { stage.note("removed") }
      work?.removeAll()
      #expect(work?.count == 0)
      work?.add { stage.note("dropped") }
      work = nil
      stage.loop.run(for: .milliseconds(1))
      #expect(stage.text == "")
    }
  }

  @Test func `ten thousand pieces are done in order`() {
    withRecipeStage(isObserved: false) { stage in
      stage.keepAlive()
      let work = Loop.IdleWork(on: stage.loop)
      let done = Later<[Int]>([])
      for piece in 0..<10_000 { work.add { done.value.append(piece) } }
      stage.loop.run(for: .milliseconds(1))
      #expect(done.value == Array(0..<10_000))
    }
  }

  // MARK: - Flush

  @Test func `marked many times, flushed once, after the other observers and before sleeping`() {
    withRecipeStage { stage in
      stage.keepAlive()
      let flush = Loop.Flush(on: stage.loop) { stage.note("flush") }
      stage.block("b") { for _ in 0..<5 { flush.setNeedsFlush() } }
      stage.timer("t", after: .milliseconds(1)) { flush.setNeedsFlush() }
      stage.beforeWaiting(order: 1_999_999) { stage.note("last") }
      stage.loop.run(for: .milliseconds(2))
      #expect(stage.text == "E BT BS b BW last flush AW t BT BS BW last flush AW X")
    }
  }

  @Test func `what is marked at the end of a run is flushed at its exit`() {
    withRecipeStage { stage in
      let flush = Loop.Flush(on: stage.loop) { stage.note("flush") }
      stage.timer("t", after: .milliseconds(1)) { flush.setNeedsFlush() }
      #expect(stage.loop.run() == .finished)
      #expect(stage.text == "E BT BS BW AW t X flush")
      #expect(!flush.needsFlush)
    }
  }

  @Test func `what is marked after the flush, or by it, is flushed before sleeping all the same`() {
    withRecipeStage { stage in
      stage.keepAlive()
      let marks = Later(2)
      let flush = Later<Loop.Flush>()
      flush.value = Loop.Flush(on: stage.loop) {
        stage.note("flush")
        marks.value -= 1
        if marks.value > 0 { flush.value.setNeedsFlush() }
      }
      stage.beforeWaiting(repeats: false, order: .max) {
        stage.note("late")
        flush.value.setNeedsFlush()
      }
      stage.virtual.at(.milliseconds(1)) { stage.note("asleep") }
      stage.loop.run(for: .milliseconds(2))
      #expect(
        stage.text == "E BT BS BW late AW BT BS BW flush AW BT BS BW flush asleep AW X")
    }
  }

  @Test func `a mark while the loop sleeps wakes it; without one nothing is flushed`() {
    withRecipeStage { stage in
      stage.keepAlive()
      let flush = Loop.Flush(on: stage.loop) { stage.note("flush") }
      stage.virtual.at(.milliseconds(1)) { flush.setNeedsFlush() }
      stage.loop.run(for: .milliseconds(2))
      #expect(stage.text == "E BT BS BW AW BT BS BW flush AW X")
    }
  }

  @Test func `a run nested in an observer flushes for itself, and the enclosing one goes on`() {
    withRecipeStage { stage in
      stage.keepAlive()
      let flush = Loop.Flush(on: stage.loop) { stage.note("flush") }
      stage.beforeWaiting(repeats: false, order: .max) {
        stage.note("[")
        stage.loop.perform { flush.setNeedsFlush() }
        stage.loop.run(for: .milliseconds(1))
        stage.note("]")
        flush.setNeedsFlush()
      }
      stage.loop.run(for: .milliseconds(5))
      #expect(
        stage.text
          == "E BT BS BW [ E BT BS BW flush AW X ] AW BT BS BW flush AW X")
    }
  }

  // MARK: - Turn scope

  @Test func `a scope for each turn: pushed first at entry, renewed last before sleeping, popped last at exit`() {
    withRecipeStage { stage in
      Loop.TurnScope(on: stage.loop, push: { stage.note("(") }, pop: { stage.note(")") })
      stage.timer("t", after: .milliseconds(1))
      stage.timer("u", after: .milliseconds(2))
      stage.loop.run()
      #expect(stage.text == "( E BT BS BW ) ( AW t BT BS BW ) ( AW u X )")
    }
  }

  @Test func `scopes nest as runs do`() {
    withRecipeStage(isObserved: false) { stage in
      Loop.TurnScope(on: stage.loop, push: { stage.note("(") }, pop: { stage.note(")") })
      stage.timer("t", after: .milliseconds(1)) {
        stage.keepAlive()
        stage.loop.run(for: .milliseconds(1))
        stage.note("end")
        stage.loop.stop()
      }
      stage.loop.run()
      #expect(stage.text == "( ) ( t ( ) ( ) end )")
    }
  }

  @Test func `a scope made in the middle of a run begins at its next sleep; one ended there is popped`() {
    withRecipeStage(isObserved: false) { stage in
      stage.keepAlive()
      let scope = Later<Loop.TurnScope>()
      stage.timer("make", after: .milliseconds(1)) {
        scope.value = Loop.TurnScope(on: stage.loop, push: { stage.note("(") }, pop: { stage.note(")") })
      }
      stage.timer("end", after: .milliseconds(2)) { scope.value.invalidate() }
      stage.loop.run(for: .milliseconds(3))
      #expect(stage.text == "make ( end )")
    }
  }

  // MARK: - Frame clock

  @Test func `frames lie on their grid, and those the loop was busy for are counted as skipped`() {
    withRecipeStage(isObserved: false) { stage in
      let clock = Loop.FrameClock(every: .milliseconds(16), on: stage.loop) { frame in
        stage.noteTime("\(frame.number)-\(frame.skipped)")
        if frame.number == 2 { stage.virtual.spend(.milliseconds(50)) }
      }
      stage.loop.run(for: .milliseconds(120))
      #expect(stage.text == "1-0@16 2-0@32 6-3@96 7-0@112")
      #expect(clock.skippedFrames == 3)
      clock.invalidate()
    }
  }

  @Test func `a paused clock tells no frames, and counts none as skipped`() {
    withRecipeStage(isObserved: false) { stage in
      let clock = Loop.FrameClock(every: .milliseconds(10), on: stage.loop) { frame in
        stage.noteTime("\(frame.number)-\(frame.skipped)")
      }
      stage.virtual.at(.milliseconds(25)) { clock.isPaused = true }
      stage.virtual.at(.milliseconds(55)) { clock.isPaused = false }
      stage.loop.run(for: .milliseconds(80))
      #expect(stage.text == "1-0@10 2-0@20 3-0@65 4-0@75")
      #expect(clock.skippedFrames == 0 && !clock.isPaused)
      clock.invalidate()
      #expect(stage.loop.run() == .finished)
    }
  }

  // MARK: - Until a condition

  @Test func `a run until a condition ends in the turn that makes it true`() {
    withRecipeStage(isObserved: false) { stage in
      var count = 0
      let ticks = Later(0)
      let timer = Loop.Timer(every: .milliseconds(10)) { _ in ticks.value += 1 }
      stage.loop.add(timer)
      #expect(
        stage.loop.run(timeout: .seconds(1)) {
          count += 1
          return ticks.value == 3
        })
      #expect(stage.milliseconds == 30 && count > 3)
    }
  }

  @Test func `a condition that a block or source makes true ends the run without sleeping`() {
    withRecipeStage { stage in
      stage.keepAlive()
      let isDone = Later(false)
      stage.block("b") { isDone.value = true }
      #expect(stage.loop.run { isDone.value })
      #expect(stage.text == "E BT BS b BW AW X")
    }
  }

  @Test func `a condition that holds needs no run, one that never does times out`() {
    withRecipeStage { stage in
      stage.keepAlive()
      #expect(stage.loop.run { true })
      #expect(stage.text == "")
      #expect(!stage.loop.run(timeout: .milliseconds(5)) { false })
      #expect(stage.milliseconds == 5)
    }
  }

  @Test func `a run until a condition ends early when it is stopped or nothing is left`() {
    withRecipeStage(isObserved: false) { stage in
      let holdsWhenFinished = stage.loop.run { false }
      #expect(!holdsWhenFinished)
      stage.timer("t", after: .milliseconds(1)) { stage.loop.stop() }
      stage.keepAlive()
      let holdsWhenStopped = stage.loop.run { false }
      #expect(!holdsWhenStopped)
      #expect(stage.text == "t")
    }
  }

  @Test func `a nested run is not ended by the condition of the enclosing one`() {
    withRecipeStage(isObserved: false) { stage in
      let isDone = Later(false)
      stage.timer("t", after: .milliseconds(1)) {
        isDone.value = true
        stage.keepAlive()
        stage.loop.run(for: .milliseconds(5))
        stage.noteTime("nested")
      }
      #expect(stage.loop.run { isDone.value })
      #expect(stage.text == "t nested@6")
    }
  }

  // MARK: - All modes

  @Test func `running all modes serves what is ready in each, once`() {
    withRecipeStage(isObserved: false) { stage in
      stage.source("s", in: "a").signal()
      stage.source("u", in: "b").signal()
      stage.block("block")
      let results = stage.loop.runAllModes()
      #expect(stage.text == "block s u")
      #expect(results.map(\.mode) == [.default, "a", "b"])
      #expect(results.map(\.result) == [.timedOut, .timedOut, .timedOut])
      #expect(stage.loop.runAllModes().map(\.result) == [.finished, .timedOut, .timedOut])
    }
  }
}
