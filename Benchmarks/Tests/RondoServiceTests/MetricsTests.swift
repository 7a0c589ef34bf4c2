import CoreMetrics
import Glibc
import MetricsTestKit
import Rondo
import RondoMetrics
import Testing

/// What loops do, as metrics.
@Suite struct MetricsTests {
  @Test func `what a loop has done since the last report is reported once`() async throws {
    let factory = TestMetrics()
    try await withLoopThread(name: "measured") { thread in
      let metrics = LoopMetrics(of: ["one": thread.loop], every: .seconds(3_600), on: thread.loop, factory: factory)
      await thread.blocks(10)
      metrics.report()
      await thread.blocks(1)
      let first = thread.loop.statistics
      metrics.report()
      await thread.blocks(1)
      let blocks = try factory.expectCounter("rondo.loop.callouts", [("loop", "one"), ("of", "block")])
      // Each report's own block is counted by the next.
      #expect(blocks.totalValue >= 11 && blocks.totalValue <= Int64(thread.loop.statistics.blockCallouts))
      let turns = try factory.expectCounter("rondo.loop.turns", [("loop", "one")])
      #expect(turns.totalValue >= Int64(first.turns) && turns.totalValue <= Int64(thread.loop.statistics.turns))
      let delay = try factory.expectTimer("rondo.loop.delay", [("loop", "one")])
      #expect(delay.values.count == 2 && delay.values.allSatisfy { $0 >= 0 })
      #expect(try factory.expectRecorder("rondo.loop.depth", [("loop", "one")]).values.count == 2)
    }
  }

  @Test func `a timer reports for all loops, as long as somebody holds the metrics`() async throws {
    let factory = TestMetrics()
    try await withLoopThread(name: "reporting") { thread in
      try await withLoopThread(name: "other") { other in
        var metrics: LoopMetrics? = LoopMetrics(
          of: ["a": thread.loop, "b": other.loop], every: .milliseconds(1), on: thread.loop, factory: factory)
        func reports() -> Int {
          ["a", "b"].map { (try? factory.expectTimer("rondo.loop.delay", [("loop", $0)]).values.count) ?? 0 }.min()!
        }
        while reports() < 3 { usleep(1_000) }
        #expect(metrics != nil)
        metrics = nil
        await thread.blocks(1)
        let before = thread.loop.statistics.timerCallouts
        usleep(20_000)
        await thread.blocks(1)
        #expect(thread.loop.statistics.timerCallouts == before)
      }
    }
  }

  @Test func `a loop that is stuck is given one block to wait with, and no more`() async throws {
    let factory = TestMetrics()
    try await withLoopThread(name: "stuck") { thread in
      let metrics = LoopMetrics(of: ["s": thread.loop], every: .seconds(3_600), on: thread.loop, factory: factory)
      thread.execute { usleep(30_000) }
      for _ in 0..<100 { metrics.report() }
      await thread.blocks(1)
      let delay = try factory.expectTimer("rondo.loop.delay", [("loop", "s")])
      #expect(delay.values.count <= 2)
    }
  }
}

extension LoopThread {
  /// Runs so many blocks, one after the other.
  fileprivate nonisolated(nonsending) func blocks(_ count: Int) async {
    for _ in 0..<count { try? await async {} }
  }
}
