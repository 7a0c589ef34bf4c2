import Rondo
import RondoTesting
import Testing

// The examples of the article HowALoopRuns and of Rondo's landing page, run.

@Suite struct HowALoopRunsTests {
  @Test func `Rondo: a first loop`() {
    let output = Output()
    @Sendable func print(_ text: String) { output.add(text) }
    withVirtualLoop { _ in
      let loop = Loop.current
      loop.add(
        Loop.Timer(every: .seconds(60), tolerance: .seconds(6)) { tick in print("a minute, \(tick.missed) missed") })
      loop.perform { print("soon") }
      print("\(loop.run(for: .seconds(150)))")
    }
    #expect(output.text == "soon, a minute, 0 missed, a minute, 0 missed, timedOut")
  }

  @Test func `a run ends by itself`() {
    let output = Output()
    @Sendable func print(_ text: String) { output.add(text) }
    withVirtualLoop { _ in
      let loop = Loop.current
      loop.add(Loop.Timer(after: .seconds(1)) { _ in print("a second later") })
      loop.perform { print("a block") }
      let result = loop.run()
      print("\(result)")
    }
    #expect(output.text == "a block, a second later, finished")
  }

  @Test func `an observer shows the turn`() {
    withVirtualLoop { virtual in
      let loop = virtual.loop

      let trace = Trace()
      trace.observe(loop)
      loop.add(Loop.Source {})
      loop.add(Loop.Timer(after: .milliseconds(10)) { _ in trace.note("timer") })
      #expect(loop.run(for: .milliseconds(30)) == .timedOut)
      #expect(trace.text == "E BT BS BW AW timer BT BS BW AW X")
    }
  }

  @Test func `a nested run suspends other modes, and has a result of its own`() {
    let output = Output()
    @Sendable func print(_ text: String) { output.add(text) }
    withVirtualLoop { virtual in
      let loop = virtual.loop

      let answer = Loop.Source { loop.stop() }
      loop.add(answer, to: "question")
      loop.add(Loop.Timer(every: .seconds(1)) { _ in print("ordinary work") })
      loop.add(
        Loop.Timer(after: .milliseconds(2500)) { _ in
          answer.signal()
          let result = loop.run(in: "question")
          print("the question's run: \(result)")
          loop.stop()
        })
      print("the outer run: \(loop.run())")

      #expect(virtual.elapsed == .milliseconds(2500))
      answer.invalidate()
    }
    #expect(output.text == "ordinary work, ordinary work, the question's run: stopped, the outer run: stopped")
  }

  @Test func `items of another mode wait, and are served later`() {
    let output = Output()
    withVirtualLoop { virtual in
      let loop = virtual.loop
      loop.add(Loop.Timer(after: .milliseconds(10)) { _ in output.add("ordinary") })
      loop.add(Loop.Timer(after: .milliseconds(20)) { _ in output.add("urgent") }, to: "urgent")
      #expect(loop.run(in: "urgent") == .finished)
      #expect(loop.run() == .finished)
      #expect(virtual.elapsed == .milliseconds(20))
    }
    #expect(output.text == "urgent, ordinary")
  }

  @Test func `a mode with nothing but an observer is empty`() {
    withVirtualLoop { virtual in
      virtual.loop.add(Loop.Observer(.all) { _ in Issue.record("called") })
      #expect(virtual.loop.run() == .finished)
      #expect(virtual.loop.run(in: "unheard of") == .finished)
    }
  }

  @Test func `an armed timeout keeps its mode from being empty, a dormant one does not`() {
    withVirtualLoop { virtual in
      let loop = virtual.loop
      let timeout = loop.makeTimeout(after: .seconds(1), in: .common) {}
      #expect(loop.run(for: .milliseconds(500)) == .timedOut)
      #expect(loop.run() == .finished)
      #expect(virtual.elapsed == .seconds(1))
      loop.discard(timeout)
    }
  }
}
