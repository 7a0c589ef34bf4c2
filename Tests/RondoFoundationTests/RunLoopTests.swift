import Rondo
import RondoFoundation
import RondoTesting
import Testing

/// RunLoop: Foundation's members and results, and what it lacks on Linux.
@Suite struct RunLoopTests {
  // MARK: - Whose

  @Test func `a thread has one run loop, equal to itself and to no other`() throws {
    let thread = try LoopThread()
    let (first, second) = try thread.sync { (RunLoop.current, RunLoop.current) }
    #expect(first === second && first == second && first.hash == second.hash)
    #expect(first != RunLoop.main)
    #expect(try thread.sync { RunLoop.main } === RunLoop.main)
    #expect(Set([first, second, RunLoop.main]).count == 2)
    thread.stop()
  }

  @Test func `the loop underneath is Rondo's, and leads back`() throws {
    let thread = try LoopThread()
    #expect(try thread.sync { RunLoop.current.getLoop() === Loop.current })
    #expect(RunLoop.of(thread.loop).getLoop() === thread.loop)
    #expect(RunLoop.main.getLoop() === Loop.main)
    thread.stop()
  }

  @Test func `a run loop ends with its thread, and nobody else keeps it`() throws {
    let thread = try LoopThread()
    weak let runLoop = RunLoop.of(thread.loop)
    #expect(runLoop != nil)
    thread.stop()
    #expect(runLoop == nil)
  }

  @Test func `the modes have Foundation's names`() {
    #expect(RunLoop.Mode.default.rawValue == "kCFRunLoopDefaultMode")
    #expect(RunLoop.Mode.common.rawValue == "kCFRunLoopCommonModes")
    #expect(Loop.Mode(RunLoop.Mode.default) == .default)
    #expect(Loop.Mode(RunLoop.Mode.common) == .common)
    #expect(RunLoop.Mode.self == Foundation.RunLoop.Mode.self)
  }

  @Test func `on another thread, running does nothing and says so`() throws {
    let thread = try LoopThread()
    let other = RunLoop.of(thread.loop)
    other.run()
    other.run(until: .distantFuture)
    other.acceptInput(forMode: RunLoop.Mode.default.rawValue, before: .distantFuture)
    #expect(!other.run(mode: .default, before: .distantFuture))
    #expect(other.limitDate(forMode: .default) == nil)
    thread.stop()
  }

  // MARK: - Running

  @Test func `a mode with nothing in it is not run`() {
    withFoundationStage { stage in
      stage.trace.observe(stage.loop)
      #expect(!stage.runLoop.run(mode: .default, before: .distantFuture))
      #expect(!stage.runLoop.run(mode: .common, before: .distantFuture))
      stage.runLoop.run()
      stage.runLoop.run(until: .distantFuture)
      #expect(stage.text == "")
    }
  }

  @Test func `run(mode:before:) returns after one source, and not after a timer or a block`() {
    withFoundationStage { stage in
      let first = RunLoop.Source { stage.note("first") }
      let second = RunLoop.Source { stage.note("second") }
      for source in [first, second] {
        stage.runLoop.add(source, forMode: .default)
        source.signal()
      }
      #expect(stage.runLoop.run(mode: .default, before: .distantFuture))
      #expect(stage.text == "first")
      stage.runLoop.perform { stage.note("block") }
      stage.virtual.at(.seconds(3)) { stage.runLoop.stop() }
      Timer.scheduledTimer(withTimeInterval: 1, repeats: false) { _ in stage.noteTime("timer") }
      #expect(stage.runLoop.run(mode: .default, before: .distantFuture))
      #expect(stage.runLoop.run(mode: .default, before: .distantFuture))
      #expect(stage.text == "first block second timer@1000")
      #expect(stage.virtual.elapsed == .seconds(3))
    }
  }

  @Test func `run(mode:before:) with a past date looks once`() {
    withFoundationStage { stage in
      stage.runLoop.add(RunLoop.Source {}, forMode: .default)
      stage.trace.observe(stage.loop)
      #expect(stage.runLoop.run(mode: .default, before: .distantPast))
      #expect(stage.text == "E BT BS X")
    }
  }

  @Test func `run can be stopped, and run(until:) too`() {
    withFoundationStage { stage in
      Timer.scheduledTimer(withTimeInterval: 1, repeats: true) { timer in
        stage.noteTime("tick")
        if stage.virtual.elapsed >= .seconds(2) { stage.runLoop.stop() }
      }
      stage.runLoop.run()
      stage.note("stopped")
      stage.runLoop.run(until: .distantFuture)
      #expect(stage.text == "tick@1000 tick@2000 stopped tick@3000")
    }
  }

