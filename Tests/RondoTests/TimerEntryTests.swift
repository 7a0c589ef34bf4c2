import Rondo
import RondoTesting
import Testing

/// How many entries timers keep in the heaps: what has left has none.
@Suite struct TimerEntryTests {
  enum Kind: CaseIterable, Sendable {
    case exact, tolerant, precise

    /// A timer of the second hour from now.
    func timer(every interval: Duration? = nil) -> Loop.Timer {
      let tolerance: Duration = self == .tolerant ? .seconds(1) : .zero
      let timer = Loop.Timer(after: .seconds(7200), tolerance: tolerance) { _ in }
      timer.isPrecise = self == .precise
      return timer
    }

    var entries: Int { self == .tolerant ? 2 : 1 }
  }

  @Test(arguments: Kind.allCases, [1, 1000])
  func `cancelled timers leave no entries`(_ kind: Kind, _ live: Int) {
    withStage(isObserved: false) { stage in
      stage.loop.add(Kind.tolerant.timer())
      for _ in 0..<live { stage.loop.add(kind.timer()) }
      var most = 0
      for round in 0..<10_000 {
        let timer = kind.timer()
        stage.loop.add(timer)
        timer.invalidate()
        // Counting takes a thousand times as long as a timer. A prime: in whatever period they grow, each place of it counts.
        if round % 23 == 0 { most = max(most, stage.loop.sizes.timerEntries) }
      }
      #expect(most == 2 + live * kind.entries)
      #expect(stage.loop.sizes.items == live + 1)
      // A turn checks what the loop's structures say of each other.
      stage.loop.run(for: .zero)
    }
  }

  @Test(arguments: Kind.allCases)
  func `timers cancelled in a mode that nobody runs leave no entries`(_ kind: Kind) {
    withStage(isObserved: false) { stage in
      stage.loop.addCommonMode("tracking")
      for _ in 0..<1000 {
        let timer = kind.timer()
        stage.loop.add(timer, to: .common)
        stage.loop.run(for: .zero)
        timer.invalidate()
      }
      #expect(stage.loop.sizes.timerEntries == 0)
    }
  }

  @Test(arguments: [Duration.zero, .milliseconds(3)], [1, 2])
  func `a repeating timer has as many entries after a thousand fires as after one`(
    _ tolerance: Duration, _ modes: Int
  ) {
    withStage(isObserved: false) { stage in
      let timer = stage.timer("t", every: .milliseconds(10), tolerance: tolerance)
      if modes > 1 { stage.loop.add(timer, to: "m") }
      stage.loop.run(for: .milliseconds(15))
      let before = stage.loop.sizes.timerEntries
      stage.loop.run(for: .seconds(10))
      #expect(stage.trace.tokens.count == 1001)
      #expect(stage.loop.sizes.timerEntries == before)
    }
  }

  @Test(arguments: Kind.allCases)
  func `a timer that is brought forward again and again has its entries once`(_ kind: Kind) {
    withStage(isObserved: false) { stage in
      let timer = kind.timer()
      stage.loop.add(timer)
      for step in 1...1000 { timer.setFireDate(after: .seconds(7200 - step)) }
      #expect(stage.loop.sizes.timerEntries == kind.entries)
    }
  }
}
