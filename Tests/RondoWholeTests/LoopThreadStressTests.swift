import Rondo
import RondoTestSupport
import Testing

extension StressTests {
  /// Permanent threads that are started, used and ended by several threads at once.
  @Suite struct LoopThreadStressTests {
    @Test func `threads stopped right after their start run all they accepted`() throws {
      let rounds = stressCount(5_000)
      let accepted = SharedNumber()
      let ran = SharedNumber()
      TestThread.race(2) { _ in
        for round in 0..<rounds {
          guard let thread = try? LoopThread() else { continue }
          for _ in 0..<(round % 3) where thread.execute({ ran.add() }) { accepted.add() }
          thread.stop(.drain)
          if !thread.hasEnded { accepted.add(1_000_000) }
        }
      }
      // Rounds give 0, 1, 2, 0, 1, … blocks.
      #expect(accepted.value == 2 * (0..<rounds).reduce(0) { $0 + $1 % 3 })
      #expect(ran.value == accepted.value)
    }

    @Test func `posters that race with a draining stop have all run that was accepted`() throws {
      let accepted = SharedNumber()
      let ran = SharedNumber()
      for _ in 0..<500 {
        let thread = try LoopThread()
        let posts = SharedNumber()
        let posters = (0..<2).map { _ in
          TestThread {
            while thread.execute({ ran.add() }) {
              accepted.add()
              posts.add()
            }
          }
        }
        spin { posts.value > 4 }
        thread.stop(.drain)
        for poster in posters { poster.join() }
      }
      #expect(ran.value == accepted.value)
      #expect(ran.value >= 2_500)
    }

    @Test func `calls that race with a stop are answered or fail, and none hangs`() throws {
      let answered = SharedNumber()
      let failed = SharedNumber()
      let ran = SharedNumber()
      for round in 0..<500 {
        let thread = try LoopThread()
        let callers = (0..<3).map { _ in
          TestThread {
            while true {
              do {
                _ = try thread.sync { ran.add() }
                answered.add()
              } catch {
                failed.add()
                break
              }
            }
          }
        }
        if round % 2 == 0 { spin { answered.value > round } }
        thread.stop(round % 4 < 2 ? .drop : .drain)
        for caller in callers { caller.join() }
      }
      #expect(failed.value == 1_500)
      #expect(answered.value == ran.value)
    }

    @Test func `many may stop one thread, and each finds it ended`() throws {
      let foundEnded = SharedNumber()
      for round in 0..<500 {
        let thread = try LoopThread()
        TestThread.race(4) { number in
          thread.stop((round + number) % 2 == 0 ? .drop : .drain)
          if thread.hasEnded { foundEnded.add() }
        }
      }
      #expect(foundEnded.value == 2_000)
    }

    @Test func `last references that go on either thread leave no thread behind`() throws {
      let ended = SharedNumber()
      for _ in 0..<1_000 {
        let box = LoopVariable<LoopThread?>(try LoopThread())
        let loop = box.value!.loop
        loop.add(Loop.Source(cancel: { _, _ in ended.add() }) {})
        let witness = box.value
        loop.perform { box.value = nil }
        _ = consume witness
      }
      spin { ended.value == 1_000 }
      #expect(ended.value == 1_000)
    }
  }
}
