import Rondo
import RondoFoundation
import RondoTesting
import Testing

/// Timer: Foundation's members, on virtual time.
@Suite struct TimerTests {
  @Test func `a one-shot fires once, an interval after it was made, and is then invalid`() {
    withFoundationStage { stage in
      let timer = Timer.scheduledTimer(withTimeInterval: 1.5, repeats: false) { timer in
        stage.noteTime(timer.isValid ? "valid" : "invalid")
      }
      stage.runLoop.run()
      #expect(stage.text == "valid@1500")
      #expect(!timer.isValid && timer.timeInterval == 0)
      #expect(stage.virtual.elapsed == .milliseconds(1500))
    }
  }

  @Test func `a repeating timer's first fire is an interval away, however it is made`() {
    withFoundationStage { stage in
      let made = Timer(timeInterval: 1, repeats: true) { _ in stage.noteTime("made") }
      stage.runLoop.add(made, forMode: .default)
      let scheduled = Timer.scheduledTimer(withTimeInterval: 1, repeats: true) { _ in stage.noteTime("scheduled") }
      stage.runLoop.run(until: Date(timeIntervalSinceNow: 2.5))
      #expect(stage.text == "made@1000 scheduled@1000 made@2000 scheduled@2000")
      #expect(made.timeInterval == 1 && scheduled.isValid)
    }
  }

  @Test func `fire(date, interval) fires at the date and on the grid that begins there`() {
    withFoundationStage { stage in
      let date = Date(timeIntervalSinceNow: 0.25)
      let timer = Timer(fire: date, interval: 1, repeats: true) { _ in stage.noteTime("tick") }
      #expect(timer.fireDate == date)
      stage.runLoop.add(timer, forMode: .default)
      stage.virtual.at(.seconds(2)) { stage.virtual.spend(.seconds(2)) }
      stage.virtual.at(.milliseconds(6000)) { stage.runLoop.stop() }
      stage.runLoop.run()
      #expect(stage.text == "tick@250 tick@1250 tick@4000 tick@4250 tick@5250")
    }
  }

  @Test func `a past date fires at once, and is told as it was set`() {
    withFoundationStage { stage in
      let past = Date(timeIntervalSinceNow: -1000)
      let timer = Timer(fire: past, interval: 2, repeats: true) { _ in stage.noteTime("tick") }
      #expect(timer.fireDate == past)
      stage.runLoop.add(timer, forMode: .default)
      stage.runLoop.run(until: Date(timeIntervalSinceNow: 3))
      #expect(stage.text == "tick@0 tick@2000")
      #expect(timer.fireDate > Date(timeIntervalSinceNow: -1))
    }
  }

  @Test func `fire dates on the grid differ by whole intervals from the one that was set`() {
    withFoundationStage { stage in
      let date = Date(timeIntervalSinceNow: 10)
      let timer = Timer(fire: date, interval: 5, repeats: true) { _ in }
      stage.runLoop.add(timer, forMode: .default)
      for _ in 0..<3 { stage.virtual.advanceToNextDeadline() }
      #expect(abs(timer.fireDate.timeIntervalSince(date) - 15) < 1e-5)
    }
  }

  @Test func `a fire date far in the future pauses, and an earlier one resumes`() {
    withFoundationStage { stage in
      let timer = Timer.scheduledTimer(withTimeInterval: 1, repeats: true) { _ in stage.noteTime("tick") }
      timer.fireDate = .distantFuture
      #expect(timer.fireDate.timeIntervalSinceReferenceDate == 4_039_289_856)
      stage.virtual.at(.seconds(5)) { timer.fireDate = Date(timeIntervalSinceNow: 0.5) }
      stage.virtual.at(.seconds(7)) { stage.runLoop.stop() }
      stage.runLoop.run()
      #expect(stage.text == "tick@5500 tick@6500")
    }
  }

  @Test func `an invalid timer's fire date is the reference date, and setting it does nothing`() {
    withFoundationStage { stage in
      let timer = Timer.scheduledTimer(withTimeInterval: 1, repeats: true) { _ in stage.note("tick") }
      timer.invalidate()
      timer.fireDate = Date(timeIntervalSinceNow: 1)
      timer.tolerance = 1
      timer.fire()
      #expect(!timer.isValid && timer.timeInterval == 1)
      #expect(timer.fireDate == Date(timeIntervalSinceReferenceDate: 0))
      stage.runLoop.add(timer, forMode: .default)
      #expect(!stage.runLoop.run(mode: .default, before: .distantFuture))
      #expect(stage.text == "")
    }
  }

