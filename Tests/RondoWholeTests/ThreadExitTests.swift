import Glibc
import Rondo
import Testing

extension StressTests {
  /// Threads that end while others still post to their loops.
  @Suite struct ThreadExitTests {
    /// Counts its living instances.
    private final class Witness: Sendable {
      private let living: SharedNumber
      init(_ living: SharedNumber) {
        self.living = living
        living.add()
      }
      deinit { living.add(-1) }
    }

    @Test func `posters that race with the end of a loop's thread are refused, and nothing leaks`() {
      let living = SharedNumber()
      let ran = SharedNumber()
      let accepted = SharedNumber()
      for _ in 0..<300 {
        let box = LoopBox()
        let posts = SharedNumber()
        let owner = TestThread {
          let loop = Loop.current
          loop.add(Loop.Source {})
          box.set(loop)
          loop.run()
        }
        let loop = box.wait()
        let posters = (0..<3).map { _ in
          TestThread {
            while true {
              let witness = Witness(living)
              let isAccepted = loop.perform {
                _ = witness
                ran.add()
              }
              if !isAccepted { break }
              accepted.add()
              posts.add()
            }
          }
        }
        spin { posts.value > 20 }
        loop.requestStop()
        owner.join()
        for poster in posters { poster.join() }
      }
      #expect(living.value == 0)
      #expect(ran.value <= accepted.value)
      #expect(ran.value > 0)
    }

    @Test func `items that others add while the loop's thread ends become invalid or stay out`() {
      let survivors = SharedNumber()
      let leftSignalled = SharedNumber()
      for _ in 0..<300 {
        let box = LoopBox()
        let adds = SharedNumber()
        let owner = TestThread {
          let loop = Loop.current
          loop.add(Loop.Source {})
          box.set(loop)
          loop.run()
        }
        let loop = box.wait()
        let source = Loop.Source {}
        loop.add(source)
        let adders = (0..<3).map { number in
          TestThread {
            var timers: [Loop.Timer] = []
            while true {
              let timer = Loop.Timer(every: .seconds(3_600)) { _ in }
              let isMember = loop.add(timer)
              timers.append(timer)
              source.signal()
              timers[timers.count / 2].setFireDate(after: .seconds(1_000))
              adds.add()
              if !isMember { break }
              if timers.count % 5 == number { timers[timers.count / 3].invalidate() }
              // Nobody adds faster than the loop's thread installs, or the end would be far away: each look into the
              // mail finds more than the one before, and a turn looks a dozen times.
              if timers.count > 100 { usleep(100) }
            }
            // The last one was refused; every other belongs to a loop that is gone, or was invalidated.
            spin { !timers.dropLast().contains { $0.isValid } }
            if loop.contains(timers.last!) { survivors.add() }
          }
        }
        spin { adds.value > 20 }
        loop.requestStop()
        owner.join()
        for adder in adders { adder.join() }
        if loop.contains(source) { leftSignalled.add() }
      }
      #expect(survivors.value == 0)
      #expect(leftSignalled.value == 0)
    }
  }
}
