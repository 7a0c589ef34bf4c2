import Dispatch
import Glibc
import Rondo
import RondoTesting
import Synchronization
import Testing

// The examples of Rondo's articles for those who begin, and of RondoTesting.docc, compiled and run. `ExampleTextTests`
// sees to it that they stand in the documentation as they stand here.

/// What the examples have done.
private final class Log: Sendable {
  private let notes = Mutex<[String]>([])

  func note(_ text: String) { notes.withLock { $0.append(text) } }

  var text: String { notes.withLock { $0.joined(separator: ", ") } }
}

@Suite struct ArticleExamplesTests {
  // MARK: - GettingStarted

  @Test func `GettingStarted: a run ends by itself`() {
    let log = Log()
    withVirtualLoop { _ in
      let loop = Loop.current
      loop.perform { log.note("a block") }
      loop.add(Loop.Timer(after: .seconds(1)) { _ in log.note("a second later") })
      let result = loop.run()
      log.note("\(result)")
    }
    #expect(log.text == "a block, a second later, finished")
  }

  @Test func `GettingStarted: modes`() {
    let log = Log()
    withVirtualLoop { virtual in
      let loop = virtual.loop

      let answer = Loop.Source { loop.stop() }
      loop.add(answer, to: "question")
      loop.add(Loop.Timer(every: .seconds(1)) { _ in log.note("ordinary work") })
      loop.add(
        Loop.Timer(after: .milliseconds(2500)) { _ in
          answer.signal()
          loop.run(in: "question")
          log.note("answered")
          loop.stop()
        })
      loop.run()

      answer.invalidate()
      #expect(virtual.elapsed == .milliseconds(2500))
    }
    #expect(log.text == "ordinary work, ordinary work, answered")
  }

  @Test func `GettingStarted: a worker thread`() throws {
    let log = Log()

    let worker = try LoopThread(name: "worker")
    worker.execute { log.note("on the worker") }
    let sum = try worker.sync { 1 + 2 }
    worker.stop()

    #expect(sum == 3 && log.text == "on the worker")
  }

  // MARK: - Choosing

  @Test func `Choosing: a post from a queue`() {
    let log = Log()
    onLoopThread { stage in
      let loop = stage.loop

      let finished = Loop.Source { log.note("on the loop's thread") }
      loop.add(finished)
      DispatchQueue.global().async { finished.signal() }
      loop.run(for: .seconds(60), returnAfterSourceHandled: true)

      finished.invalidate()
    }
    #expect(log.text == "on the loop's thread")
  }

  // MARK: - RondoTesting

  @Test func `RondoTesting: three minutes`() {
    let log = Log()

    withVirtualLoop { virtual in
      virtual.loop.add(Loop.Timer(every: .seconds(60)) { tick in log.note("\(tick.missed) missed") })
      virtual.advance(by: .seconds(180))
    }

    #expect(log.text == "0 missed, 0 missed, 0 missed")
  }

  // MARK: - TestingWithVirtualTime

  @Test func `TestingWithVirtualTime: a session`() {
    withVirtualLoop { virtual in
      let session = Session(on: virtual.loop, limit: .seconds(30))
      virtual.advance(by: .seconds(29))
      session.received()
      virtual.advance(by: .seconds(29))
      #expect(!session.isOver)
      virtual.advance(by: .seconds(1))
      #expect(session.isOver)
    }
  }

  @Test func `TestingWithVirtualTime: a handler that takes long`() {
    let log = Log()

    withVirtualLoop { virtual in
      let timer = Loop.Timer(every: .seconds(1)) { tick in
        log.note("\(tick.missed) missed")
        if virtual.elapsed == .seconds(1) { virtual.spend(.milliseconds(2500)) }
      }
      virtual.loop.add(timer)
      virtual.advance(by: .seconds(4))
    }

    #expect(log.text == "0 missed, 2 missed")
  }

  @Test func `TestingWithVirtualTime: what other threads do`() {
    let log = Log()

    withVirtualLoop { virtual in
      let source = Loop.Source { log.note("at \(virtual.elapsed)") }
      virtual.loop.add(source)
      virtual.at(.seconds(5)) { source.signal() }
      virtual.advance(by: .seconds(10))
    }

    #expect(log.text == "at \(Duration.seconds(5))")
  }

  @Test func `TestingWithVirtualTime: a descriptor`() throws {
    let log = Log()
    let pipe = TestPipe()
    let reader = pipe.reader

    try withVirtualLoop { virtual in
      let source = try Loop.DescriptorSource(reader, for: .read) { source, readiness in log.note("\(readiness)") }
      virtual.loop.add(source)
      virtual.makeReady(source, .read, at: .seconds(2))
      virtual.advance(by: .seconds(3))
    }

    #expect(log.text == "read")
    withExtendedLifetime(pipe) {}
  }
}

// MARK: - TestingWithVirtualTime

/// A connection that is over when its client has been quiet for too long.
final class Session {
  private let loop: Loop
  private let limit: Duration
  private var idle: Loop.Timeout!
  private(set) var isOver = false

  init(on loop: Loop, limit: Duration) {
    self.loop = loop
    self.limit = limit
    idle = loop.makeTimeout(after: limit) { [unowned self] in isOver = true }
  }

  func received() { loop.arm(idle, after: limit) }
}
