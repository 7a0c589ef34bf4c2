import Glibc
import Rondo
import RondoDaemon
import RondoSockets
import RondoTesting
import Testing

// The examples of the article Testing and of RondoTesting's landing page, run.

/// A connection that ends when its client has sent nothing for `limit`.
final class TestedSession {
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

@Suite struct TestingTests {
  @Test(.seeds(100)) func `an answer at the moment of its limit is told once`() {
    withVirtualLoop { virtual in
      let trace = Trace()
      let limit = Loop.Timer(after: .seconds(1)) { _ in trace.note("too late") }
      let answer = Loop.Timer(after: .seconds(1)) { _ in
        guard limit.isValid else { return }
        limit.invalidate()
        trace.note("in time")
      }
      virtual.loop.add(answer)
      virtual.loop.add(limit)
      virtual.advance(by: .seconds(2))
      #expect(trace.tokens.count == 1)
    }
  }

  @Test func `a session ends after thirty silent seconds`() {
    withVirtualLoop { virtual in
      let session = TestedSession(on: virtual.loop, limit: .seconds(30))
      virtual.advance(by: .seconds(29))
      session.received()
      virtual.advance(by: .seconds(29))
      #expect(!session.isOver)
      virtual.advance(by: .seconds(1))
      #expect(session.isOver)
    }
  }

  @Test func `RondoTesting: three minutes`() {
    withVirtualLoop { virtual in
      let trace = Trace()
      virtual.loop.add(Loop.Timer(every: .seconds(60)) { _ in trace.note("\(virtual.elapsed)") })
      virtual.advance(by: .seconds(180))
      #expect(trace.text == "60.0 seconds 120.0 seconds 180.0 seconds")
    }
  }

  @Test func `an async server echoes, and closes a silent client`() throws {
    try withVirtualLoop { virtual in
      virtual.looksAtDescriptors = true
      let address = try SocketAddress.abstract("rondo-book-\(getpid())")
      let server = FirstServer(listener: try Listener(at: address), loop: virtual.loop, limit: .seconds(30))
      let serving = Task(executorPreference: virtual.loop) { try await server.run() }
      let client = try Socket(family: AF_UNIX, .stream)
      #expect(try client.connect(to: address))
      #expect(try client.send(Array("hello".utf8)) == 5)
      virtual.runUntilIdle()
      #expect(try client.receive() == .bytes(Array("hello".utf8)))
      virtual.advance(by: .seconds(29))
      #expect(try client.receive() == .nothing)
      virtual.advance(by: .seconds(1))
      #expect(try client.receive() == .end)
      serving.cancel()
      virtual.runUntilIdle()
    }
  }

  @Test func `a handler that takes long misses ticks`() {
    withVirtualLoop { virtual in
      let trace = Trace()
      let timer = Loop.Timer(every: .seconds(1)) { tick in
        trace.note("\(tick.missed)")
        if virtual.elapsed == .seconds(1) { virtual.spend(.milliseconds(2500)) }
      }
      virtual.loop.add(timer)
      virtual.advance(by: .seconds(4))
      #expect(trace.text == "0 2")
    }
  }

  @Test func `another thread signals a source`() {
    withVirtualLoop { virtual in
      let trace = Trace()
      let source = Loop.Source { trace.note("\(virtual.elapsed)") }
      virtual.loop.add(source)
      virtual.at(.seconds(5)) { source.signal() }
      virtual.advance(by: .seconds(10))
      #expect(trace.text == "5.0 seconds")
    }
  }

  @Test func `a descriptor becomes ready by the script`() throws {
    let (near, far) = try Socket.pair()

    try withVirtualLoop { virtual in
      let trace = Trace()
      let source = try Loop.DescriptorSource(near.descriptor, for: .read) { _, readiness in
        trace.note("\(virtual.elapsed), \(readiness)")
      }
      virtual.loop.add(source)
      virtual.makeReady(source, .read, at: .seconds(2))
      virtual.advance(by: .seconds(3))
      #expect(trace.text == "2.0 seconds, read")
    }

    withExtendedLifetime((near, far)) {}
  }

  @Test func `an idle timeout of a socket sees what waits unread`() throws {
    let (near, far) = try Socket.pair()
    withVirtualLoop { virtual in
      let trace = Trace()
      let source = SocketSource(near, for: .data) { _, event in trace.note("\(event)") }
      virtual.loop.add(source)
      _ = virtual.loop.makeIdleTimeout(of: source, after: .seconds(30)) { trace.note("idle") }
      virtual.at(.seconds(29)) { _ = try? far.send([1]) }
      virtual.advance(by: .seconds(59))
      #expect(trace.text == "")
      #expect((try? near.receive()) == .bytes([1]))
      virtual.advance(by: .seconds(1))
      #expect(trace.text == "idle")
      source.invalidate()
    }
  }

  @MainActor @Test func `a function of the main actor sleeps a virtual minute`() {
    visitsAreCounted()
  }

  @Test func `a trace is compared whole`() {
    withVirtualLoop { virtual in
      let trace = Trace()
      trace.observe(virtual.loop)
      virtual.loop.add(Loop.Timer(after: .seconds(3600)) { _ in trace.note("timer") })
      virtual.loop.perform { trace.note("block") }
      #expect(virtual.loop.run() == .finished)
      #expect(virtual.elapsed == .seconds(3600))
      #expect(trace.text == "E BT BS block BW AW timer X")
    }
  }
}

@MainActor final class Visits {
  private(set) var count = 0

  func add() async throws {
    try await Task.sleep(for: .seconds(60))
    count += 1
  }
}

@MainActor func visitsAreCounted() {
  withVirtualLoop { virtual in
    let visits = Visits()
    Task { try await visits.add() }
    virtual.advance(by: .seconds(60))
    #expect(visits.count == 1)
  }
}
