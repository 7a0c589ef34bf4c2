import Rondo
import RondoFoundation
import RondoTesting
import Testing

/// The perform family, by the rules of Apple's articles.
@Suite struct PerformTests {
  // MARK: - Now

  @Test func `requests are done in order, one after the other, and each ends run(mode:before:)`() throws {
    try withFoundationStage { stage in
      for name in ["a", "b", "c"] { try stage.runLoop.perform(waitUntilDone: false) { stage.note(name) } }
      while stage.runLoop.run(mode: .default, before: .distantPast) { stage.note("|") }
      #expect(stage.text == "a | b | c |")
    }
  }

  @Test func `waiting on the loop's own thread means doing it at once`() throws {
    try withFoundationStage { stage in
      try stage.runLoop.perform(waitUntilDone: false) { stage.note("posted") }
      try stage.runLoop.perform(waitUntilDone: true) { stage.note("at once") }
      stage.runLoop.run(until: .distantPast)
      #expect(stage.text == "at once posted")
    }
  }

  @Test func `in no mode nothing is done, wait or not`() throws {
    try withFoundationStage { stage in
      try stage.runLoop.perform(inModes: [], waitUntilDone: true) { stage.note("never") }
      try stage.runLoop.perform(inModes: [], waitUntilDone: false) { stage.note("never") }
      let delayed = stage.runLoop.perform(afterDelay: 0, inModes: []) { stage.note("never") }
      #expect(!delayed.isPending)
      stage.runLoop.run(until: .distantFuture)
      #expect(stage.text == "")
    }
  }

  @Test func `a request waits for one of its modes`() throws {
    try withFoundationStage { stage in
      stage.runLoop.add(RunLoop.Source {}, forMode: .tracking)
      try stage.runLoop.perform(inModes: [.default], waitUntilDone: false) { stage.note("default") }
      try stage.runLoop.perform(inModes: [.tracking, .default], waitUntilDone: false) { stage.note("either") }
      stage.runLoop.run(mode: .tracking, before: .distantPast)
      stage.note("|")
      stage.runLoop.run(until: .distantPast)
      #expect(stage.text == "either | default")
    }
  }

  @Test func `the order decides between requests of one turn, then the sequence`() {
    withFoundationStage { stage in
      let target = Target(stage)
      stage.runLoop.perform(Target.say, target: target, argument: "late", order: 5)
      stage.runLoop.perform(Target.say, target: target, argument: "first")
      stage.runLoop.perform(Target.say, target: target, argument: "second")
      stage.runLoop.perform(Target.say, target: target, argument: "early", order: -5)
      stage.runLoop.run(until: .distantPast)
      #expect(stage.text == "early first second late")
    }
  }

  @Test func `waiting for another thread returns when it is done`() throws {
    let thread = try LoopThread()
    let notes = Notes()
    try thread.runLoop.perform(waitUntilDone: true) { notes.note(thread.isCurrent ? "there" : "here") }
    notes.note("done")
    thread.stop()
    #expect(notes.text == "there done")
  }

  @Test func `a loop that has ended is an error, and so is one that ends meanwhile`() throws {
    let thread = try LoopThread()
    let runLoop = thread.runLoop
    let caller = try LoopThread()
    let answer = Notes()
    let asked = Tally()
    // The thread is busy, then ends without coming to it: nothing but the default mode is run.
    runLoop.perform {
      caller.execute {
        asked.add()
        do {
          try runLoop.perform(inModes: [.tracking], waitUntilDone: true) { answer.note("done") }
        } catch {
          answer.note("\(error)")
        }
      }
    }
    while asked.count == 0 { Thread.sleep(forTimeInterval: 0.0001) }
    thread.stop()
    caller.stop()
    #expect(answer.text == PerformError.loopEnded.description)
    #expect(throws: PerformError.loopEnded) { try runLoop.perform(waitUntilDone: true) {} }
    #expect(throws: PerformError.loopEnded) { try runLoop.perform(waitUntilDone: false) {} }
    #expect(!runLoop.perform(afterDelay: 0) {}.isPending)
  }

  @Test func `run(mode:before:) in a loop of one's own is ended by a request, as the articles have it`() throws {
    let notes = Notes()
    let shallStop = Tally()
    let started = Tally()
    let thread = Thread {
      RunLoop.current.add(RunLoop.Source {}, forMode: .default)
      started.add()
      while shallStop.count == 0, RunLoop.current.run(mode: .default, before: .distantFuture) { notes.note("turned") }
      notes.note("ended")
      started.add()
    }
    thread.start()
    while started.count == 0 { Thread.sleep(forTimeInterval: 0.0001) }
    try thread.runLoop?.perform(waitUntilDone: true) { shallStop.add() }
    while started.count == 1 { Thread.sleep(forTimeInterval: 0.0001) }
    #expect(notes.text == "turned ended")
  }

  // MARK: - Later

