import Rondo
import RondoTesting
import Testing

/// Callouts that run the loop, in the same mode or another.
@Suite struct NestingTests {
  @Test func `a nested run of another mode serves that mode alone`() {
    withStage { stage in
      stage.trace.observe(stage.loop, in: "m")
      stage.source("a").signal()
      stage.block("d") {
        stage.block("b", in: "m")
        stage.note("(")
        stage.note("\(stage.loop.run(in: "m", for: .seconds(1)))")
        stage.note(")")
      }
      stage.loop.run(for: .zero)
      #expect(stage.text == "E BT BS d ( E BT BS b X finished ) a X")
    }
  }

  @Test func `a nested run of the same mode serves what the outer one has not served yet`() {
    withStage(isObserved: false) { stage in
      let b = stage.source("b", order: 1)
      stage.source("a") {
        stage.note("(")
        stage.loop.run(for: .zero)
        stage.note(")")
      }.signal()
      b.signal()
      stage.loop.run(for: .zero)
      #expect(stage.text == "a ( b )")
    }
  }

  @Test func `due timers that the outer run has not fired yet fire in the nested run of the same mode, once`() {
    withStage(isObserved: false) { stage in
      stage.timer("t", after: .milliseconds(1)) { _ in
        stage.note("(")
        stage.loop.run(for: .zero)
        stage.note(")")
      }
      stage.timer("u", after: .milliseconds(1))
      stage.timer("v", after: .milliseconds(1))
      #expect(stage.loop.run() == .finished)
      #expect(stage.text == "t ( u v )")
    }
  }

