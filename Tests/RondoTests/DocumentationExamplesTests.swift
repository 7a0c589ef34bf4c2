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
  // MARK: - Embedding

  @Test func `Embedding: a host that polls`() {
    let log = Log()
    TestThread {
      let loop = Loop.current
      loop.add(Loop.Timer(after: .milliseconds(20)) { _ in log.note("timer") })
      loop.perform { log.note("block") }
      let guest = Loop.Embedding(of: loop)
      var watched = pollfd(fd: guest.descriptor, events: Int16(POLLIN), revents: 0)
      while unsafe poll(&watched, 1, -1) == 1 {
        if guest.turn() == .finished { break }
      }
      guest.end()
    }.join()
    #expect(log.text == "block, timer")
  }

  @Test func `Embedding: any other loop as a guest`() throws {
    /// It waits by a pipe, for 10 ms at most.
    final class OtherLoop {
      let pipe = TestPipe()
      var descriptor: CInt { pipe.reader }
      let log: Log
      let stop: () -> Void
      init(_ log: Log, _ stop: @escaping () -> Void) { (self.log, self.stop) = (log, stop) }
      func timeout() -> CInt { 10 }
      func serve() {
        log.note(pipe.drain() > 0 ? "ready" : "time is over")
        if log.text.hasSuffix("over") { stop() }
      }
    }
    let log = Log()
    let result = onLoopThread { stage in
      Result {
        let loop = stage.loop
        let other = OtherLoop(log, loop.stop)
        other.pipe.write(1)

        let guest = try Loop.GuestLoop(
          descriptor: other.descriptor, wait: { .milliseconds(other.timeout()) }, dispatch: { other.serve() })
        loop.add(guest, to: .common)
        loop.run()
      }
    }
    try result.get()
    #expect(log.text.hasPrefix("ready, "))
  }

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

  // MARK: - ComingFromCFRunLoop

  @Test func `ComingFromCFRunLoop: without waking`() {
    let log = Log()
    withVirtualLoop { virtual in
      let loop = virtual.loop
      let source = Loop.Source { log.note("performed") }
      loop.add(source)
      virtual.at(.milliseconds(10)) {
        source.signal(waking: false)
        loop.perform(waking: false) { log.note("when something else wakes the loop") }
      }
      loop.run(for: .milliseconds(50))
      #expect(log.text == "when something else wakes the loop")
      #expect(loop.statistics.turns == 1)
      #expect(virtual.elapsed == .milliseconds(50))
      #expect(source.isSignalled)
    }
  }
}
