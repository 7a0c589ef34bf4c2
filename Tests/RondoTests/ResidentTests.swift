import Rondo
import RondoTesting
import Testing

/// What a loop keeps of an item while the item is in it: the next item in the same place starts afresh.
@Suite struct ResidentTests {
  @Test func `what is left to do for an item that has left is not the next one's`() {
    withStage(isObserved: false) { stage in
      // Its watch is due to change, and it leaves before the loop waits.
      let descriptor = stage.descriptor("never", UnconnectedSocket.shared)
      stage.loop.remove(descriptor)
      let source = Loop.Source { stage.note("performed") }
      stage.own(source)
      stage.loop.add(source)
      source.signal()
      stage.loop.run(for: .zero)
      #expect(stage.take() == "performed")
      stage.loop.checkInvariants()
    }
  }

  @Test func `the ticks that a timer missed before it left are not the next one's`() {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("late", every: .milliseconds(10)) { _ in stage.virtual.spend(.milliseconds(35)) }
      stage.loop.run(for: .milliseconds(20))
      stage.loop.remove(timer)
      let missed = Later<[Int]>([])
      stage.timer("next", after: .milliseconds(10)) { tick in missed.value.append(tick.missed) }
      stage.loop.run(for: .milliseconds(20))
      #expect(missed.value == [0])
    }
  }

  @Test func `a loop of many items finds each of them where it put it`() {
    withStage(isObserved: false) { stage in
      let fired = Tally()
      let timers = (0..<1_000).map { number in
        stage.timer("t", after: .milliseconds(1 + number % 7)) { _ in fired.add() }
      }
      for timer in timers.enumerated() where timer.offset % 3 == 0 { stage.loop.remove(timer.element) }
      for timer in timers.enumerated() where timer.offset % 6 == 0 { stage.loop.add(timer.element) }
      stage.loop.checkInvariants()
      stage.loop.run(for: .milliseconds(20))
      #expect(fired.count == 1_000 - 167)
      stage.loop.checkInvariants()
    }
  }
}
