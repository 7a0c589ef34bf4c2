import Rondo
import RondoTesting
import Testing

@Suite struct RunTests {
  // MARK: - Results

  @Test func `a mode with nothing but observers is finished without a callout`() {
    withStage { stage in
      #expect(stage.loop.run(for: .seconds(1)) == .finished)
      #expect(stage.text == "")
    }
  }

  @Test func `a run with nothing to do times out at its deadline`() {
    withStage { stage in
      stage.keepAlive()
      #expect(stage.loop.run(for: .milliseconds(100)) == .timedOut)
      #expect(stage.text == "E BT BS BW AW X")
      #expect(stage.milliseconds == 100)
    }
  }

  @Test func `a run until an instant ends there`() {
    withStage { stage in
      stage.keepAlive()
      let end = stage.virtual.now.advanced(by: .milliseconds(70))
      #expect(stage.loop.run(until: end) == .timedOut)
      #expect(stage.virtual.now == end)
    }
  }

  @Test(arguments: [Duration.zero, .nanoseconds(-1), .seconds(-10)])
  func `a run of no time is one turn that only looks`(_ duration: Duration) {
    withStage { stage in
      stage.keepAlive()
      #expect(stage.loop.run(for: duration) == .timedOut)
      #expect(stage.text == "E BT BS X")
      #expect(stage.virtual.sleeps == 0)
      #expect(stage.loop.statistics.turns == 1)
    }
  }

  @Test func `a run until an instant in the past is one turn that only looks`() {
    withStage { stage in
      stage.keepAlive()
      #expect(stage.loop.run(until: stage.virtual.now.advanced(by: .seconds(-1))) == .timedOut)
      #expect(stage.text == "E BT BS X")
    }
  }

  @Test func `a run of no time serves everything that is due`() {
    withStage { stage in
      stage.timer("t", after: .zero)
      stage.source("a").signal()
      stage.block("b")
      #expect(stage.loop.run(for: .zero) == .timedOut)
      #expect(stage.text == "E BT BS b a t X")
    }
  }

  @Test func `a duration too long to count is for ever`() {
    withStage { stage in
      stage.timer("t", after: .seconds(5))
      #expect(stage.loop.run(for: .seconds(Int64.max)) == .finished)
      #expect(stage.milliseconds == 5000)
    }
  }

  @Test func `the time of a run begins when its entry observers have returned`() {
    withStage { stage in
      stage.keepAlive()
      stage.observer(.entry) { _ in stage.virtual.spend(.milliseconds(50)) }
      stage.loop.run(for: .milliseconds(100))
      #expect(stage.milliseconds == 150)
    }
  }

  @Test func `a run that handles a source returns when asked to`() {
    withStage { stage in
      stage.source("a").signal()
      #expect(stage.loop.run(for: .seconds(1), returnAfterSourceHandled: true) == .handledSource)
      #expect(stage.text == "E BT BS a X")
    }
  }

  @Test func `timers and blocks do not count as sources handled`() {
    withStage(isObserved: false) { stage in
      let a = stage.source("a")
      stage.block("b")
      stage.timer("t", every: .milliseconds(10)) { _ in if stage.text == "b t t t" { a.signal() } }
      #expect(stage.loop.run(for: .seconds(1), returnAfterSourceHandled: true) == .handledSource)
      #expect(stage.text == "b t t t a")
    }
  }

  // MARK: - Precedence

  @Test func `a handled source is told before a timeout`() {
    withStage { stage in
      stage.source("a").signal()
      #expect(stage.loop.run(for: .zero, returnAfterSourceHandled: true) == .handledSource)
    }
  }

  @Test func `a handled source is told before a stop, which is lost`() {
    withStage { stage in
      stage.source("a") { stage.loop.stop() }.signal()
      #expect(stage.loop.run(for: .seconds(1), returnAfterSourceHandled: true) == .handledSource)
      #expect(stage.loop.run(for: .seconds(1)) == .timedOut)
    }
  }

  @Test func `a handled source is told before an empty mode`() {
    withStage { stage in
      let a = Later<Loop.Source>()
      a.value = stage.source("a") { a.value.invalidate() }
      a.value.signal()
      #expect(stage.loop.run(for: .seconds(1), returnAfterSourceHandled: true) == .handledSource)
    }
  }

  @Test func `a timeout is told before a stop`() {
    withStage { stage in
      stage.keepAlive()
      stage.timer("t", after: .milliseconds(10)) { _ in
        stage.loop.stop()
        stage.virtual.spend(.seconds(1))
      }
      #expect(stage.loop.run(for: .milliseconds(100)) == .timedOut)
    }
  }

