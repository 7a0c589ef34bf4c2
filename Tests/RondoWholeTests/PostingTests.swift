import Rondo
import RondoTestSupport
import Testing

extension StressTests {
  /// Blocks and signals from many threads: every one arrives, once, in order.
  @Suite struct PostingTests {
    @Test func `blocks from eight threads run once each and in order`() {
      let posters = 8
      let each = stressCount(125_000)
      let running = RunningLoop()
      let loop = running.loop
      // What each poster's next block should be; only the loop's thread looks.
      let next = LoopVariable([Int](repeating: 0, count: posters))
      let disorder = LoopVariable(0)
      let accepted = SharedNumber()
      TestThread.race(posters) { poster in
        for number in 0..<each {
          let isAccepted = loop.perform(in: number % 2 == 0 ? .default : .common) {
            if next.value[poster] != number { disorder.value += 1 }
            next.value[poster] = number + 1
          }
          if isAccepted { accepted.add() }
        }
      }
      running.settle()
      running.end()
      #expect(accepted.value == posters * each)
      #expect(next.value == [Int](repeating: each, count: posters))
      #expect(disorder.value == 0)
    }

    @Test func `a thousand sources signalled once each from eight threads are performed once each`() {
      let performs = LoopVariable([Int](repeating: 0, count: 1_000))
      let sources = (0..<1_000).map { number in Loop.Source(order: number % 7) { performs.value[number] += 1 } }
      let running = RunningLoop { loop in
        for source in sources { loop.add(source) }
      }
      TestThread.race(8) { thread in
        for number in stride(from: thread, to: 1_000, by: 8) { sources[number].signal() }
      }
      running.settle()
      running.end()
      #expect(performs.value == [Int](repeating: 1, count: 1_000))
    }

    @Test func `every thread's last signal of every source is served and no signal is served twice`() {
      let rounds = 20
      let sent = (0..<1_000).map { _ in SharedNumber() }
      let performs = LoopVariable([Int](repeating: 0, count: 1_000))
      let seen = LoopVariable([Int](repeating: 0, count: 1_000))
      let sources = (0..<1_000).map { number in
        Loop.Source {
          performs.value[number] += 1
          seen.value[number] = sent[number].value
        }
      }
      let running = RunningLoop { loop in
        for source in sources { loop.add(source) }
      }
      TestThread.race(8) { thread in
        for _ in 0..<rounds {
          for offset in 0..<1_000 {
            let number = (offset + thread * 125) % 1_000
            sent[number].add()
            sources[number].signal()
          }
        }
      }
      running.settle()
      running.end()
      #expect(seen.value == [Int](repeating: 8 * rounds, count: 1_000))
      #expect(performs.value.allSatisfy { (1...(8 * rounds)).contains($0) })
    }

    @Test func `a signal that wakes is served however it races with one that does not`() {
      let rounds = stressCount(20_000)
      let performs = SharedNumber()
      let source = Loop.Source { performs.add() }
      let running = RunningLoop { $0.add(source) }
      let round = SharedNumber()
      let done = SharedNumber()
      let signallers = [false, true].map { waking in
        TestThread {
          for number in 1...rounds {
            spin { round.value == number }
            source.signal(waking: waking)
            done.add()
          }
        }
      }
      for number in 1...rounds {
        let before = performs.value
        round.set(number)
        spin { done.value == 2 * number && performs.value > before }
      }
      for thread in signallers { thread.join() }
      running.end()
      #expect(performs.value >= rounds)
    }

    @Test func `a source in two loops is performed once for each signal, by whichever comes first`() {
      let performs = SharedNumber()
      let source = Loop.Source { performs.add() }
      let loops = (0..<2).map { _ in RunningLoop { $0.add(source) } }
      for signal in 1...20_000 {
        source.signal()
        spin { performs.value >= signal }
      }
      for running in loops { running.settle() }
      for running in loops { running.end() }
      #expect(performs.value == 20_000)
    }
  }
}
