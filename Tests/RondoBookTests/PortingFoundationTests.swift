import Rondo
import RondoFoundation
import RondoTestSupport
import RondoTesting
import Synchronization
import Testing

// The examples of Porting.md and RondoFoundation.md that need Foundation's names. `print` is shadowed, so that each test
// can compare what the example prints.

/// The lines that an example has printed.
private final class Lines: Sendable {
  private let lines = Mutex<[String]>([])

  func add(_ line: String) { lines.withLock { $0.append(line) } }

  var all: [String] { lines.withLock { $0 } }
}

@Suite(.offThePool) struct PortingFoundationTests {
  @Test func `a program for Foundation's run loop`() {
    let lines = Lines()
    @Sendable func print(_ line: String) { lines.add(line) }
    withVirtualLoop { _ in
      let loop = RunLoop.current
      Timer.scheduledTimer(withTimeInterval: 1, repeats: true) { timer in
        print("tick")
        timer.invalidate()
      }
      loop.perform { print("soon") }
      loop.run(until: Date(timeIntervalSinceNow: 5))
    }
    #expect(lines.all == ["soon", "tick"])
  }

  @Test func `the perform family takes a method in place of a selector`() {
    let lines = Lines()
    @Sendable func print(_ line: String) { lines.add(line) }
    final class Sensor: NSObject, Sendable {
      let print: @Sendable (String) -> Void
      init(_ print: @escaping @Sendable (String) -> Void) { self.print = print }
      func read(_ register: Int) { print("read \(register)") }
    }
    withVirtualLoop { _ in
      let loop = RunLoop.current
      let sensor = Sensor(print)

      sensor.perform(Sensor.read, with: 1, afterDelay: 0)
      sensor.perform(Sensor.read, with: 2, afterDelay: 5, named: "read")
      NSObject.cancelPreviousPerformRequests(withTarget: sensor, named: "read")
      let request = loop.perform(afterDelay: 5, target: sensor) { print("never") }
      request.cancel()

      loop.run()
    }
    #expect(lines.all == ["read 1"])
  }

  @Test func `a worker performs a block, and the caller waits for it`() throws {
    let lines = Lines()
    @Sendable func print(_ line: String) { lines.add(line) }

    let worker = try LoopThread(name: "worker")
    try worker.runLoop.perform(waitUntilDone: true) { print("on the worker") }
    worker.stop()

    #expect(lines.all == ["on the worker"])
  }
}
