import Rondo
import RondoTesting
import Testing

/// Timers that move to another loop take nothing along but their dates: no fire is lost, none comes twice.
@Suite struct MovingTimerTests {
  /// A timer's shape, and how many other items stand in its way.
  struct Shape: Sendable, CustomTestStringConvertible {
    let tolerance: Duration
    let modes: [Loop.Mode]
    let innocents: Int

    var testDescription: String { "tolerance \(tolerance.milliseconds), \(modes.map(\.rawValue)), \(innocents)" }

    static let all: [Shape] = [.zero, .milliseconds(3)].flatMap { tolerance in
      ([[.default], [.default, "m"], [.common]] as [[Loop.Mode]]).flatMap { modes in
        [0, 3].map { Shape(tolerance: tolerance, modes: modes, innocents: $0) }
      }
    }
  }

  /// What is due when the mover comes, and was not told before it, is told by the new loop.
  private func expected(_ mover: Mover) -> (before: String, after: String) {
    switch mover {
    case .itself, .block, .source: ("a10", "b20 b30 b40")
    case .anotherTimer, .observer, .nestedRun: ("", "b10 b20 b30 b40")
    }
  }

  @Test(arguments: Mover.allCases, Shape.all)
  func `a repeating timer that moves goes on along its grid in the new loop, and back again`(
    _ mover: Mover, _ shape: Shape
  ) {
    withTwoStages(innocents: shape.innocents) { stages in
      let (a, b) = (stages.a, stages.b)
      let hasMoved = Later(false)
      let timer = Loop.Timer(every: .milliseconds(10), tolerance: shape.tolerance) { tick in
        stages.note(tick)
        guard mover == .itself, !hasMoved.value else { return }
        hasMoved.value = true
        stages.move(tick.timer, shape.modes, from: a, to: b)
      }
      mover.arrange(stages) { stages.move(timer, shape.modes, from: a, to: b) }
      for mode in shape.modes { a.loop.add(timer, to: mode) }
      a.virtual.advance(by: .milliseconds(35))
      #expect(stages.take() == expected(mover).before)
      let isThere = shape.modes.allSatisfy { b.loop.contains(timer, in: $0) && !a.loop.contains(timer, in: $0) }
      #expect(isThere)
      b.virtual.advance(by: .milliseconds(45), in: shape.modes == [.default, "m"] ? "m" : .default)
      #expect(stages.take() == expected(mover).after)

      b.loop.perform { stages.move(timer, shape.modes, from: b, to: a) }
      b.virtual.advance(by: .zero)
      let isBack = shape.modes.allSatisfy { a.loop.contains(timer, in: $0) && !b.loop.contains(timer, in: $0) }
      #expect(isBack)
      a.virtual.advance(by: .milliseconds(30))
      #expect(stages.take() == "a50 a60")
    }
  }

  @Test(arguments: Shape.all)
  func `the timers that stay fire as if nothing had moved`(_ shape: Shape) {
    withTwoStages(innocents: 3) { stages in
      let (a, b) = (stages.a, stages.b)
      let timer = Loop.Timer(every: .milliseconds(10), tolerance: shape.tolerance) { tick in
        if a.loop.contains(tick.timer, in: shape.modes[0]) { stages.move(tick.timer, shape.modes, from: a, to: b) }
      }
      for mode in shape.modes { a.loop.add(timer, to: mode) }
      a.virtual.advance(by: .milliseconds(65))
      b.virtual.advance(by: .milliseconds(45))
      #expect(stages.innocents.a.count == 6 * 6)
      #expect(stages.innocents.b.count == 3 * 4)
    }
  }

  @Test(arguments: [0, 3])
  func `a timer that leaves its loop and comes back in its own callout keeps its grid`(_ innocents: Int) {
    withTwoStages(innocents: innocents) { stages in
      let (a, b) = (stages.a, stages.b)
      for tolerance in [Duration.zero, .milliseconds(3)] {
        a.loop.add(
          Loop.Timer(every: .milliseconds(10), tolerance: tolerance) { tick in
            stages.note(tick)
            stages.move(tick.timer, from: a, to: b)
            stages.move(tick.timer, from: b, to: a)
          })
      }
      a.virtual.advance(by: .milliseconds(35))
      #expect(stages.take() == "a10 a10 a20 a20 a30 a30")
      b.virtual.advance(by: .milliseconds(35))
      #expect(stages.take() == "")
    }
  }

