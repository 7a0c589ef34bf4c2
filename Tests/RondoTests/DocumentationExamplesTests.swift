import Foundation
import Glibc
import Rondo
import RondoTesting
import Synchronization
import Testing

// The examples of README.md, but for its daemon, and of Rondo.docc, compiled and run. `ExampleTextTests` sees to
// it that they stand in the documentation as they stand here.

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
  // MARK: - README

  @Test func `README: a first loop`() {
    let log = Log()
    @Sendable func print(_ text: String) { log.note(text) }
    withVirtualLoop { virtual in
      let loop = Loop.current
      let minute = Loop.Timer(every: .seconds(60), tolerance: .seconds(6)) { tick in
        print("a minute, \(tick.missed) missed")
      }
      loop.add(minute)
      loop.perform { print("soon") }
      loop.run(for: .seconds(150))
      minute.invalidate()
      #expect(virtual.elapsed == .seconds(150))
    }
    #expect(log.text == "soon, a minute, 0 missed, a minute, 0 missed")
  }

  // MARK: - Rondo

  @Test func `Rondo: a first loop`() {
    let log = Log()
    withVirtualLoop { _ in
      let loop = Loop.current
      loop.add(Loop.Timer(every: .seconds(1), tolerance: .milliseconds(100)) { tick in log.note("\(tick.missed)") })
      loop.add(Loop.Observer(.beforeWaiting, order: 100) { _ in log.note("idle") }, to: .common)
      loop.perform { log.note("block") }
      let result = loop.run(for: .milliseconds(2500))

      #expect(result == .timedOut)
      #expect(log.text == "block, idle, 0, idle, 0, idle")
    }
  }

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

  @Test func `Rondo: a run in another mode suspends`() {
    let log = Log()
    withVirtualLoop { virtual in
      let loop = virtual.loop

      loop.add(Loop.Timer(after: .milliseconds(10)) { _ in log.note("ordinary") })
      loop.add(Loop.Timer(after: .milliseconds(20)) { _ in log.note("urgent") }, to: "urgent")
      loop.run(in: "urgent")
      loop.run()

      #expect(log.text == "urgent, ordinary")
      #expect(virtual.elapsed == .milliseconds(20))
    }
  }

  @Test func `Rondo: a descriptor source`() throws {
    let log = Log()
    var ends: [CInt] = [0, 0]
    try #require(unsafe pipe(&ends) == 0)
    let (descriptor, writer) = (ends[0], ends[1])
    #expect(unsafe write(writer, [1], 1) == 1)
    let result = onLoopThread { stage in
      Result {
        let loop = stage.loop

        let input = try Loop.DescriptorSource(descriptor, for: .read) { source, readiness in
          log.note("\(readiness)")
          source.invalidate()
        }
        loop.add(input)
        loop.run()
      }
    }
    try result.get()
    #expect(log.text == "read")
    close(descriptor)
    close(writer)
  }

  @Test func `Rondo: an hour in virtual time`() {
    let log = Log()

    withVirtualLoop { virtual in
      let trace = Trace()
      trace.observe(virtual.loop)
      virtual.loop.add(Loop.Timer(after: .seconds(3600)) { _ in log.note("an hour") })
      #expect(virtual.loop.run() == .finished)
      #expect(virtual.elapsed == .seconds(3600))
      #expect(trace.text == "E BT BS BW AW X")
    }

    #expect(log.text == "an hour")
  }

  // MARK: - TheTurn

  @Test func `TheTurn: an observer shows the turn`() {
    let log = Log()
    withVirtualLoop { virtual in
      let loop = virtual.loop

      let trace = Trace()
      trace.observe(loop)
      loop.add(Loop.Source {})
      loop.add(Loop.Timer(after: .milliseconds(10)) { _ in log.note("fired") })
      #expect(loop.run(for: .milliseconds(30)) == .timedOut)
      #expect(trace.text == "E BT BS BW AW BT BS BW AW X")
    }
    #expect(log.text == "fired")
  }

  @Test func `TheTurn: a nested run`() {
    let log = Log()
    withVirtualLoop { virtual in
      let loop = virtual.loop

      loop.add(Loop.Source {}, to: "modal")
      loop.add(
        Loop.Timer(after: .milliseconds(10)) { _ in
          log.note("outer in \(loop.currentMode!)")
          let result = loop.run(in: "modal", for: .milliseconds(50))
          log.note("nested run \(result), back in \(loop.currentMode!)")
        })
      loop.run()

      let mode = Loop.Mode.default
      #expect(log.text == "outer in \(mode), nested run timedOut, back in \(mode)")
      #expect(virtual.elapsed == .milliseconds(60))
    }
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