  @Test func `a timeout is told before an empty mode`() {
    withStage { stage in
      stage.timer("t", after: .zero)
      #expect(stage.loop.run(for: .zero) == .timedOut)
    }
  }

  @Test func `a stop is told before an empty mode`() {
    withStage { stage in
      stage.block("b") { stage.loop.stop() }
      #expect(stage.loop.run(for: .seconds(1)) == .stopped)
      #expect(stage.text == "E BT BS b X")
    }
  }

  // MARK: - Empty modes

  @Test func `a mode whose last block has run is finished without a sleep`() {
    withStage { stage in
      stage.block("b")
      #expect(stage.loop.run(for: .seconds(1)) == .finished)
      #expect(stage.text == "E BT BS b X")
      #expect(stage.virtual.sleeps == 0)
    }
  }

  @Test func `a mode whose last item is removed before the wait is finished without a sleep`() {
    withStage { stage in
      let item = stage.keepAlive()
      stage.observer(.beforeTimers) { _ in stage.loop.remove(item) }
      #expect(stage.loop.run(for: .seconds(1)) == .finished)
      #expect(stage.text == "E BT BS X")
      #expect(stage.milliseconds == 0)
    }
  }

  @Test func `a mode whose last item is removed right before the sleep does not sleep`() {
    withStage { stage in
      let item = stage.keepAlive()
      stage.observer(.beforeWaiting) { _ in stage.loop.remove(item) }
      #expect(stage.loop.run(for: .seconds(1)) == .finished)
      #expect(stage.text == "E BT BS BW AW X")
      #expect(stage.virtual.sleeps == 0)
    }
  }

  @Test func `a mode that is emptied in entry takes one turn and is finished`() {
    withStage { stage in
      let item = stage.keepAlive()
      stage.observer(.entry) { _ in stage.loop.remove(item) }
      #expect(stage.loop.run(for: .seconds(1)) == .finished)
      #expect(stage.text == "E BT BS X")
    }
  }

  @Test func `a block for another mode does not keep a mode from being empty`() {
    withStage { stage in
      stage.block("b", in: "other")
      #expect(stage.loop.run(for: .seconds(1)) == .finished)
      #expect(stage.text == "")
    }
  }

  // MARK: - Stop

  @Test func `stop in entry ends the run without a turn`() {
    withStage { stage in
      stage.keepAlive()
      stage.observer(.entry) { _ in stage.loop.stop() }
      #expect(stage.loop.run(for: .seconds(1)) == .stopped)
      #expect(stage.text == "E X")
    }
  }

  @Test func `stop lets the turn end, and does not let it sleep`() {
    withStage { stage in
      stage.keepAlive()
      stage.observer(.beforeTimers) { _ in stage.loop.stop() }
      #expect(stage.loop.run(for: .seconds(1)) == .stopped)
      #expect(stage.text == "E BT BS BW AW X")
      #expect(stage.milliseconds == 0)
    }
  }

  @Test func `stop in exit is lost`() {
    withStage { stage in
      stage.keepAlive()
      stage.observer(.exit) { _ in stage.loop.stop() }
      #expect(stage.loop.run(for: .milliseconds(5)) == .timedOut)
      #expect(stage.loop.run(for: .milliseconds(5)) == .timedOut)
    }
  }

  @Test func `stop of a loop that is not running is ignored`() {
    withStage { stage in
      stage.keepAlive()
      stage.loop.stop()
      #expect(stage.loop.run(for: .milliseconds(5)) == .timedOut)
      #expect(stage.milliseconds == 5)
    }
  }

  @Test func `stop while the loop sleeps ends the run at that moment`() {
    withStage { stage in
      stage.keepAlive()
      stage.virtual.at(.milliseconds(30)) { stage.loop.stop() }
      #expect(stage.loop.run(for: .seconds(1)) == .stopped)
      #expect(stage.text == "E BT BS BW AW X")
      #expect(stage.milliseconds == 30)
    }
  }

  // MARK: - requestStop

  @Test func `requestStop before a run ends it without a turn`() {
    withStage { stage in
      stage.keepAlive()
      stage.loop.requestStop()
      #expect(stage.loop.run(for: .seconds(1)) == .stopped)
      #expect(stage.text == "E X")
    }
  }

  @Test func `requestStop is used up by the run that returns stopped`() {
    withStage { stage in
      stage.keepAlive()
      stage.loop.requestStop()
      #expect(stage.loop.run(for: .milliseconds(5)) == .stopped)
      #expect(stage.loop.run(for: .milliseconds(5)) == .timedOut)
    }
  }

