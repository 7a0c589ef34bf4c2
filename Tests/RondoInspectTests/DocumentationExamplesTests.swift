import Rondo
import RondoInspect
import RondoTestSupport
import Synchronization
import Testing

// The examples of RondoInspect.docc, compiled and run. `DocumentationTextTests` sees to it that they stand in the
// documentation as they stand here.

private final class Log: Sendable {
  private let notes = Mutex<[String]>([])

  func note(_ text: String) { notes.withLock { $0.append(text) } }

  var text: String { notes.withLock { $0.joined(separator: ", ") } }
}

@Suite(.offThePool) struct DocumentationExamplesTests {
  @Test func `RondoInspect: stalls, names, measures and wakers`() throws {
    let thread = try LoopThread(name: "examples")
    let log = Log()
    try thread.sync { try Examples.run(Loop.current, log) }
    #expect(log.text.contains("timer flush of the journal: 1"))
    #expect(!log.text.contains("blocks"))
    thread.stop()
  }
}

private enum Examples {
  static func run(_ loop: Loop, _ log: Log) throws {
    let monitor = try StallMonitor(limit: .milliseconds(250)) { stall in
      log.note("\(stall.callouts.last?.name ?? "?") \(stall.isOver ? "is over" : "blocks \(stall.loop)")")
    }
    monitor.watch(loop)
    monitor.stopWatching(loop)

    let flush = Loop.Timer(every: .seconds(1)) { _ in log.note("flush") }
    flush.name = "flush of the journal"
    loop.add(flush)
    flush.setFireDate(after: .zero)

    let insight = loop.insight
    insight.measure()
    loop.run(for: .milliseconds(1))
    for place in insight.measures {
      log.note("\(place.kind) \(place.name): \(place.callouts), half of them within \(place.run.value(at: 0.5))")
    }

    for waker in insight.wakers { log.note("\(waker.reason) \(waker.name ?? "") \(waker.perSecond) a second") }
    for finding in insight.audit() { log.note(finding) }
    flush.invalidate()
  }
}
