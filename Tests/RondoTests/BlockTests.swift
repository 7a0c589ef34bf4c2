import Rondo
import RondoTesting
import Testing

@Suite struct BlockTests {
  @Test func `blocks run in the order they were posted`() {
    withStage { stage in
      for name in ["a", "b", "c"] { stage.block(name) }
      #expect(stage.loop.run() == .finished)
      #expect(stage.text == "E BT BS a b c X")
    }
  }

  @Test func `a block waits for its mode`() {
    withStage(isObserved: false) { stage in
      stage.block("m", in: "m")
      stage.block("d")
      stage.loop.run(for: .zero)
      #expect(stage.text == "d")
      stage.loop.run(in: "m", for: .zero)
      #expect(stage.text == "d m")
    }
  }

  @Test func `blocks of other modes keep their place`() {
    withStage(isObserved: false) { stage in
      stage.block("m1", in: "m")
      stage.block("d") { stage.block("m3", in: "m") }
      stage.block("m2", in: "m")
      stage.loop.run(for: .zero)
      stage.loop.run(in: "m", for: .zero)
      #expect(stage.text == "d m1 m2 m3")
    }
  }

  @Test func `a block of several modes runs once, in the first that is served`() {
    withStage(isObserved: false) { stage in
      stage.loop.perform(in: ["m", "n"]) { stage.note("a") }
      stage.keepAlive()
      stage.loop.run(for: .zero)
      #expect(stage.text == "")
      stage.loop.run(in: "n", for: .zero)
      stage.loop.run(in: "m", for: .zero)
      #expect(stage.text == "a")
    }
  }

  @Test func `a block of no mode never runs`() {
    withStage(isObserved: false) { stage in
      stage.loop.perform(in: [Loop.Mode]()) { stage.note("a") }
      stage.keepAlive()
      stage.loop.run(for: .zero)
      #expect(stage.text == "")
    }
  }

  @Test func `a common block runs in any common mode`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive(in: "m")
      stage.block("a", in: .common)
      stage.loop.run(in: "m", for: .zero)
      #expect(stage.text == "")
      stage.loop.run(for: .zero)
      #expect(stage.text == "a")
    }
  }

  @Test func `a common block runs in a mode that became common after it was posted`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive(in: "m")
      stage.block("a", in: .common)
      stage.loop.addCommonMode("m")
      stage.loop.run(in: "m", for: .zero)
      #expect(stage.text == "a")
    }
  }

  @Test func `a common block keeps a common mode from being empty`() {
    withStage { stage in
      stage.block("a", in: .common)
      #expect(stage.loop.run() == .finished)
      #expect(stage.text == "E BT BS a X")
    }
  }

  @Test func `a block posted by a block waits for the next drain, before any sleep`() {
    withStage { stage in
      stage.keepAlive()
      stage.block("a") { stage.block("b") }
      stage.loop.run(for: .milliseconds(5))
      #expect(stage.text == "E BT BS a BW AW b BT BS BW AW X")
      #expect(stage.virtual.sleeps == 1)
    }
  }

  @Test func `blocks alone are drained to the last, without a sleep`() {
    withStage { stage in
      stage.block("a") { stage.block("b") }
      #expect(stage.loop.run() == .finished)
      #expect(stage.text == "E BT BS a BW AW b X")
      #expect(stage.virtual.sleeps == 0)
    }
  }

  @Test func `a block wakes the sleeping loop`() {
    withStage { stage in
      stage.keepAlive()
      stage.virtual.at(.milliseconds(5)) { stage.block("a") }
      stage.loop.run(for: .milliseconds(9))
      #expect(stage.text == "E BT BS BW AW a BT BS BW AW X")
    }
  }

  @Test func `a block posted without waking waits until something else happens`() {
    withStage { stage in
      stage.keepAlive()
      stage.virtual.at(.milliseconds(5)) { stage.loop.perform(waking: false) { stage.noteTime("a") } }
      stage.loop.run(for: .milliseconds(9))
      #expect(stage.text == "E BT BS BW AW a@9 X")
    }
  }

  @Test func `blocks do not count as a handled source`() {
    withStage { stage in
      stage.keepAlive()
      stage.block("a")
      #expect(stage.loop.run(for: .milliseconds(5), returnAfterSourceHandled: true) == .timedOut)
      #expect(stage.text == "E BT BS a BW AW X")
    }
  }

  @Test func `blocks are drained again after a source was handled`() {
    withStage { stage in
      stage.source("a") { stage.block("b") }.signal()
      #expect(stage.loop.run(for: .seconds(1), returnAfterSourceHandled: true) == .handledSource)
      #expect(stage.text == "E BT BS a b X")
    }
  }

  @Test func `a block posted by a timer runs at the end of the turn`() {
    withStage { stage in
      stage.timer("t", after: .milliseconds(1)) { _ in stage.block("b") }
      #expect(stage.loop.run() == .finished)
      #expect(stage.text == "E BT BS BW AW t b X")
    }
  }

  @Test func `blocks of one drain that are not run yet are invisible to a nested run`() {
    withStage(isObserved: false) { stage in
      stage.block("a") { stage.note("\(stage.loop.run(for: .seconds(1)))") }
      stage.block("b")
      #expect(stage.loop.run() == .finished)
      #expect(stage.text == "a finished b")
    }
  }

  @Test func `blocks are dropped with their loop, and what they own is let go`() {
    final class Owned: Sendable {}
    weak var owned: Owned?
    withStage(isObserved: false) { stage in
      let made = Owned()
      owned = made
      stage.loop.perform { _ = made }
    }
    #expect(owned == nil)
  }

  @Test func `a block is let go when it has run`() {
    final class Owned: Sendable {}
    weak var owned: Owned?
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      do {
        let made = Owned()
        owned = made
        stage.loop.perform { _ = made }
      }
      stage.loop.run(for: .zero)
      #expect(owned == nil)
    }
  }
}