  @Test func `after a delay, in order of date and then of request`() {
    withFoundationStage { stage in
      stage.runLoop.perform(afterDelay: 2) { stage.noteTime("b") }
      stage.runLoop.perform(afterDelay: 1) { stage.noteTime("a") }
      stage.runLoop.perform(afterDelay: 2) { stage.noteTime("c") }
      stage.runLoop.perform(afterDelay: -1) { stage.noteTime("now") }
      stage.runLoop.run()
      #expect(stage.text == "now@0 a@1000 b@2000 c@2000")
    }
  }

  @Test func `a delayed request waits for its mode`() {
    withFoundationStage { stage in
      stage.runLoop.add(RunLoop.Source {}, forMode: .default)
      stage.runLoop.perform(afterDelay: 1, inModes: [.tracking]) { stage.noteTime("tracking") }
      stage.runLoop.run(until: Date(timeIntervalSinceNow: 2))
      stage.runLoop.run(mode: .tracking, before: .distantPast)
      #expect(stage.text == "tracking@2000")
    }
  }

  // MARK: - Taking back

  @Test func `a token takes its request back, once, and lets go of what it captured`() {
    withFoundationStage { stage in
      let deaths = Tally()
      let request = { [witness = Witness(deaths)] in
        stage.runLoop.perform(afterDelay: 1) { stage.note("\(witness)") }
      }()
      #expect(request.isPending && deaths.count == 0)
      #expect(request.cancel())
      #expect(!request.cancel() && !request.isPending)
      #expect(deaths.count == 1)
      stage.runLoop.run()
      #expect(stage.text == "")
    }
  }

  @Test func `a request that has been done is over: there is nothing to take back`() {
    withFoundationStage { stage in
      let request = stage.runLoop.perform(afterDelay: 1) { stage.note("done") }
      stage.runLoop.run()
      stage.runLoop.cancelPerform(request)
      #expect(stage.text == "done" && !request.isPending)
    }
  }

  @Test func `the target takes back all of its own and nobody else's`() {
    withFoundationStage { stage in
      let (mine, other) = (Target(stage), Target(stage))
      stage.runLoop.perform(afterDelay: 1, target: mine) { stage.note("mine later") }
      stage.runLoop.perform(afterDelay: 1, target: other) { stage.note("other later") }
      stage.runLoop.perform(Target.say, target: mine, argument: "mine")
      stage.runLoop.perform(Target.say, target: other, argument: "other")
      stage.runLoop.cancelPerformSelectors(withTarget: mine)
      stage.runLoop.run()
      #expect(stage.text == "other other later")
    }
  }

  @Test func `a request keeps its target until it is done, and no longer`() {
    withFoundationStage { stage in
      weak var target: Target?
      do {
        let made = Target(stage)
        target = made
        stage.runLoop.perform(Target.say, target: made, argument: "said")
      }
      #expect(target != nil)
      stage.runLoop.run()
      #expect(target == nil && stage.text == "said")
    }
  }

  // MARK: - Objects and threads

  @Test func `an object performs its own methods after a delay, and takes them back`() {
    final class Sensor: NSObject {
      let stage: FoundationStage
      init(_ stage: FoundationStage) { self.stage = stage }
      func poll() { stage.noteTime("poll") }
      func read(_ register: Int) { stage.noteTime("read\(register)") }
    }
    withFoundationStage { stage in
      let (sensor, other) = (Sensor(stage), Sensor(stage))
      sensor.perform(Sensor.poll, afterDelay: 1)
      sensor.perform(Sensor.read, with: 7, afterDelay: 2)
      other.perform(Sensor.poll, afterDelay: 3)
      stage.runLoop.run(until: Date(timeIntervalSinceNow: 1.5))
      NSObject.cancelPreviousPerformRequests(withTarget: sensor)
      stage.runLoop.run()
      #expect(stage.text == "poll@1000 poll@3000")
    }
  }

  @Test func `an object performs its methods on a thread that has a run loop`() throws {
    let thread = try LoopThread()
    let (foundationThread, notes) = (try thread.sync { (Thread.current, RunLoop.current) }.0, Notes())
    let speaker = Speaker(notes)
    try speaker.perform(Speaker.say, on: foundationThread, with: "hello", waitUntilDone: true)
    #expect(notes.text == "hello")
    #expect(foundationThread.runLoop === thread.runLoop)
    thread.stop()
    #expect(throws: PerformError.noRunLoop) {
      try speaker.perform(Speaker.say, on: foundationThread, with: "hello", waitUntilDone: true)
    }
    #expect(throws: PerformError.noRunLoop) {
      try speaker.perform(Speaker.say, on: Thread {}, with: "hello", waitUntilDone: false)
    }
    #expect(Thread.mainThread.runLoop === RunLoop.main)
    #expect(notes.text == "hello")
  }
}

private final class Target: Sendable {
  let stage: FoundationStage
  init(_ stage: FoundationStage) { self.stage = stage }
  func say(_ word: String) { stage.note(word) }
}

private final class Speaker: NSObject, Sendable {
  let notes: Notes
  init(_ notes: Notes) { self.notes = notes }
  func say(_ word: String) { notes.note(word) }
}
