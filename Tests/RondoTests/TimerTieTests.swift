import RondoTesting
import Testing

@testable import Rondo

/// Timers that meet: in one nanosecond, and in several modes.
@Suite struct TimerTieTests {
  private func due(_ slot: UInt32, stamp: UInt32) -> DueTimer {
    DueTimer(token: Token(slot: slot, generation: 0), date: Instant(nanoseconds: 5), order: 0, stamp: stamp)
  }

  @Test func `timers of one date fire in the sequence of scheduling when its numbers begin anew`() {
    var batch: ContiguousArray<DueTimer> = [
      due(0, stamp: 1), due(1, stamp: .max), due(2, stamp: 0), due(3, stamp: .max - 1),
    ]
    DueTimer.sort(&batch, from: 0)
    #expect(batch.map(\.token.slot) == [3, 1, 2, 0])
  }

  /// Sooner than it was, and later: the two ways in which a date is set.
  @Test(arguments: [30, 90])
  func `a new date for a timer of the other mode arms it anew, without the one in its callout`(_ seconds: Int) {
    withStage(isObserved: false) { stage in
      let other = stage.timer("u", after: .seconds(60), in: "m")
      let timer = stage.timer("t", after: .milliseconds(10)) { _ in
        other.setFireDate(after: .seconds(seconds))
        stage.trace.observe(stage.loop, in: "m")
        stage.loop.run(in: "m", for: .milliseconds(25))
        stage.noteTime("")
      }
      stage.loop.add(timer, to: "m")
      stage.loop.run(for: .milliseconds(45))
      #expect(stage.text == "t E BT BS BW AW X @35")
    }
  }
}
