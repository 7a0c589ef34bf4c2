import Rondo
import RondoTesting
import Testing

@Suite struct SourceTests {
  // MARK: - Signalling

  @Test func `a signalled source is performed once, however often it was signalled`() {
    withStage { stage in
      let a = stage.source("a")
      for _ in 0..<5 { a.signal() }
      #expect(a.isSignalled)
      stage.loop.run(for: .milliseconds(1))
      #expect(stage.text == "E BT BS a BT BS BW AW X")
      #expect(!a.isSignalled)
    }
  }

  @Test func `sources are performed by order, then in the order of their first signal`() {
    withStage(isObserved: false) { stage in
      let a = stage.source("a", order: 3)
      let b = stage.source("b")
      let c = stage.source("c")
      let d = stage.source("d", order: -1)
      for source in [a, c, b, d, c, a] { source.signal() }
      stage.loop.run(for: .zero)
      #expect(stage.text == "d c b a")
    }
  }

  @Test func `a source signalled before it was added is performed when it is`() {
    withStage(isObserved: false) { stage in
      let a = stage.source("a", in: nil)
      a.signal()
      stage.loop.add(a)
      stage.loop.run(for: .zero)
      #expect(stage.text == "a")
    }
  }

  @Test func `a source that left and came back before its turn is performed in it`() {
    withStage(isObserved: false) { stage in
      let b = stage.source("b", order: 1)
      let a = stage.source("a") {
        stage.loop.remove(b)
        // The end of its turn lets go of what was removed.
        stage.loop.run(in: "m", for: .zero)
        stage.loop.add(b)
      }
      stage.keepAlive(in: "m")
      for source in [a, b] { source.signal() }
      stage.loop.run(for: .zero)
      #expect(stage.text == "a b")
    }
  }

  @Test func `a signal outlasts removal`() {
    withStage(isObserved: false) { stage in
      let a = stage.source("a")
      a.signal()
      stage.loop.remove(a)
      stage.keepAlive()
      stage.loop.run(for: .zero)
      #expect(stage.text == "")
      stage.loop.add(a)
      stage.loop.run(for: .zero)
      #expect(stage.text == "a")
    }
  }