  @Test func `a timer that is removed and added again in its own callout keeps its grid`() {
    withTwoStages(innocents: 3) { stages in
      let a = stages.a
      for tolerance in [Duration.zero, .milliseconds(3)] {
        a.loop.add(
          Loop.Timer(every: .milliseconds(10), tolerance: tolerance) { tick in
            stages.note(tick)
            a.loop.remove(tick.timer)
            a.loop.add(Loop.Timer(after: .seconds(1)) { _ in })
            a.loop.add(tick.timer)
          })
      }
      a.virtual.advance(by: .milliseconds(35))
      #expect(stages.take() == "a10 a10 a20 a20 a30 a30")
    }
  }

  @Test(arguments: [Duration.zero, .milliseconds(3)])
  func `a due timer that another one removes and adds again fires in the next turn, and once`(_ tolerance: Duration) {
    withTwoStages(innocents: 3) { stages in
      let (a, b) = (stages.a, stages.b)
      let due = Loop.Timer(every: .milliseconds(10), tolerance: tolerance) { stages.note($0) }
      a.loop.add(
        Loop.Timer(every: .milliseconds(10), order: -1) { tick in
          stages.note(tick)
          a.loop.remove(due)
          a.loop.add(Loop.Timer(after: .seconds(1)) { _ in })
          a.loop.add(due)
          stages.move(due, from: a, to: b)
          stages.move(due, from: b, to: a)
        })
      a.loop.add(due)
      a.loop.add(Loop.Observer(.afterWaiting) { _ in stages.note("woke") })
      a.virtual.advance(by: .milliseconds(25))
      #expect(stages.take() == "awoke a10 awoke a10 awoke a20 awoke a20 awoke")
    }
  }

  @Test(arguments: [0, 3])
  func `a timer given a new date and moved in its own callout fires at that date in the new loop`(_ innocents: Int) {
    withTwoStages(innocents: innocents) { stages in
      let (a, b) = (stages.a, stages.b)
      for (tolerance, sets) in [(Duration.zero, true), (.milliseconds(3), true), (.zero, false)] {
        a.loop.add(
          Loop.Timer(every: .milliseconds(10), tolerance: tolerance) { tick in
            stages.note(tick)
            guard a.loop.contains(tick.timer) else { return }
            if sets { tick.timer.setFireDate(after: .milliseconds(5)) }
            stages.move(tick.timer, from: a, to: b)
            if !sets { tick.timer.fireDate = tick.scheduled.advanced(by: .milliseconds(5)) }
          })
      }
      a.virtual.advance(by: .milliseconds(35))
      #expect(stages.take() == "a10 a10 a10")
      b.virtual.advance(by: .milliseconds(30))
      #expect(stages.take() == "b15 b15 b15 b25 b25 b25")
    }
  }

  @Test(arguments: Mover.allCases, Shape.all)
  func `a one-shot timer that moves fires once, in the loop it is in when it is due`(_ mover: Mover, _ shape: Shape) {
    withTwoStages(innocents: shape.innocents) { stages in
      let (a, b) = (stages.a, stages.b)
      // Later for those that move it after it is due, or there would be nothing to move.
      let isAfter = mover == .block || mover == .source
      let timer = Loop.Timer(after: .milliseconds(isAfter ? 20 : 10), tolerance: shape.tolerance) { tick in
        stages.note(tick)
        if mover == .itself { stages.move(tick.timer, shape.modes, from: a, to: b) }
      }
      mover.arrange(stages) { stages.move(timer, shape.modes, from: a, to: b) }
      for mode in shape.modes { a.loop.add(timer, to: mode) }
      a.virtual.advance(by: .milliseconds(35))
      b.virtual.advance(by: .milliseconds(35))
      #expect(stages.take() == (mover == .itself ? "a10" : isAfter ? "b20" : "b10"))
      #expect(!timer.isValid)
      #expect(!shape.modes.contains { a.loop.contains(timer, in: $0) || b.loop.contains(timer, in: $0) })
      a.virtual.advance(by: .milliseconds(35))
      b.virtual.advance(by: .milliseconds(35))
      #expect(stages.take() == "")
    }
  }

