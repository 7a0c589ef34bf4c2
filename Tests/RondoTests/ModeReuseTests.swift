import RondoTestSupport
import RondoTesting
import Testing

@testable import Rondo

/// A loop with room for no other mode gives back those that have nothing.
@Suite struct ModeReuseTests {
  private func fill(_ loop: Loop, _ prefix: String = "old") {
    for index in 0..<(64 - loop.modes.count) {
      let source = Loop.Source {}
      loop.add(source, to: Loop.Mode("\(prefix) \(index)"))
      loop.remove(source, from: Loop.Mode("\(prefix) \(index)"))
    }
  }

  @Test func `three hundred private modes one after the other work, on the kernel`() {
    let (text, modes) = onLoopThread { stage in
      let pipe = stage.pipe()
      pipe.write(1)
      for request in 0..<300 {
        let mode = Loop.Mode("request \(request)")
        let source = stage.descriptor("\(request)", pipe.reader, in: mode)
        let timeout = stage.loop.makeTimeout(after: .seconds(60), in: mode) { stage.note("late") }
        #expect(stage.loop.run(in: mode, for: .seconds(60), returnAfterSourceHandled: true) == .handledSource)
        source.invalidate()
        stage.loop.discard(timeout)
        #expect(stage.loop.run(in: mode, for: .zero) == .finished)
      }
      return (stage.trace.tokens, stage.loop.modes.count)
    }
    #expect(text == (0..<300).map { "\($0)" })
    #expect(modes <= 64)
  }

  @Test func `modes that have something stay, and so do those that another thread has named`() {
    withStage(isObserved: false) { stage in
      let loop = stage.loop
      loop.add(Loop.Observer(.entry) { _ in }, to: "observer")
      loop.add(Loop.Timer(after: .seconds(60)) { _ in }, to: "timer")
      let timeout = loop.makeTimeout(in: "timeout") {}
      loop.perform(in: ["block", "other block"]) {}
      let named = Loop.Source {}
      TestThread {
        loop.add(named, to: "named")
        loop.remove(named, from: "named")
      }.join()
      fill(loop)
      loop.add(Loop.Source {}, to: "new")
      let kept: Set<Loop.Mode> = ["observer", "timer", "timeout", "block", "other block", "named", "new", .default]
      #expect(Set(loop.modes) == kept)
      loop.discard(timeout)
    }
  }

  @Test func `a mode stays while a block for it is held back by a drain`() {
    withStage(isObserved: false) { stage in
      let loop = stage.loop
      // Its turn comes after the first block, in which the loop gives modes back.
      stage.block("first") {
        fill(loop)
        loop.add(Loop.Source {}, to: "new")
      }
      stage.block("held", in: "private")
      loop.run(for: .zero)
      #expect(loop.modes.contains("private"))
      loop.run(in: "new", for: .zero)
      #expect(stage.text == "first")
      loop.run(in: "private", for: .zero)
      #expect(stage.text == "first held")
    }
  }

  @Test func `a mode has nothing of the one that had its place, and is common if its name is`() {
    withStage(isObserved: false) { stage in
      let loop = stage.loop
      loop.addCommonMode("later")
      fill(loop)
      let source = Loop.Source {}
      let timer = Loop.Timer(after: .milliseconds(1)) { _ in stage.note("t") }
      loop.add(timer, to: "new")
      #expect(!loop.contains(source, in: "new") && loop.modes.count < 64)
      // Its place is not that of its name among the modes that are left.
      let last = Loop.Observer(.entry) { _ in }
      for index in 0..<40 { loop.add(last, to: Loop.Mode("more \(index)")) }
      for index in 0..<39 { loop.remove(last, from: Loop.Mode("more \(index)")) }
      fill(loop)
      loop.add(Loop.Source {}, to: "newest")
      #expect(!loop.modes.contains("more 0"))
      #expect("\(last)".contains(" in more 39 of "))
      last.invalidate()
      stage.keepAlive(in: "new")
      loop.run(in: "new", for: .milliseconds(5))
      #expect(stage.take() == "t")
      // The first common item brings the name into being.
      loop.add(Loop.Timer(after: .milliseconds(1)) { _ in stage.note("c") }, to: .common)
      #expect(loop.modes.contains("later"))
      loop.run(in: "later", for: .milliseconds(5))
      #expect(stage.take() == "c")
      stage.block("p", in: .common)
      loop.run(in: "later", for: .zero)
      #expect(stage.take() == "p")
      #expect(loop.run(in: "old 3") == .finished)
    }
  }

  @Test func `a source that left a mode while it was signalled is performed in the mode that takes its place`() {
    withStage(isObserved: false) { stage in
      let loop = stage.loop
      let source = stage.source("s")
      loop.add(source, to: "first")
      source.signal()
      loop.remove(source, from: "first")
      fill(loop)
      loop.add(source, to: "new")
      #expect(!loop.modes.contains("first"))
      loop.run(in: "new", for: .zero)
      #expect(stage.text == "s")
    }
  }

  @Test func `a run of a mode keeps it`() {
    withStage(isObserved: false) { stage in
      let loop = stage.loop
      stage.block("b", in: "running") {
        fill(loop)
        loop.add(Loop.Source {}, to: "new")
        #expect(loop.currentMode == "running" && loop.modes.contains("running"))
      }
      loop.run(in: "running")
      #expect(stage.text == "b")
    }
  }
}
