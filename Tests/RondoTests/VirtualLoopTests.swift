import Rondo
import RondoTesting
import Testing

@Suite struct VirtualLoopTests {
  @Test func `a virtual loop stands in for the thread's own, in its scope alone`() {
    withVirtualLoop { outer in
      #expect(Loop.current === outer.loop)
      withVirtualLoop { inner in
        #expect(Loop.current === inner.loop)
        #expect(inner.loop !== outer.loop)
      }
      #expect(Loop.current === outer.loop)
    }
  }

  @Test func `timers made in the scope go by its clock`() {
    withVirtualLoop { virtual in
      virtual.spend(.seconds(1000))
      let timer = Loop.Timer(after: .seconds(1)) { _ in }
      #expect(timer.fireDate == virtual.now.advanced(by: .seconds(1)))
    }
  }

  @Test func `items are invalid when the scope ends`() {
    var items: [Loop.Item] = []
    withVirtualLoop { virtual in
      items = [Loop.Timer(after: .seconds(1)) { _ in }, Loop.Observer(.all) { _ in }]
      for item in items { virtual.loop.add(item) }
    }
    #expect(items.allSatisfy { !$0.isValid })
  }

  @Test func `the clock jumps to a deadline, and not beyond`() {
    withStage(isObserved: false) { stage in
      stage.timer("t", after: .seconds(86_400))
      stage.loop.run()
      #expect(stage.virtual.elapsed == .seconds(86_400))
      #expect(stage.virtual.sleeps == 1)
    }
  }

  @Test func `a run with nothing to wait for ends instead of sleeping for ever`() {
    withStage { stage in
      stage.keepAlive()
      #expect(stage.loop.run() == .stopped)
      #expect(stage.text == "E BT BS BW AW X")
    }
  }

  // MARK: - The script

  @Test func `what a script says happens in order of time, then of saying`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      for (name, offset) in [("c", 3), ("a", 1), ("d", 3), ("b", 2)] {
        stage.virtual.at(.milliseconds(offset)) { stage.noteTime(name) }
      }
      stage.loop.run(for: .milliseconds(10))
      #expect(stage.text == "a@1 b@2 c@3 d@3")
    }
  }

  @Test func `an event of the script that concerns nobody does not end the sleep`() {
    withStage { stage in
      stage.keepAlive()
      stage.virtual.at(.milliseconds(1)) { stage.note("x") }
      stage.loop.run(for: .milliseconds(10))
      #expect(stage.text == "E BT BS BW x AW X")
      #expect(stage.loop.statistics.spuriousWakeups == 1)
    }
  }

  @Test func `an event of the script that time has passed by happens at the next wait`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      stage.virtual.at(.milliseconds(1)) { stage.noteTime("x") }
      stage.virtual.spend(.milliseconds(5))
      #expect(stage.text == "")
      stage.loop.run(for: .zero)
      #expect(stage.text == "x@5")
    }
  }

  @Test func `makeReady makes a descriptor source ready once`() throws {
    try withStage(isObserved: false) { stage in
      let source = try Loop.DescriptorSource(UnconnectedSocket.shared, for: [.read, .write]) { source, readiness in
        stage.note("\(readiness)@\(stage.milliseconds)")
      }
      stage.loop.add(source)
      stage.virtual.makeReady(source, .write)
      stage.virtual.makeReady(source, .read, at: .milliseconds(7))
      stage.loop.run(for: .milliseconds(20))
      #expect(stage.text == "write@0 read@7")
    }
  }

  @Test func `makeReady waits for the mode that holds the source`() throws {
    try withStage(isObserved: false) { stage in
      stage.keepAlive()
      let source = try Loop.DescriptorSource(UnconnectedSocket.shared, for: .read) { _, _ in stage.note("d") }
      stage.loop.add(source, to: "m")
      stage.virtual.makeReady(source, .read)
      stage.loop.run(for: .milliseconds(1))
      #expect(stage.text == "")
      stage.loop.run(in: "m", for: .zero)
      #expect(stage.text == "d")
    }
  }

  @Test func `readiness that the source did not ask for is not told`() throws {
    try withStage(isObserved: false) { stage in
      let source = try Loop.DescriptorSource(UnconnectedSocket.shared, for: .read) { _, readiness in
        stage.note("\(readiness)")
      }
      stage.loop.add(source)
      stage.virtual.makeReady(source, .write)
      stage.loop.run(for: .zero)
      #expect(stage.text == "")
      stage.virtual.makeReady(source, [.read, .write])
      stage.loop.run(for: .zero)
      #expect(stage.text == "read")
    }
  }

  // MARK: - Moving on

  @Test func `runUntilIdle serves all that is due and leaves the clock alone`() {
    withStage(isObserved: false) { stage in
      stage.timer("t", after: .zero) { _ in stage.block("b") { stage.source("a").signal() } }
      stage.timer("later", after: .nanoseconds(1))
      #expect(stage.virtual.runUntilIdle())
      #expect(stage.text == "t b a")
      #expect(stage.virtual.elapsed == .zero)
    }
  }

  @Test func `runUntilIdle gives up on what never becomes idle`() {
    withStage(isObserved: false) { stage in
      let a = Later<Loop.Source>()
      a.value = stage.source("a") { a.value.signal() }
      a.value.signal()
      #expect(!stage.virtual.runUntilIdle(turns: 50))
      #expect(stage.trace.tokens.count == 50)
    }
  }

  @Test func `advanceToNextDeadline goes from timer to timer`() {
    withStage(isObserved: false) { stage in
      stage.timer("a", after: .milliseconds(10)) { _ in stage.noteTime("") }
      stage.timer("b", after: .milliseconds(30)) { _ in stage.noteTime("") }
      #expect(stage.virtual.advanceToNextDeadline())
      #expect(stage.take() == "a @10")
      #expect(stage.virtual.advanceToNextDeadline())
      #expect(stage.take() == "b @30")
      #expect(!stage.virtual.advanceToNextDeadline())
      #expect(stage.milliseconds == 30)
    }
  }

  @Test func `advanceToNextDeadline also goes to what the script says`() {
    withStage(isObserved: false) { stage in
      stage.keepAlive()
      stage.virtual.at(.milliseconds(4)) { stage.block("b") { stage.noteTime("") } }
      stage.timer("t", after: .milliseconds(9))
      #expect(stage.virtual.advanceToNextDeadline())
      #expect(stage.take() == "b @4")
      #expect(stage.virtual.advanceToNextDeadline())
      #expect(stage.take() == "t")
    }
  }

  @Test func `advance runs the loop for that long, and time passes even with nothing to run`() {
    withStage(isObserved: false) { stage in
      stage.timer("t", every: .milliseconds(10)) { tick in if stage.milliseconds == 30 { tick.timer.invalidate() } }
      #expect(stage.virtual.advance(by: .milliseconds(25)) == .timedOut)
      #expect(stage.take() == "t t")
      #expect(stage.virtual.advance(by: .milliseconds(25)) == .finished)
      #expect(stage.take() == "t")
      #expect(stage.milliseconds == 50)
    }
  }

  @Test func `a trace is taken once`() {
    let trace = Trace()
    trace.note("a")
    trace.note("b")
    #expect(trace.take() == "a b")
    #expect(trace.text == "")
  }
}