  @Test func `tolerance lets two timers share one wakeup`() {
    withFoundationStage { stage in
      let lenient = Timer.scheduledTimer(withTimeInterval: 1, repeats: false) { _ in stage.noteTime("lenient") }
      lenient.tolerance = 0.5
      Timer.scheduledTimer(withTimeInterval: 1.25, repeats: false) { _ in stage.noteTime("exact") }
      #expect(lenient.tolerance == 0.5)
      stage.runLoop.run()
      #expect(stage.text == "lenient@1250 exact@1250")
      #expect(stage.virtual.sleeps == 1)
    }
  }

  @Test func `a tolerance is at most half an interval and at least nothing`() {
    let repeating = Timer(timeInterval: 1, repeats: true) { _ in }
    repeating.tolerance = 10
    #expect(repeating.tolerance == 0.5)
    repeating.tolerance = -1
    #expect(repeating.tolerance == 0)
    let once = Timer(timeInterval: 1, repeats: false) { _ in }
    once.tolerance = 10
    #expect(once.tolerance == 10)
  }

  @Test func `fire calls the block at once; a one-shot is then invalid, a repeating one keeps its grid`() {
    withFoundationStage { stage in
      let once = Timer.scheduledTimer(withTimeInterval: 1, repeats: false) { _ in stage.noteTime("once") }
      let repeating = Timer.scheduledTimer(withTimeInterval: 1, repeats: true) { _ in stage.noteTime("repeating") }
      once.fire()
      repeating.fire()
      #expect(!once.isValid && repeating.isValid)
      stage.runLoop.run(until: Date(timeIntervalSinceNow: 1.5))
      #expect(stage.text == "once@0 repeating@0 repeating@1000")
    }
  }

  @Test func `a timer in two modes fires in whichever runs`() {
    withFoundationStage { stage in
      let timer = Timer(timeInterval: 1, repeats: true) { _ in
        stage.noteTime(stage.runLoop.currentMode == .tracking ? "tracking" : "default")
      }
      stage.runLoop.add(timer, forMode: .default)
      stage.runLoop.add(timer, forMode: .tracking)
      stage.runLoop.run(mode: .default, before: Date(timeIntervalSinceNow: 1.5))
      stage.runLoop.run(mode: .tracking, before: Date(timeIntervalSinceNow: 1))
      #expect(stage.text == "default@1000 tracking@2000")
    }
  }

  @Test func `the target's method is the selector, and userInfo is what was given`() {
    final class Sensor {
      let stage: FoundationStage
      init(_ stage: FoundationStage) { self.stage = stage }
      func poll(_ timer: Timer) { stage.noteTime("\(timer.userInfo as? String ?? "nothing")") }
    }
    withFoundationStage { stage in
      let sensor = Sensor(stage)
      Timer.scheduledTimer(timeInterval: 1, target: sensor, selector: Sensor.poll, userInfo: "a", repeats: false)
      let made = Timer(timeInterval: 2, target: sensor, selector: Sensor.poll, userInfo: nil, repeats: false)
      let dated = Timer(
        fireAt: Date(timeIntervalSinceNow: 3), interval: 1, target: sensor, selector: Sensor.poll, userInfo: "c",
        repeats: true)
      stage.runLoop.add(made, forMode: .default)
      stage.runLoop.add(dated, forMode: .default)
      stage.runLoop.run(until: Date(timeIntervalSinceNow: 4.5))
      #expect(stage.text == "a@1000 nothing@2000 c@3000 c@4000")
      dated.invalidate()
      #expect(dated.userInfo == nil)
    }
  }

  @Test func `an interval of zero repeats every tenth of a millisecond`() {
    withFoundationStage { stage in
      let ticks = Tally()
      let timer = Timer.scheduledTimer(withTimeInterval: 0, repeats: true) { timer in
        ticks.add()
        if ticks.count == 10 { timer.invalidate() }
      }
      #expect(timer.timeInterval == 0.0001)
      stage.runLoop.run()
      #expect(stage.virtual.elapsed == .milliseconds(1))
    }
  }