  @Test func `due timers wait while a nested run of another mode is under way`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive(in: "m")
      stage.timer("t", after: .milliseconds(1)) { _ in
        stage.note("(")
        stage.loop.run(in: "m", for: .milliseconds(5))
        stage.note(")")
      }
      stage.timer("u", after: .milliseconds(1)) { _ in stage.noteTime("") }
      stage.loop.run()
      #expect(stage.text == "t ( ) u @6")
    }
  }

  @Test func `a due timer of two modes fires in the nested run, and not again in the outer`() {
    withStage(isObserved: false) { stage in
      stage.timer("t", after: .milliseconds(1)) { _ in
        stage.note("(")
        stage.loop.run(in: "m", for: .milliseconds(5))
        stage.note(")")
      }
      let u = stage.timer("u", after: .milliseconds(1))
      stage.loop.add(u, to: "m")
      stage.loop.run()
      #expect(stage.text == "t ( u )")
    }
  }

  @Test func `a timer in its callout does not fire in a nested run`() {
    withStage(isObserved: false) { stage in
      stage.timer("t", every: .milliseconds(10)) { tick in
        guard stage.text == "t" else { return }
        stage.note("(")
        stage.note("\(stage.loop.run(for: .milliseconds(35)))")
        stage.note("@\(stage.milliseconds) )")
      }
      stage.loop.run(for: .milliseconds(60))
      #expect(stage.text == "t ( timedOut @45 ) t t")
      #expect(stage.loop.statistics.missedTicks == 3)
    }
  }

  @Test func `a source that signals itself is performed again by the nested run`() {
    withStage(isObserved: false) { stage in
      let a = Later<Loop.Source>()
      a.value = stage.source("a") {
        guard stage.text == "a" else { return }
        a.value.signal()
        stage.note("(")
        stage.loop.run(for: .zero)
        stage.note(")")
      }
      a.value.signal()
      stage.loop.run(for: .zero)
      #expect(stage.text == "a ( a )")
    }
  }

  // MARK: - Stop, deadline and result are the run's own

  @Test func `stop ends the innermost run alone`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      stage.block("a") {
        stage.block("b") { stage.loop.stop() }
        stage.note("\(stage.loop.run(for: .seconds(1)))")
      }
      #expect(stage.loop.run(for: .milliseconds(5)) == .timedOut)
      #expect(stage.text == "a b stopped")
    }
  }

  @Test func `a stop before a nested run ends the outer one, after the nested one has ended by itself`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      stage.block("a") {
        stage.loop.stop()
        stage.note("\(stage.loop.run(for: .milliseconds(5)))")
      }
      #expect(stage.loop.run(for: .seconds(1)) == .stopped)
      #expect(stage.text == "a timedOut")
      #expect(stage.milliseconds == 5)
    }
  }

  @Test func `each run has a deadline of its own`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      stage.block("a") {
        stage.note("\(stage.loop.run(for: .milliseconds(5)))")
        stage.noteTime("inner")
      }
      #expect(stage.loop.run(for: .milliseconds(12)) == .timedOut)
      #expect(stage.text == "a timedOut inner@5")
      #expect(stage.milliseconds == 12)
    }
  }

  @Test(arguments: [Loop.Activity.beforeTimers, .beforeSources, .beforeWaiting])
  func `an outer deadline that passes in an observer's nested run is not overslept`(_ activity: Loop.Activity) {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      stage.keepAlive(in: "m")
      stage.observer(activity, repeats: false) { _ in stage.loop.run(in: "m", for: .milliseconds(20)) }
      #expect(stage.loop.run(for: .milliseconds(10)) == .timedOut)
      #expect(stage.milliseconds == 20)
    }
  }

  @Test func `a wakeup meant for the outer run is not eaten by the nested one`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive(in: "m")
      let a = stage.source("a")
      stage.observer(.beforeWaiting, repeats: false) { _ in
        a.signal()
        stage.loop.run(in: "m", for: .milliseconds(1))
      }
      stage.loop.run(for: .milliseconds(50), returnAfterSourceHandled: true)
      #expect(stage.text == "a")
      #expect(stage.milliseconds == 1)
    }
  }

  @Test func `a nested run's handled source is not the outer run's`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      stage.source("a", in: "m").signal()
      stage.block("b") {
        stage.note("\(stage.loop.run(in: "m", for: .seconds(1), returnAfterSourceHandled: true))")
      }
      #expect(stage.loop.run(for: .milliseconds(5), returnAfterSourceHandled: true) == .timedOut)
      #expect(stage.text == "b a handledSource")
    }
  }

  @Test func `the current mode is the innermost run's, and the outer one's again afterwards`() {
    withStage(isObserved: false) { stage in
      stage.block("a", in: "m") {
        stage.block("b", in: "n") { stage.note(stage.loop.currentMode!.rawValue) }
        stage.loop.run(in: "n")
        stage.note(stage.loop.currentMode!.rawValue)
      }
      stage.loop.run(in: "m")
      #expect(stage.text == "a b n m")
    }
  }

  /// Runs `m` in the callout of a timer that is in `m` as well, after `change`.
  private func nestInTimer(_ change: @escaping @Sendable (Loop) -> Void) -> String {
    var text = ""
    withStage(isObserved: false) { stage in
      stage.keepAlive(in: "m")
      let timer = stage.timer("t", after: .milliseconds(10)) { _ in
        change(stage.loop)
        stage.trace.observe(stage.loop, in: "m")
        stage.loop.run(in: "m", for: .milliseconds(25))
        stage.noteTime("")
      }
      stage.loop.add(timer, to: "m")
      stage.loop.run(for: .milliseconds(45))
      text = stage.text
    }
    return text
  }

  @Test func `a one-shot in its callout wakes none of its other modes`() {
    #expect(nestInTimer { _ in } == "t E BT BS BW AW X @35")
    let text = nestInTimer { loop in loop.add(Loop.Timer(after: .seconds(60)) { _ in }, to: "m") }
    #expect(text == "t E BT BS BW AW X @35")
  }

  @Test func `what two runs around a nested one have collected is in its queue once`() {
    withStage(isObserved: false) { stage in
      for name in ["a", "b", "c"] {
        stage.timer(name, every: .milliseconds(10)) { _ in
          guard stage.loop.heartbeat.depth < 3 else { return }
          stage.loop.run(for: .zero)
          stage.loop.checkInvariants()
        }
      }
      let timeout = stage.loop.makeTimeout(after: .milliseconds(10)) { stage.note("timeout") }
      stage.loop.run(for: .milliseconds(15))
      #expect(stage.text == "a b c timeout")
      stage.loop.discard(timeout)
    }
  }

  @Test func `runs may be nested a hundred deep`() {
    withStage(isObserved: false) { stage in
      let depth = Later(0)
      @Sendable func descend() {
        depth.value += 1
        #expect(stage.loop.heartbeat.depth == depth.value)
        guard depth.value < 100 else { return }
        stage.loop.perform { descend() }
        #expect(stage.loop.run() == .finished)
      }
      stage.loop.perform { descend() }
      #expect(stage.loop.run() == .finished)
      #expect(depth.value == 100)
      #expect(stage.loop.heartbeat.depth == 0)
    }
  }

  @Test func `a ready descriptor that the outer run has not told yet is told again by the kernel, once in all`() {
    let text = onLoopThread { stage in
      let pipes = [stage.pipe(), stage.pipe()]
      for (name, pipe) in zip(["a", "b"], pipes) {
        pipe.write(1)
        let source = try? Loop.DescriptorSource(pipe.reader, for: .read, order: name == "a" ? 0 : 1) { _, _ in
          stage.note(name)
          pipe.drain()
          guard name == "a" else { return }
          stage.note("(")
          stage.loop.run(for: .zero)
          stage.note(")")
        }
        stage.loop.add(source!)
      }
      stage.loop.run(for: .zero)
      stage.loop.run(for: .zero)
      return stage.text
    }
    #expect(text == "a ( b )")
  }

  // MARK: - Late stops

  @Test func `a stop that comes too late for a nested run does not stop the run around it`() {
    let results = onLoopThread { stage -> [Loop.RunResult] in
      let loop = stage.loop
      stage.keepAlive(in: "inner")
      let observer = Loop.Observer(.exit) { _ in
        // The run has decided how it ends; the stop is still meant for it.
        TestThread { loop.stop() }.join()
      }
      loop.add(observer, to: "inner")
      let inner = Later<Loop.RunResult>()
      loop.perform { inner.value = loop.run(in: "inner", for: .zero) }
      let outer = loop.run(for: .seconds(60))
      observer.invalidate()
      return [inner.value, outer]
    }
    #expect(results == [.timedOut, .finished])
  }

  @Test func `a stop for the outer run that comes after the nested one has ended stops the outer one`() {
    let result = onLoopThread { stage -> Loop.RunResult in
      let loop = stage.loop
      stage.keepAlive()
      stage.keepAlive(in: "inner")
      loop.perform {
        loop.run(in: "inner", for: .zero)
        TestThread { loop.stop() }.join()
      }
      return loop.run(for: .seconds(60))
    }
    #expect(result == .stopped)
  }
}
