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