  @Test func `a timer that is made and never scheduled fires nowhere, and can be fired by hand`() {
    withFoundationStage { stage in
      let timer = Timer(timeInterval: 1, repeats: false) { _ in stage.note("by hand") }
      #expect(timer.isValid)
      #expect(!stage.runLoop.run(mode: .default, before: .distantFuture))
      timer.fire()
      timer.fire()
      #expect(stage.text == "by hand")
    }
  }

  @Test func `a timer is in one loop: another does not take it`() throws {
    try withFoundationStage { stage in
      let thread = try LoopThread()
      let timer = Timer.scheduledTimer(withTimeInterval: 1, repeats: false) { _ in stage.noteTime("here") }
      RunLoop.of(thread.loop).add(timer, forMode: .default)
      #expect(!RunLoop.of(thread.loop).contains(timer, forMode: .default))
      stage.runLoop.run()
      #expect(stage.text == "here@1000")
      thread.stop()
    }
  }

  @Test func `a real timer is never early`() throws {
    let thread = try LoopThread()
    let lateness = try thread.sync {
      let clock = SuspendingClock()
      let end = clock.now.advanced(by: .milliseconds(2))
      let notes = LatenessBox()
      Timer.scheduledTimer(withTimeInterval: 0.002, repeats: false) { _ in
        notes.lateness = end.duration(to: clock.now)
        RunLoop.current.stop()
      }
      RunLoop.current.run()
      return notes.lateness!
    }
    #expect(lateness >= .zero)
    thread.stop()
  }

  // MARK: - Lifetime

  @Test func `a one-shot that nobody keeps is gone when it has fired, and so is its block`() {
    withFoundationStage { stage in
      let deaths = Tally()
      weak var timer: Timer?
      do {
        let witness = Witness(deaths)
        timer = Timer.scheduledTimer(withTimeInterval: 1, repeats: false) { _ in _ = witness }
      }
      #expect(timer != nil && deaths.count == 0)
      stage.runLoop.run()
      #expect(timer == nil && deaths.count == 1)
    }
  }

  @Test func `an invalid timer lets go of its block, even one that captured the timer`() {
    withFoundationStage { _ in
      let deaths = Tally()
      weak var gone: Timer?
      do {
        let box = TimerBox()
        let witness = Witness(deaths)
        box.timer = Timer.scheduledTimer(withTimeInterval: 1, repeats: true) { _ in _ = (box, witness) }
        gone = box.timer
        box.timer!.invalidate()
      }
      #expect(gone == nil && deaths.count == 1)
    }
  }

  @Test func `a timer that is dropped before it was scheduled is gone`() {
    let deaths = Tally()
    do {
      let witness = Witness(deaths)
      _ = Timer(timeInterval: 1, repeats: true) { _ in _ = witness }
    }
    #expect(deaths.count == 1)
  }

  @Test func `a report calls a timer by where its user made it`() {
    withFoundationStage { stage in
      let first = #line
      let timer = Timer(timeInterval: 1, repeats: true) { _ in }
      let other = Timer(fire: Date(), interval: 1, repeats: false) { _ in }
      for each in [timer, other] { stage.runLoop.add(each, forMode: .default) }
      let labels = Loop.current.inventory.items.compactMap(\.label.text)
      #expect(labels == (1...2).map { "\(#fileID):\(first + $0)" })
      for each in [timer, other] { each.invalidate() }
    }
  }

  @Test func `a timer whose loop ends is invalid, and gone unless somebody keeps it`() throws {
    let deaths = Tally()
    let thread = try LoopThread()
    let kept = Timer(timeInterval: 1000, repeats: true) { _ in }
    RunLoop.of(thread.loop).add(kept, forMode: .default)
    do {
      let witness = Witness(deaths)
      RunLoop.of(thread.loop).add(Timer(timeInterval: 1000, repeats: true) { _ in _ = witness }, forMode: .default)
    }
    #expect(deaths.count == 0)
    thread.stop()
    #expect(deaths.count == 1)
    #expect(!kept.isValid)
  }
}

private final class TimerBox: @unchecked Sendable {
  var timer: Timer?
}

private final class LatenessBox: @unchecked Sendable {
  var lateness: Duration?
}
