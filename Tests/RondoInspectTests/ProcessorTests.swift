import Rondo
import RondoInspect
import RondoTestSupport
import Synchronization
import Testing

@Suite(.offThePool) struct ProcessorTests {
  private final class Flag: Sendable {
    let isSet = Atomic<Bool>(false)
  }

  @Test func `a loop that computes all the time is told with what it computes`() async throws {
    let thread = try LoopThread(name: "busy one")
    let (reports, continuation) = AsyncStream<ProcessorUse>.makeStream()
    let mayEnd = Flag()
    // However busy the machine is, it takes more than a thousandth.
    let monitor = try ProcessorMonitor(above: 0.001, for: .milliseconds(200)) { continuation.yield($0) }
    monitor.watch(thread.loop)
    try await withThrowingTaskGroup { group in
      group.addTask {
        let source = Loop.Source {
          while !mayEnd.isSet.load(ordering: .relaxed) {}
        }
        source.name = "the busy source"
        thread.loop.add(source)
        source.signal()
        for await report in reports where report.samples.first?.callout == "source the busy source" {
          #expect(report.share > 0.001 && report.loop == "busy one")
          break
        }
        mayEnd.isSet.store(true, ordering: .relaxed)
      }
      try await group.waitForAll()
    }
    await thread.end()
  }
}
