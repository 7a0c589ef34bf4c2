import Rondo
import RondoTesting
import Testing

/// Descriptors that stay ready, in runs that return after a source was handled: each has its turn.
@Suite struct FairnessTests {
  /// How often each of some sources is told in 30 runs, by name.
  private func tallies(orders: [Int]) -> [Int] {
    onLoopThread { stage in
      let names = orders.indices.map { String($0) }
      for (name, order) in zip(names, orders) {
        let pipe = stage.pipe()
        pipe.write(1)
        stage.descriptor(name, pipe.reader, order: order)
      }
      for _ in 0..<30 { stage.loop.run(for: .seconds(60), returnAfterSourceHandled: true) }
      let told = stage.trace.tokens
      return names.map { name in told.count { $0 == name } }
    }
  }

  @Test func `three pipes that nobody reads are told equally often`() {
    #expect(tallies(orders: [0, 0, 0]) == [10, 10, 10])
  }

  @Test func `of pipes that nobody reads, those of the lowest order have their turns alone`() {
    #expect(tallies(orders: [1, 0, 0]) == [0, 15, 15])
  }

  @Test func `a pipe that is ready now and then does not keep another one from its turn`() {
    let told = onLoopThread { stage -> [String] in
      let pipes = (0..<3).map { _ in stage.pipe() }
      for (number, pipe) in pipes.enumerated() { stage.descriptor(String(number), pipe.reader) }
      pipes[0].write(1)
      pipes[2].write(1)
      for run in 0..<12 {
        if run % 2 == 0 { pipes[1].write(1) } else { pipes[1].drain() }
        stage.loop.run(for: .seconds(60), returnAfterSourceHandled: true)
      }
      return stage.trace.tokens
    }
    for name in ["0", "1", "2"] {
      let times = told.count { $0 == name }
      #expect(times >= 3, "\(told)")
    }
  }
}
