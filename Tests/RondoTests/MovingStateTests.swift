import Rondo
import RondoTesting
import Testing

/// What an item that moves leaves behind: whatever its old loop had counted of it.
@Suite struct MovingStateTests {
  @Test func `a timer does not take along the ticks that its old loop has missed`() {
    withTwoStages { stages in
      let missed = Later<[Int]>([])
      let timer = stages.a.timer("t", every: .milliseconds(10)) { tick in
        missed.value.append(tick.missed)
        if missed.value == [0] { stages.a.virtual.spend(.milliseconds(35)) }
      }
      stages.a.loop.run(for: .milliseconds(20))
      // Its next date is the 50th millisecond; three points have passed without a fire.
      stages.a.loop.remove(timer)
      #expect(stages.b.loop.add(timer))
      stages.b.loop.run(for: .milliseconds(65))
      #expect(missed.value == [0, 0, 0])
    }
  }

  @Test(arguments: [Duration.zero, .milliseconds(3)])
  func `a timer that leaves in the middle of a turn in which it is due fires in the new loop`(_ tolerance: Duration) {
    withTwoStages { stages in
      let late = Later<Loop.Timer>()
      stages.a.timer("a", after: .milliseconds(10), order: -1) { _ in
        stages.a.loop.remove(late.value)
        stages.b.loop.add(late.value)
      }
      late.value = stages.a.timer("late", after: .milliseconds(10), tolerance: tolerance) { _ in stages.note("late") }
      stages.a.loop.run(for: .milliseconds(20))
      stages.b.loop.run(for: .milliseconds(20))
      #expect(stages.take() == "blate")
      stages.a.loop.checkInvariants()
      stages.b.loop.checkInvariants()
    }
  }
}
