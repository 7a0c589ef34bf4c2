import Rondo
import RondoTesting
import Testing

/// What else is served while a loop spins for a precise timer.
@Suite struct SpinTests {
  @Test func `a descriptor that is ready is told in a turn that spins`() {
    let (isTold, spins) = onLoopThread { stage -> (Bool, Int) in
      stage.loop.precisionBudget = .seconds(1)
      let pipe = stage.pipe()
      pipe.write(1)
      stage.descriptor("d", pipe.reader)
      stage.loop.run(for: .zero)
      // With a date within the margin the loop spins and does not sleep. One that passes before it comes to that says
      // nothing, and neither does one that is too far: how far is right, depends on the machine.
      var spins = 0
      for attempt in 0..<1000 {
        let timer = Loop.Timer(after: .microseconds(90 + 30 * (attempt % 20))) { _ in }
        timer.isPrecise = true
        stage.loop.add(timer)
        let before = stage.loop.statistics
        stage.runUntilHandled()
        timer.invalidate()
        let after = stage.loop.statistics
        guard after.spins == before.spins + 1 else { continue }
        if after.turns == before.turns + 1 { return (true, spins) }
        // It began when the date had not passed.
        if after.timeSpinning > before.timeSpinning + .microseconds(1) { spins += 1 }
      }
      return (false, spins)
    }
    // A machine so slow that every date passed before the loop came to spin says nothing.
    #expect(isTold || spins == 0)
  }
}