  @Test(arguments: [Duration.zero, .milliseconds(3)])
  func `a timer moves with a date that another thread has set and its loop has not heard of`(_ tolerance: Duration) {
    withTwoStages(innocents: 3) { stages in
      let (a, b) = (stages.a, stages.b)
      let timer = Loop.Timer(every: .milliseconds(10), tolerance: tolerance) { stages.note($0) }
      a.loop.add(timer)
      TestThread { timer.setFireDate(after: .milliseconds(4)) }.join()
      stages.move(timer, from: a, to: b)
      TestThread { timer.setFireDate(after: .milliseconds(2)) }.join()
      a.virtual.advance(by: .milliseconds(35))
      #expect(stages.take() == "")
      b.virtual.advance(by: .milliseconds(30))
      #expect(stages.take() == "b2 b12 b22")
      #expect(stages.innocents.a.count == 6 * 3)
    }
  }

  @Test(arguments: Shape.all)
  func `a timer that another thread has added, and its loop has not heard of, moves as well`(_ shape: Shape) {
    withTwoStages(innocents: shape.innocents) { stages in
      let (a, b) = (stages.a, stages.b)
      let timer = Loop.Timer(every: .milliseconds(10), tolerance: shape.tolerance) { stages.note($0) }
      TestThread { for mode in shape.modes { a.loop.add(timer, to: mode) } }.join()
      stages.move(timer, shape.modes, from: a, to: b)
      a.virtual.advance(by: .milliseconds(35))
      #expect(stages.take() == "")
      b.virtual.advance(by: .milliseconds(25))
      #expect(stages.take() == "b10 b20")
    }
  }

  @Test(arguments: Shape.all)
  func `a timer that another thread has removed is free once its loop has looked, even in its own callout`(
    _ shape: Shape
  ) {
    withTwoStages(innocents: shape.innocents) { stages in
      let (a, b) = (stages.a, stages.b)
      let timer = Loop.Timer(every: .milliseconds(10), tolerance: shape.tolerance) { tick in
        stages.note(tick)
        guard a.loop.contains(tick.timer, in: shape.modes[0]) else { return }
        TestThread { for mode in shape.modes { a.loop.remove(tick.timer, from: mode) } }.join()
        // Asking for a date makes the loop look at its mail.
        _ = a.loop.nextFireDate()
        for mode in shape.modes where !b.loop.add(tick.timer, to: mode) { stages.note("refused") }
      }
      for mode in shape.modes { a.loop.add(timer, to: mode) }
      a.virtual.advance(by: .milliseconds(35))
      #expect(stages.take() == "a10")
      b.virtual.advance(by: .milliseconds(35))
      #expect(stages.take() == "b20 b30")
    }
  }

  @Test(arguments: [Duration.zero, .milliseconds(3)])
  func `a timer moves out of a run nested in its own callout`(_ tolerance: Duration) {
    withTwoStages(innocents: 3) { stages in
      let (a, b) = (stages.a, stages.b)
      let timer = Later<Loop.Timer>()
      timer.value = Loop.Timer(every: .milliseconds(10), tolerance: tolerance) { tick in
        stages.note(tick)
        guard a.loop.contains(tick.timer) else { return }
        a.loop.perform { stages.move(timer.value, from: a, to: b) }
        a.loop.run(for: .zero)
      }
      a.loop.add(timer.value)
      a.virtual.advance(by: .milliseconds(35))
      #expect(stages.take() == "a10")
      b.virtual.advance(by: .milliseconds(35))
      #expect(stages.take() == "b20 b30")
    }
  }

  @Test func `a hundred timers of one date pass from loop to loop in each fire and none is lost or doubled`() {
    withTwoStages(innocents: 3) { stages in
      let (a, b) = (stages.a, stages.b)
      let fires = Later([Int](repeating: 0, count: 100))
      let wrong = Tally()
      for number in 0..<100 {
        let dates = Later<[SuspendingClock.Instant]>([])
        a.loop.add(
          Loop.Timer(every: .milliseconds(10), tolerance: .milliseconds(number % 4), order: number % 7) { tick in
            fires.value[number] += 1
            if let last = dates.value.last, tick.scheduled != last.advanced(by: .milliseconds(10)) { wrong.add() }
            dates.value.append(tick.scheduled)
            let isInA = a.loop.contains(tick.timer)
            stages.move(tick.timer, from: isInA ? a : b, to: isInA ? b : a)
          })
      }
      for _ in 0..<100 {
        a.virtual.advance(by: .milliseconds(10))
        b.virtual.advance(by: .milliseconds(10))
      }
      a.virtual.advance(by: .milliseconds(5))
      b.virtual.advance(by: .milliseconds(5))
      #expect(fires.value == [Int](repeating: 100, count: 100))
      #expect(wrong.count == 0)
      #expect(stages.take() == "")
    }
  }
}
