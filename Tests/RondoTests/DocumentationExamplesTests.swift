import Foundation
import Glibc
import Rondo
import RondoTesting
import Synchronization
import Testing

// The examples of Rondo.docc, compiled and run. `ExampleTextTests` sees to it that they stand in the documentation as
// they stand here.

/// What the examples have done.
private final class Log: Sendable {
  private let notes = Mutex<[String]>([])

  func note(_ text: String) { notes.withLock { $0.append(text) } }

  var text: String { notes.withLock { $0.joined(separator: ", ") } }
}

/// What owns a timeout in the examples.
private final class Connection: @unchecked Sendable {
  private let log: Log
  /// The loop's thread.
  var idle: Loop.Timeout!

  init(_ log: Log) { self.log = log }

  func expire() { log.note("expired") }
}

@Suite struct DocumentationExamplesTests {
  // MARK: - Threading

  @Test func `Threading: the heartbeat of a sleeping loop does not look stuck`() {
    let running = RunningLoop()
    let loop = running.loop
    running.waitUntilAsleep()
    func pauseBriefly() { sched_yield() }

    let before = loop.heartbeat
    pauseBriefly()
    let after = loop.heartbeat
    let isStuck = after.beats == before.beats && after.phase != .waiting && after.phase != .notRunning

    #expect(!isStuck)
    running.stop()
  }

  // MARK: - Concurrency

  /// Compiled, not run: the tests do not own the main thread.
  private func runMainExample(_ log: Log) {
    func main() {
      Loop.runMain {
        for await tick in Loop.main.ticks(every: .seconds(1)) {
          print("on the main thread, \(tick.missed) missed")
          if tick.missed > 10 { break }
        }
      }
    }
    _ = main
  }

  // MARK: - Timeout

  @Test func `Timeout: its life`() {
    let log = Log()
    let connection = Connection(log)
    withVirtualLoop { virtual in
      let loop = virtual.loop

      connection.idle = loop.makeTimeout(after: .seconds(30)) { [connection] in connection.expire() }
      loop.run(for: .seconds(20))
      loop.arm(connection.idle, after: .seconds(30))  // It has sent something.
      loop.run(for: .seconds(60))
      loop.discard(connection.idle)  // It has gone.

      #expect(virtual.elapsed == .seconds(50))
    }
    #expect(log.text == "expired")
  }
}
