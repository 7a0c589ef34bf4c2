import Rondo
import RondoTesting
import Testing

/// What else is served while a loop spins for a precise timer.
@Suite struct SpinTests {
  @Test func `a descriptor that is ready is told in a turn that spins`() {
    let isTold = onLoopThread { stage -> Bool in
      stage.loop.precisionBudget = .seconds(1)
      let pipe = stage.pipe()
      pipe.write(1)
      stage.descriptor("d", pipe.reader)
      stage.loop.run(for: .zero)
      // The date is within the margin, so the loop spins and does not sleep. One that passes before it comes to that
      // says nothing, and there is another try.
      for _ in 0..<1000 {
        let timer = Loop.Timer(after: .microseconds(90)) { _ in }
        timer.isPrecise = true
        stage.loop.add(timer)
        let before = stage.loop.statistics
        stage.runUntilHandled()
        timer.invalidate()
        let after = stage.loop.statistics
        if after.spins == before.spins + 1, after.turns == before.turns + 1 { return true }
      }
      return false
    }
    #expect(isTold)
  }
}
