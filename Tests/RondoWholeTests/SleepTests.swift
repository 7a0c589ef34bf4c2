import Rondo
import RondoTestSupport
import Testing

extension StressTests {
  /// Sleeping and waking from many tasks at once.
  @Suite struct SleepTests {
    @Test func `a hundred thousand sleeps that are cancelled from other threads leave no timer`() async throws {
      let thread = try LoopThread()
      let loop = thread.loop
      let cancelled = SharedNumber()
      for _ in 0..<100 {
        let begun = SharedNumber()
        await withTaskGroup { group in
          for number in 0..<1_000 {
            group.addTask {
              begun.add()
              do {
                try await loop.clock.sleep(for: .seconds(3_600 + number))
              } catch {
                if error is CancellationError { cancelled.add() }
              }
            }
          }
          // Almost all of them sleep by then.
          await until { begun.value >= 1_000 }
          group.cancelAll()
        }
      }
      #expect(cancelled.value == 100_000)
      let date = try await loop.call { loop.nextFireDate(in: .default) }
      #expect(date == nil)
      #expect(loop.statistics.timerCallouts == 0)
      await thread.end()
    }

    @Test func `ten thousand sleepers of the runtime wake once each, and never early`() async throws {
      let thread = try LoopThread()
      let clock = thread.loop.clock
      let early = SharedNumber()
      await withTaskGroup { group in
        for number in 0..<10_000 {
          group.addTask {
            let date = clock.now.advanced(by: .microseconds(number % 500))
            try? await clock.sleep(until: date)
            if clock.now < date { early.add() }
          }
        }
      }
      #expect(early.value == 0)
      await thread.end()
    }
  }
}
