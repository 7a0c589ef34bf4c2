import RondoFoundation
import RondoTesting
import Testing

// The examples of RondoFoundation.docc, compiled and run. `DocumentationTextTests` sees to it that they stand in the
// documentation as they stand here.

private let log = Notes()

@Suite(.serialized) struct DocumentationExamplesTests {
  /// What the examples of `body` noted.
  private func notes(_ body: () throws -> Void) rethrows -> String {
    log.clear()
    try body()
    return log.text
  }

  @Test func `ComingFromFoundation: the first example`() {
    let text = notes {
      withVirtualLoop { _ in
        let loop = RunLoop.current
        Timer.scheduledTimer(withTimeInterval: 60, repeats: true) { timer in log.note("a minute") }
        loop.perform { log.note("soon") }
        loop.run(until: Date(timeIntervalSinceNow: 0.01))
      }
    }
    #expect(text == "soon")
  }

  @Test func `ComingFromFoundation: the perform family`() {
    let text = notes {
      withVirtualLoop { _ in
        let loop = RunLoop.current
        final class Sensor: NSObject, Sendable {
          func read(_ register: Int) { log.note("read \(register)") }
        }
        let sensor = Sensor()
        sensor.perform(Sensor.read, with: 1, afterDelay: 0)
        let request = loop.perform(afterDelay: 5, target: sensor) { log.note("never") }
        request.cancel()
        NSObject.cancelPreviousPerformRequests(withTarget: sensor)
        loop.run()
      }
    }
    #expect(text == "")
  }

  @Test func `ComingFromFoundation: a worker`() throws {
    let text = try notes {
      let worker = try LoopThread(name: "worker")
      try worker.runLoop.perform(waitUntilDone: true) { log.note("on the worker") }
      worker.stop()
    }
    #expect(text == "on the worker")
  }
}
