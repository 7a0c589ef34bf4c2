import Glibc
import Rondo
import RondoTestSupport
import RondoTesting
import Testing

@testable import RondoDaemon

/// Timers on the clocks of this machine.
@Suite struct ClockTimerTests {
  @Test(arguments: [ClockTimer.Clock.realTime, .bootTime])
  func `a timer at a date fires once, not early, and is invalid then`(_ clock: ClockTimer.Clock) throws {
    try onLoopThread { stage in
      let date = clock.now + .milliseconds(20)
      let timer = try ClockTimer(at: date, on: clock) { timer, tick in
        #expect(tick.scheduled == date && tick.actual >= date && tick.missed == 0 && !timer.isValid)
        #expect(tick.lateness >= .zero && tick.actual <= clock.now)
        stage.note("fired")
      }
      #expect(timer.nextDate == date && timer.clock == clock)
      stage.loop.add(timer)
      stage.run { !timer.isValid }
      stage.look()
      #expect(stage.text == "fired")
      #expect(timer.nextDate == nil)
    }
  }

  @Test func `a date that is over is told at once`() throws {
    try onLoopThread { stage in
      for date in [Duration.zero, .seconds(-1), .seconds(1)] {
        let timer = try ClockTimer(at: date) { _, tick in stage.note("\(tick.scheduled == date)") }
        stage.loop.add(timer)
        stage.run { !timer.isValid }
      }
      #expect(stage.trace.take() == "true true true")
    }
  }

  @Test(arguments: [ClockTimer.Clock.realTime, .bootTime])
  func `a repeating timer tells of every date, those that a busy loop missed among them`(
    _ clock: ClockTimer.Clock
  ) throws {
    try onLoopThread { stage in
      let dates = Later([Int64]())
      let calls = Later(0)
      let interval: Int64 = 2_000_000
      let timer = try ClockTimer(every: .nanoseconds(interval), on: clock) { timer, tick in
        #expect(tick.lateness >= .zero)
        let first = tick.scheduled.saturatingNanoseconds
        dates.value += (0...tick.missed).map { first + Int64($0) * interval }
        calls.value += 1
        // Five dates at least pass.
        if calls.value == 2 { usleep(10_000) }
        if calls.value == 3 {
          #expect(tick.missed >= 4)
          timer.invalidate()
        }
      }
      stage.loop.add(timer)
      stage.run { !timer.isValid }
      #expect(calls.value == 3)
      let gaps = Set(zip(dates.value, dates.value.dropFirst()).map { $1 - $0 })
      #expect(gaps == [interval] && dates.value.allSatisfy { $0 % interval == 0 })
    }
  }

  @Test func `a rule is asked for one date after the other, and ends`() throws {
    try onLoopThread { stage in
      let start = ClockTimer.Clock.realTime.now
      let dates = [start + .milliseconds(5), start + .milliseconds(6), start + .milliseconds(9)]
      let told = Later(0)
      let rule: @Sendable (Duration) -> Duration? = { date in dates.first { $0 > date } }
      let timer = try ClockTimer(by: rule) { timer, tick in
        #expect(tick.actual >= dates[told.value + tick.missed])
        told.value += 1 + tick.missed
        #expect(timer.isValid == (told.value < 3))
      }
      stage.loop.add(timer)
      stage.run { !timer.isValid }
      #expect(told.value == 3)
    }
  }

  @Test func `a rule without a date makes a timer that is invalid`() throws {
    let never: @Sendable (Duration) -> Duration? = { _ in nil }
    let timer = try ClockTimer(by: never) { _, _ in }
    #expect(!timer.isValid && timer.nextDate == nil)
  }

  @Test func `what comes due while no mode of it runs, or it is in none, is told later`() throws {
    try onLoopThread { stage in
      let other = Loop.Mode("other")
      let timer = try ClockTimer(at: ClockTimer.Clock.realTime.now) { _, _ in stage.note("fired") }
      stage.look()
      stage.loop.add(timer, to: other)
      stage.look()
      #expect(stage.text == "")
      stage.look(in: other)
      #expect(stage.text == "fired")
    }
  }

  @Test(.offThePool) func `one that is invalidated is not called, and leaves no descriptor behind`() async {
    await #expect(processExitsWith: .success) {
      inOwnProcess {
        let loop = Loop.current
        let before = descriptors(of: "[timerfd]")
        for _ in 0..<3 {
          let timer = try! ClockTimer(every: .nanoseconds(1)) { _, _ in fatalError("It was invalidated.") }
          precondition(descriptors(of: "[timerfd]") == before + 1)
          loop.add(timer)
          timer.invalidate()
          loop.run(for: .zero)
        }
        precondition(descriptors(of: "[timerfd]") == before)
      }
    }
  }

  @Test(.offThePool) func `without a descriptor left there is an error`() async {
    await #expect(processExitsWith: .success) {
      inOwnProcess {
        var taken: [CInt] = []
        while true {
          let descriptor = dup(0)
          if descriptor < 0 { break }
          taken.append(descriptor)
        }
        do throws(ClockError) {
          _ = try ClockTimer(at: .zero) { _, _ in }
          fatalError("There was a descriptor.")
        } catch {
          precondition(error == .exhausted)
        }
        for descriptor in taken { close(descriptor) }
      }
    }
  }

  @Test func `after a clock was set it is looked at, and nothing is told that is not due`() throws {
    try onLoopThread { stage in
      // What a set clock does to the descriptor: it is readable before the date.
      let date = ClockTimer.Clock.realTime.now + .seconds(3_600)
      let alarm = try ClockAlarm(.once(date.saturatingNanoseconds), .realTime)
      for _ in 0..<3 { #expect(alarm.take() == nil) }
      #expect(alarm.next == date.saturatingNanoseconds)
    }
  }
}