  @Test func `run(until:) goes on after sources, until its date`() {
    withFoundationStage { stage in
      let source = RunLoop.Source { stage.note("source") }
      stage.runLoop.add(source, forMode: .default)
      for second in 1...3 { stage.virtual.at(.seconds(second)) { source.signal() } }
      stage.runLoop.run(until: Date(timeIntervalSinceNow: 2.5))
      stage.noteTime("end")
      #expect(stage.text == "source source end@2500")
    }
  }

  @Test func `the current mode is that of the innermost run`() {
    withFoundationStage { stage in
      #expect(stage.runLoop.currentMode == nil)
      stage.runLoop.perform {
        stage.note(stage.runLoop.currentMode!.rawValue)
        let inner = RunLoop.Source { stage.note(RunLoop.current.currentMode!.rawValue) }
        stage.runLoop.add(inner, forMode: .tracking)
        inner.signal()
        stage.runLoop.acceptInput(forMode: RunLoop.Mode.tracking.rawValue, before: .distantFuture)
      }
      stage.runLoop.run(mode: .default, before: .distantPast)
      #expect(stage.text == "kCFRunLoopDefaultMode UITrackingRunLoopMode")
    }
  }

  // MARK: - Limit date

  @Test func `limitDate serves what is due, and tells the next timer's date`() {
    withFoundationStage { stage in
      #expect(stage.runLoop.limitDate(forMode: .default) == nil)
      #expect(stage.runLoop.limitDate(forMode: .common) == nil)
      stage.runLoop.add(RunLoop.Source {}, forMode: .default)
      #expect(stage.runLoop.limitDate(forMode: .default) == .distantFuture)
      let date = Date(timeIntervalSinceNow: 100)
      let timer = Timer(fire: date, interval: 0, repeats: false) { _ in }
      stage.runLoop.add(timer, forMode: .default)
      stage.runLoop.perform { stage.note("block") }
      let limit = stage.runLoop.limitDate(forMode: .default)!
      #expect(abs(limit.timeIntervalSince(date)) < 50)
      #expect(stage.text == "block")
    }
  }

  // MARK: - Blocks

  @Test func `blocks run once in the first of their modes that runs, in order; in no mode never`() {
    withFoundationStage { stage in
      stage.runLoop.add(RunLoop.Source {}, forMode: .tracking)
      stage.runLoop.perform(inModes: [.default, .tracking]) { stage.note("both") }
      stage.runLoop.perform(inModes: []) { stage.note("never") }
      stage.runLoop.perform { stage.note("default") }
      stage.runLoop.perform(inModes: [.common]) { stage.note("common") }
      stage.runLoop.run(mode: .tracking, before: .distantPast)
      stage.note("|")
      stage.runLoop.run(mode: .default, before: .distantPast)
      #expect(stage.text == "both | default common")
    }
  }

  @Test func `a block from another thread wakes a sleeping loop`() throws {
    let thread = try LoopThread()
    let ran = Tally()
    while !thread.loop.isWaiting { Thread.sleep(forTimeInterval: 0.0001) }
    RunLoop.of(thread.loop).perform { ran.add() }
    while ran.count == 0 { Thread.sleep(forTimeInterval: 0.0001) }
    thread.stop()
    #expect(ran.count == 1)
  }

  // MARK: - Items

  @Test func `sources, observers and timers are added, found and removed by CF's rules`() {
    withFoundationStage { stage in
      let runLoop = stage.runLoop
      let source = RunLoop.Source { stage.note("source") }
      let observer = RunLoop.Observer(.entry) { _ in stage.note("entry") }
      let timer = Timer(timeInterval: 1, repeats: true) { _ in stage.noteTime("timer") }
      runLoop.addCommonMode(.tracking)
      runLoop.add(source, forMode: .common)
      runLoop.add(observer, forMode: .default)
      runLoop.add(timer, forMode: .tracking)
      #expect(runLoop.contains(source, forMode: .tracking))
      #expect(!runLoop.contains(observer, forMode: .tracking))
      #expect(runLoop.contains(timer, forMode: .tracking) && !runLoop.contains(timer, forMode: .default))
      #expect(runLoop.allModes == [.default, .tracking])
      source.signal()
      runLoop.run(mode: .default, before: .distantPast)
      runLoop.remove(source, forMode: .common)
      runLoop.run(mode: .tracking, before: Date(timeIntervalSinceNow: 1.5))
      runLoop.remove(timer, forMode: .tracking)
      #expect(!runLoop.run(mode: .tracking, before: .distantFuture))
      #expect(timer.isValid)
      runLoop.add(timer, forMode: .default)
      runLoop.run(mode: .default, before: Date(timeIntervalSinceNow: 1))
      #expect(stage.text == "entry source timer@1000 entry timer@2000")
    }
  }

  @Test func `the activities have CFRunLoopActivity's values`() {
    let all: [RunLoop.Activity] = [.entry, .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting, .exit]
    #expect(all.map(\.rawValue) == [1, 2, 4, 32, 64, 128])
  }
}
