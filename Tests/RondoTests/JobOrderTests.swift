import Rondo
import RondoTesting
import Testing

/// The order of jobs, wherever in its circle the queue begins.
@Suite struct JobOrderTests {
  @Test(arguments: 0...17)
  func `jobs keep their order when there are more than the queue had room for`(_ served: Int) {
    withStage(isObserved: false) { stage in
      for _ in 0..<served { Task(executorPreference: stage.loop) {} }
      stage.loop.run()
      let order = Later<[Int]>([])
      for number in 0..<100 { Task(executorPreference: stage.loop) { order.value.append(number) } }
      #expect(stage.loop.run() == .finished)
      #expect(order.value == Array(0..<100))
    }
  }

  @Test func `jobs keep their order while a queue that was long gives memory back`() {
    withStage(isObserved: false) { stage in
      let order = Later<[Int]>([])
      for number in 0..<20_000 {
        Task(executorPreference: stage.loop) {
          order.value.append(number)
          // One more stands behind them, so that the queue is never empty.
          if number % 1_000 == 0 { Task(executorPreference: stage.loop) { order.value.append(20_000 + number) } }
        }
      }
      // So many turns are enough, and end where a job has been lost.
      for _ in 0..<20_020 where order.value.count < 20_020 { stage.loop.run(for: .zero) }
      #expect(order.value == Array(0..<20_000) + stride(from: 20_000, to: 40_000, by: 1_000))
    }
  }

  @Test func `a sleep that is cancelled keeps nothing in the loop`() {
    withStage(isObserved: false) { stage in
      let task = Task(executorPreference: stage.loop) {
        try? await stage.loop.clock.sleep(for: .seconds(3600))
        stage.note("awake")
      }
      stage.loop.run(for: .zero)
      #expect(stage.loop.nextFireDate() != nil)
      task.cancel()
      #expect(stage.loop.run() == .finished)
      #expect(stage.text == "awake")
      #expect(stage.milliseconds == 0)
    }
  }
}