  @Test func `a signal waits while another mode runs`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive(in: "m")
      stage.source("a").signal()
      stage.loop.run(in: "m", for: .milliseconds(1))
      #expect(stage.text == "")
      stage.loop.run(for: .zero)
      #expect(stage.text == "a")
    }
  }

  @Test func `signal wakes a sleeping loop`() {
    withStage { stage in
      let a = stage.source("a")
      stage.virtual.at(.milliseconds(5)) { a.signal() }
      stage.loop.run(for: .seconds(1), returnAfterSourceHandled: true)
      #expect(stage.text == "E BT BS BW AW BT BS a X")
      #expect(stage.milliseconds == 5)
    }
  }

  @Test func `signal without waking leaves the loop asleep until something else happens`() {
    withStage { stage in
      let a = stage.source("a")
      stage.virtual.at(.milliseconds(5)) { a.signal(waking: false) }
      stage.timer("t", after: .milliseconds(9))
      stage.loop.run(for: .seconds(1), returnAfterSourceHandled: true)
      #expect(stage.text == "E BT BS BW AW t BT BS a X")
      #expect(stage.milliseconds == 9)
    }
  }

  @Test func `a source that signals itself is performed once a turn, and timers are not starved`() {
    withStage { stage in
      let a = Later<Loop.Source>()
      a.value = stage.source("a") { a.value.signal() }
      a.value.signal()
      stage.timer("t", after: .zero) { _ in stage.loop.stop() }
      stage.loop.run(for: .seconds(1))
      #expect(stage.text == "E BT BS a t X")
    }
  }

  @Test func `a source signalled by one that is performed waits for the next turn`() {
    withStage { stage in
      let b = stage.source("b")
      stage.source("a") { b.signal() }.signal()
      stage.loop.run(for: .milliseconds(1))
      #expect(stage.text == "E BT BS a BT BS b BT BS BW AW X")
    }
  }

  @Test func `returning after a source leaves the others signalled for the next run`() {
    withStage(isObserved: false) { stage in
      for name in ["a", "b", "c"] { stage.source(name).signal() }
      for _ in 0..<3 {
        #expect(stage.loop.run(for: .seconds(1), returnAfterSourceHandled: true) == .handledSource)
        stage.note("|")
      }
      #expect(stage.text == "a | b | c |")
    }
  }

  // MARK: - Removal

  @Test func `a signal has no loop go round that the source has left in the same turn`() {
    withStage(isObserved: false) { stage in
      let source = stage.source("a")
      let turns = stage.loop.statistics.turns
      stage.block("b") {
        stage.loop.remove(source)
        source.signal()
      }
      stage.keepAlive()
      stage.loop.run(for: .milliseconds(10))
      #expect(stage.text == "b")
      #expect(stage.loop.statistics.turns == turns + 1)
    }
  }

  /// It is the loop's still, and the next mode to become common gets it.
  @Test func `a signal has the loop go round for a source that stands in the common set alone`() {
    withStage(isObserved: false) { stage in
      let source = stage.source("a", in: .common)
      stage.loop.remove(source)
      let turns = stage.loop.statistics.turns
      stage.block("b") { source.signal() }
      stage.keepAlive()
      stage.loop.run(for: .milliseconds(10))
      #expect(stage.text == "b")
      #expect(stage.loop.statistics.turns == turns + 2)
    }
  }

  @Test func `a signalled source that a sibling removes is not performed`() {
    withStage(isObserved: false) { stage in
      let b = stage.source("b", order: 1)
      stage.source("a") { stage.loop.remove(b) }.signal()
      b.signal()
      stage.loop.run(for: .zero)
      #expect(stage.text == "a")
      #expect(b.isSignalled)
    }
  }

  @Test func `a signalled source that a sibling invalidates is not performed`() {
    withStage(isObserved: false) { stage in
      let b = stage.source("b", order: 1)
      stage.source("a") { b.invalidate() }.signal()
      b.signal()
      stage.loop.run(for: .zero)
      #expect(stage.text == "a")
    }
  }

  @Test func `a turn in which any source was performed counts as handled`() {
    withStage { stage in
      let b = stage.source("b", order: 1)
      stage.source("a") { b.invalidate() }.signal()
      b.signal()
      #expect(stage.loop.run(for: .seconds(1), returnAfterSourceHandled: true) == .handledSource)
      #expect(stage.text == "E BT BS a X")
    }
  }

  @Test func `signalling an invalid source does nothing`() {
    withStage(isObserved: false) { stage in
      let a = stage.source("a")
      a.invalidate()
      a.signal()
      #expect(!a.isSignalled)
      #expect(!stage.loop.add(a))
      #expect(stage.loop.run() == .finished)
    }
  }

  // MARK: - Modes and loops

  @Test func `a source in two modes is performed in the one that runs, once`() {
    withStage(isObserved: false) { stage in
      let a = stage.source("a")
      stage.loop.add(a, to: "m")
      a.signal()
      stage.loop.run(in: "m", for: .zero)
      stage.loop.run(for: .zero)
      #expect(stage.text == "a")
      a.signal()
      stage.loop.run(for: .zero)
      #expect(stage.text == "a a")
    }
  }

  @Test func `sources are compared by identity`() {
    withStage(isObserved: false) { stage in
      let work: @Sendable () -> Void = { stage.note("work") }
      let (one, two) = (Loop.Source(perform: work), Loop.Source(perform: work))
      stage.loop.add(one)
      #expect(!stage.loop.contains(two))
      stage.loop.add(two)
      one.signal()
      two.signal()
      stage.loop.run(for: .zero)
      #expect(stage.text == "work work")
    }
  }

  @Test func `schedule and cancel are told once for each mode joined and left`() {
    withStage(isObserved: false) { stage in
      let source = Loop.Source(
        schedule: { loop, mode in stage.note("+\(mode == .default ? "default" : "\(mode)")") },
        cancel: { loop, mode in stage.note("-\(mode == .default ? "default" : "\(mode)")") }, perform: {})
      stage.loop.add(source)
      stage.loop.add(source)
      stage.loop.add(source, to: "m")
      stage.loop.remove(source)
      stage.loop.remove(source)
      source.invalidate()
      #expect(stage.text == "+default +m -default -m")
    }
  }

  @Test func `schedule is told of concrete modes, also through the common set`() {
    withStage(isObserved: false) { stage in
      let source = Loop.Source(
        schedule: { _, mode in stage.note("+\(mode == .default ? "default" : "\(mode)")") }, perform: {})
      stage.loop.add(source, to: .common)
      stage.loop.addCommonMode("m")
      #expect(stage.text == "+default +m")
    }
  }

  @Test func `a schedule handler may use the loop`() {
    withStage(isObserved: false) { stage in
      let source = Loop.Source(
        schedule: { loop, _ in loop.perform { stage.note("posted") } },
        cancel: { loop, _ in loop.perform { stage.note("posted too") } }, perform: {})
      stage.loop.add(source, to: .common)
      source.invalidate()
      stage.loop.run(for: .zero)
      #expect(stage.text == "posted posted too")
    }
  }

  @Test func `a source in the loops of several threads is performed by one of them for each signal`() {
    let performs = Tally()
    let source = Loop.Source { performs.add() }
    let loops = (0..<4).map { _ in RunningLoop { $0.add(source) } }
    for count in 1...200 {
      source.signal()
      while source.isSignalled || performs.count < count { yieldThread() }
    }
    for loop in loops { #expect(loop.stop() == .stopped) }
    #expect(performs.count == 200)
  }

  @Test func `a source in two loops is told of a mode that becomes common in either`() {
    let told = Tally()
    let source = Loop.Source(schedule: { _, mode in if mode == "m" { told.add() } }, perform: {})
    let first = RunningLoop { $0.add(source, to: .common) }
    onLoopThread { stage in
      stage.keepAlive(in: "m")
      stage.loop.add(source, to: .common)
      stage.loop.addCommonMode("m")
      #expect(stage.loop.contains(source, in: "m"))
    }
    #expect(told.count == 1)
    #expect(first.stop() == .stopped)
  }

  @Test func `each signal from another thread that does not wake is served by the next run`() {
    let text = onLoopThread { stage in
      stage.keepAlive()
      let source = Loop.Source { stage.note("s") }
      stage.loop.add(source)
      for _ in 0..<3 {
        TestThread { source.signal(waking: false) }.join()
        stage.loop.run(for: .zero)
        stage.note("|")
      }
      return stage.text
    }
    #expect(text == "s | s | s |")
  }

  @Test func `a signal that its last loop has not looked at reaches the next one`() {
    let text = onLoopThread { stage in
      stage.keepAlive()
      let source = Loop.Source { stage.note("s") }
      let last = RunningLoop { $0.add(source) }
      let isBusy = Tally()
      let mayGo = Tally()
      last.loop.perform {
        isBusy.add()
        while mayGo.count == 0 { yieldThread() }
      }
      while isBusy.count == 0 { yieldThread() }
      source.signal()
      last.loop.remove(source)
      stage.loop.add(source)
      for _ in 0..<2 {
        stage.loop.run(for: .zero)
        stage.note("|")
        source.signal()
      }
      TestThread { source.signal() }.join()
      stage.loop.run(for: .zero)
      mayGo.add()
      #expect(last.stop() == .stopped)
      return stage.text
    }
    #expect(text == "s | s | s")
  }

  @Test func `invalidating a source takes it out of every loop, and empties them`() {
    let source = Loop.Source {}
    let loops = (0..<3).map { _ in RunningLoop(isKeptAlive: false) { $0.add(source) } }
    for loop in loops { loop.waitUntilAsleep() }
    source.invalidate()
    for loop in loops { #expect(loop.join() == .finished) }
  }
}
