import RondoTesting
import Testing

@testable import Rondo

/// The rules of `TimerGroup`: a timer waits once, in the group of its set of modes.
@Suite struct ModeGroupTests {
  @Test(arguments: [Duration.zero, .milliseconds(3)])
  func `a timer of three modes has the entries of one, and fires in each of them`(_ tolerance: Duration) {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("t", every: .milliseconds(10), tolerance: tolerance) { _ in stage.noteTime("") }
      let alone = stage.loop.sizes.timerEntries
      for mode in ["m", "n"] as [Loop.Mode] { stage.loop.add(timer, to: mode) }
      #expect(stage.loop.sizes.timerEntries == alone)
      for mode in [.default, "m", "n"] as [Loop.Mode] {
        stage.keepAlive(in: mode)
        stage.loop.run(in: mode, for: .milliseconds(10))
      }
      #expect(stage.text == "t @10 t @20 t @30")
    }
  }

  @Test func `a timer that leaves one of its modes fires in the other alone`() {
    withStage(isObserved: false) { stage in
      for mode in [.default, "m"] as [Loop.Mode] { stage.keepAlive(in: mode) }
      let timer = stage.timer("t", after: .milliseconds(10))
      stage.loop.add(timer, to: "m")
      stage.loop.remove(timer)
      stage.loop.run(for: .milliseconds(30))
      #expect(stage.text == "")
      stage.loop.run(in: "m", for: .zero)
      #expect(stage.text == "t")
    }
  }

  @Test func `a timer that joins a mode in the middle of its batch fires once`() {
    withStage(isObserved: false) { stage in
      let late = Later<Loop.Timer>()
      stage.timer("t", after: .milliseconds(10)) { _ in
        stage.loop.add(late.value, to: "m")
        stage.loop.run(in: "m", for: .zero)
      }
      late.value = stage.timer("u", after: .milliseconds(10))
      stage.loop.run(for: .milliseconds(30))
      #expect(stage.text == "t u")
    }
  }

  @Test func `common timers and timeouts are served by a mode that becomes common in a run of it`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive(in: "m")
      stage.loop.add(Loop.Timer(after: .milliseconds(10)) { _ in stage.noteTime("t") }, to: .common)
      let timeout = stage.loop.makeTimeout(after: .milliseconds(15), in: .common) { stage.noteTime("u") }
      stage.block("b", in: "m") { stage.loop.addCommonMode("m") }
      stage.loop.run(in: "m", for: .milliseconds(20))
      #expect(stage.text == "b t@10 u@15")
      stage.loop.discard(timeout)
    }
  }

  @Test func `a group of several modes ends with its last timer or timeout`() {
    withStage(isObserved: false) { stage in
      let loop = stage.loop
      var timers: [Loop.Timer] = []
      for set in 1..<64 {
        let timer = Loop.Timer(after: .seconds(1)) { _ in }
        for bit in 0..<6 where set >> bit & 1 != 0 { loop.add(timer, to: Loop.Mode("mode \(bit)")) }
        timers.append(timer)
      }
      #expect(loop.core.timers.shared.count == 63 - 6)
      for timer in timers { timer.invalidate() }
      #expect(loop.core.timers.shared.isEmpty)
      #expect(loop.core.modes.allSatisfy { $0.others.isEmpty })
    }
  }

  /// As a common item would, it brings modes into being that are common by name.
  @Test func `a timeout of the common modes makes modes that become common, and no longer once it is discarded`() {
    withStage(isObserved: false) { stage in
      let loop = stage.loop
      let timeout = loop.makeTimeout(in: .common) {}
      loop.addCommonMode("m")
      #expect(loop.modes == [.default, "m"])
      loop.discard(timeout)
      #expect(loop.core.timers.shared.isEmpty)
      loop.addCommonMode("n")
      #expect(loop.modes == [.default, "m"])
      let next = loop.makeTimeout(in: .common) {}
      #expect(loop.modes == [.default, "m", "n"])
      loop.discard(next)
    }
  }
}