  @Test func `requestStop waits for a run that happens: one of an empty mode does not use it up`() {
    withStage { stage in
      stage.loop.requestStop()
      #expect(stage.loop.run(for: .milliseconds(5)) == .finished)
      stage.keepAlive()
      #expect(stage.loop.run(for: .milliseconds(5)) == .stopped)
    }
  }

  @Test func `requestStop outlasts a run that handled a source`() {
    withStage { stage in
      stage.source("a") { stage.loop.requestStop() }.signal()
      #expect(stage.loop.run(for: .seconds(1), returnAfterSourceHandled: true) == .handledSource)
      #expect(stage.loop.run(for: .seconds(1)) == .stopped)
    }
  }

  @Test func `requestStop outlasts a run that timed out`() {
    withStage { stage in
      stage.keepAlive()
      stage.block("b") { stage.loop.requestStop() }
      #expect(stage.loop.run(for: .zero) == .timedOut)
      #expect(stage.loop.run(for: .seconds(1)) == .stopped)
    }
  }

  @Test func `requestStop ends every nested run and is then used up`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      stage.block("b") {
        stage.block("c") { stage.loop.requestStop() }
        stage.note("\(stage.loop.run(for: .seconds(1)))")
      }
      #expect(stage.loop.run(for: .seconds(1)) == .stopped)
      #expect(stage.text == "b c stopped")
      #expect(stage.loop.run(for: .milliseconds(5)) == .timedOut)
    }
  }

  // MARK: - Wake

  @Test func `a wakeup before a run is forgotten`() {
    withStage { stage in
      stage.keepAlive()
      stage.loop.wakeUp()
      stage.loop.run(for: .milliseconds(10))
      #expect(stage.text == "E BT BS BW AW X")
      #expect(stage.milliseconds == 10)
    }
  }

  @Test(arguments: [Loop.Activity.entry, .beforeTimers, .beforeSources, .beforeWaiting])
  func `a wakeup before the wait makes the loop go round once more`(_ activity: Loop.Activity) {
    withStage { stage in
      stage.keepAlive()
      stage.observer(activity, repeats: false) { _ in stage.loop.wakeUp() }
      stage.loop.run(for: .milliseconds(10))
      #expect(stage.text == "E BT BS BW AW BT BS BW AW X")
      #expect(stage.virtual.sleeps == 1)
    }
  }

  @Test func `a wakeup after the wait is forgotten, the loop goes round anyway`() {
    withStage { stage in
      stage.keepAlive()
      stage.timer("t", after: .milliseconds(5)) { _ in stage.loop.wakeUp() }
      stage.loop.run(for: .milliseconds(10))
      #expect(stage.text == "E BT BS BW AW t BT BS BW AW X")
      #expect(stage.virtual.sleeps == 2)
    }
  }

  @Test func `many wakeups of a sleeping loop are one`() {
    withStage { stage in
      stage.keepAlive()
      stage.virtual.at(.milliseconds(5)) { for _ in 0..<10 { stage.loop.wakeUp() } }
      stage.loop.run(for: .milliseconds(10))
      #expect(stage.text == "E BT BS BW AW BT BS BW AW X")
      #expect(stage.loop.statistics.wakeupsByPost == 1)
    }
  }

  // MARK: - Modes

  @Test func `the current mode is the one of the run, and none outside a run`() {
    withStage(isObserved: false) { stage in
      stage.observer([.entry, .exit], in: "m") { _ in stage.note(stage.loop.currentMode?.rawValue ?? "none") }
      stage.block("b", in: "m")
      #expect(stage.loop.currentMode == nil)
      stage.loop.run(in: "m")
      #expect(stage.text == "m b m")
      #expect(stage.loop.currentMode == nil)
    }
  }

  @Test func `running, asking and removing make no mode, adding and posting do`() {
    withStage(isObserved: false) { stage in
      let source = Loop.Source {}
      stage.loop.run(in: "run")
      _ = stage.loop.contains(source, in: "asked")
      stage.loop.remove(source, from: "removed")
      stage.loop.addCommonMode("common")
      #expect(stage.loop.modes == [.default])
      stage.loop.add(source, to: "added")
      stage.loop.perform(in: "posted") {}
      #expect(stage.loop.modes == [.default, "added", "posted"])
    }
  }

  @Test func `an item of one mode neither fires nor wakes another`() {
    withStage { stage in
      stage.keepAlive()
      stage.timer("t", after: .milliseconds(1), in: "m")
      stage.source("a", in: "m").signal()
      stage.loop.run(for: .milliseconds(10))
      #expect(stage.text == "E BT BS BW AW X")
      #expect(stage.virtual.sleeps == 1)
    }
  }
}
