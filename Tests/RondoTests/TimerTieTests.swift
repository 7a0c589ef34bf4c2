import RondoTesting
import Testing

@testable import Rondo

/// Timers that meet: in one nanosecond, and in several modes.
@Suite struct TimerTieTests {
  @Test func `timers of one date fire in the sequence of scheduling when its numbers begin anew`() {
    let store = TimerStore()
    let slots = ([1, .max, 0, .max - 1] as [UInt32]).map {
      store.insert(.timeout(.closure {}), group: 0, at: Instant(nanoseconds: 5), stamp: $0)
    }
    var batch = ContiguousArray(slots.map { DueTimer($0, in: store.rows) })
    DueTimer.sort(&batch, from: 0, in: store.rows)
    #expect(batch.map(\.token.slot) == [3, 1, 2, 0].map { slots[$0] })
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
