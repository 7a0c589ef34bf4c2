import CTests
import Rondo
import RondoFoundation
import RondoTestSupport
import RondoTesting
import Testing

/// Timers by the hundred thousand leave nothing behind.
@Suite(.serialized) struct TimerMemoryTests {
  private static let timers = 100_000

  @Test func `a hundred thousand timers, fired or dropped, are all gone, and so are their blocks`() {
    withFoundationStage { stage in
      let (deaths, fires) = (Tally(), Tally())
      for number in 0..<Self.timers {
        let witness = Witness(deaths)
        let timer = Timer(timeInterval: Double(number % 3600), repeats: number % 4 == 3) { timer in
          fires.add()
          if timer.timeInterval > 0 { timer.invalidate() }
          _ = witness
        }
        switch number % 4 {
        case 0: break
        case 1:
          stage.runLoop.add(timer, forMode: .default)
          timer.invalidate()
        default: stage.runLoop.add(timer, forMode: .default)
        }
      }
      stage.runLoop.run()
      #expect(fires.count == Self.timers / 2)
      #expect(deaths.count == Self.timers)
    }
  }

  @Test(.offThePool) func `an hour of timers, a hundred thousand of them, leaves memory flat`() async {
    // In a process of its own: the heap is everybody's.
    await #expect(processExitsWith: .success) {
      let growth = Self.growthOverAnHour()
      // A leak of one word a timer would be 800 kB.
      precondition(growth < 100_000, "\(growth) bytes more than after the first batches")
    }
  }

  /// A hundred batches of a thousand timers, one batch every 36 s.
  private static func growthOverAnHour() -> Int {
    var growth = 0
    withFoundationStage { stage in
      stage.runLoop.add(RunLoop.Source {}, forMode: .default)
      let fires = Tally()
      let batch = {
        for number in 0..<1_000 {
          Timer.scheduledTimer(withTimeInterval: Double(number % 360) / 10, repeats: false) { _ in fires.add() }
        }
        stage.runLoop.run(until: Date(timeIntervalSinceNow: 36))
      }
      // Tables and heaps have grown to what a batch needs.
      for _ in 0..<5 { batch() }
      let before = bytes_in_use()
      for _ in 0..<100 { batch() }
      growth = Int(bytes_in_use() - before)
      precondition(fires.count == 105_000)
    }
    return growth
  }
}
