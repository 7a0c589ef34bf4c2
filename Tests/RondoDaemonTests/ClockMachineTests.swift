import Testing

@testable import RondoDaemon

/// What a timer on the calendar makes of a clock that is set, by hand.
@Suite struct ClockMachineTests {
  /// What is told at each time that the clock shows, and what is waited for at the end.
  private func told(_ dates: ClockDates, from start: Int64, at times: Int64...) -> String {
    var machine = ClockMachine(dates, now: start)
    var text = times.map { time in
      machine.judge(now: time).map { "\($0.date)+\($0.missed)" } ?? "-"
    }
    text.append("next \(machine.next.map(String.init) ?? "none")")
    return text.joined(separator: " ")
  }

  /// Full hundreds.
  private let hundreds = ClockDates.grid(interval: 100, offset: 0)

  @Test func `a date is told once, never early, and at once if it is over`() {
    #expect(told(.once(50), from: 0, at: 49, 50, 51) == "- 50+0 - next none")
    #expect(told(.once(50), from: 70, at: 70) == "50+0 next none")
    #expect(told(.once(50), from: 0, at: 9_000) == "50+0 next none")
  }

  @Test func `a date waits for its clock, however that is set`() {
    #expect(told(.once(50), from: 0, at: 40, -1_000, 30, 60) == "- - - 50+0 next none")
  }

  @Test func `a grid's dates that pass are told as one`() {
    #expect(told(hundreds, from: 0, at: 99, 100, 199, 450) == "- 100+0 - 200+2 next 500")
    #expect(told(hundreds, from: 100, at: 200) == "200+0 next 300")
    #expect(told(.grid(interval: 100, offset: 30), from: -250, at: -170, -70, 30) == "-170+0 -70+0 30+0 next 130")
    #expect(told(hundreds, from: 0, at: .max - 1_000).hasPrefix("100+"))
  }

  @Test func `a clock set back by a little tells no date twice`() {
    #expect(told(hundreds, from: 0, at: 100, 99, 100, 101, 200) == "100+0 - - - 200+0 next 300")
    #expect(told(hundreds, from: 0, at: 450, 399, 400, 450, 500) == "100+3 - - - 500+0 next 600")
  }

  @Test func `a clock set back by years leaves nobody waiting for years`() {
    #expect(told(hundreds, from: 1_000_000, at: 500, 600, 700) == "- 600+0 700+0 next 800")
    #expect(told(hundreds, from: 1_000_000, at: 1_000_100, 500, 600) == "1000100+0 - 600+0 next 700")
  }

  @Test func `a rule ends when it says so`() {
    let rule = ClockDates.rule { $0 < .nanoseconds(3) ? $0 + .nanoseconds(1) : nil }
    #expect(told(rule, from: 0, at: 1, 2, 3, 4) == "1+0 2+0 3+0 - next none")
    #expect(told(rule, from: 0, at: 9) == "1+2 next none")
    #expect(told(rule, from: 5, at: 6) == "- next none")
  }

  @Test func `a clock set forward by years asks a rule a thousand times at most`() {
    let asked = SharedNumber()
    let rule = ClockDates.rule { date in
      asked.add(1)
      return date + .nanoseconds(1)
    }
    #expect(told(rule, from: 0, at: .max - 1) == "1+1000 next \(Int64.max)")
    #expect(asked.value == 1_002)
  }
}
