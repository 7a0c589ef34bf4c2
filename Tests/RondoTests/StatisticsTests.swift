import Rondo
import RondoTesting
import Testing

@Suite struct StatisticsTests {
  @Test func `time asleep is nil until somebody asks for it`() {
    withStage(isObserved: false) { stage in
      stage.timer("t", after: .seconds(1))
      stage.loop.run()
      #expect(stage.text == "t")
      #expect(stage.loop.statistics.timeAsleep == nil)
      stage.loop.timesSleep = true
      #expect(stage.loop.statistics.timeAsleep == .zero)
    }
  }

  @Test func `time asleep is what the sleeps took, and not what the callouts did`() {
    withStage(isObserved: false) { stage in
      stage.loop.timesSleep = true
      stage.timer("a", after: .seconds(1)) { _ in stage.virtual.spend(.seconds(5)) }
      stage.timer("b", after: .seconds(8))
      stage.loop.run()
      #expect(stage.text == "a b")
      #expect(stage.loop.statistics.timeAsleep == .seconds(3))
      #expect(stage.loop.statistics.sleeps == 2)
    }
  }

  @Test func `what was measured stays after the measuring ends`() {
    withStage(isObserved: false) { stage in
      stage.loop.timesSleep = true
      stage.timer("a", after: .seconds(1)) { _ in stage.loop.timesSleep = false }
      stage.timer("b", after: .seconds(2))
      stage.loop.run()
      #expect(stage.loop.statistics.timeAsleep == .seconds(1))
    }
  }
}
