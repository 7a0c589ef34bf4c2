import Glibc
import Rondo
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

@testable import RondoDaemon

/// Sources that are called too often.
@Suite struct RateLimitTests {
  // MARK: - The machine

  /// What a machine says of callouts at these times, in seconds: `.` for more to come, the rest for the last, `!` for too many.
  private func verdicts(_ limit: RateLimit, _ times: [Double], resumingAt resumptions: [Double] = []) -> String {
    var machine = RateMachine(limit)
    var left = resumptions[...]
    return times.map { time in
      while let first = left.first, first <= time {
        _ = machine.resume()
        left.removeFirst()
      }
      switch machine.count(now: Int64(time * 1e9)) {
      case .more: return "."
      case .last(let rest): return rest.map { "\(Double($0) / 1e9)" } ?? "-"
      case .tooMany: return "!"
      }
    }.joined(separator: " ")
  }

  @Test func `a burst is spent within one interval, and the rest lasts until that is over`() {
    let limit = RateLimit(3, per: .seconds(1))
    #expect(verdicts(limit, [0, 0.25, 0.75, 0.8, 1], resumingAt: [1]) == ". . 0.25 ! .")
    // An interval begins with a callout, not by the clock.
    #expect(verdicts(limit, [5, 5.5, 6, 6.5, 6.75]) == ". . . . 0.25")
    #expect(verdicts(limit, [0, 0, 0, 0]) == ". . 1.0 !")
  }

  @Test func `a rest can have a length of its own, or none, and a burst can be one callout`() {
    let (second, half) = (Duration.seconds(1), Duration.milliseconds(500))
    #expect(verdicts(.init(1, per: second, recovery: .after(half)), [0, 0.5], resumingAt: [0.5]) == "0.5 0.5")
    #expect(verdicts(.init(2, per: second, recovery: .byHand), [0, 0, 9], resumingAt: []) == ". - !")
    #expect(verdicts(.init(2, per: second, recovery: .byHand), [0, 0, 9], resumingAt: [8]) == ". - .")
    #expect(verdicts(.init(1, per: .nanoseconds(1)), [0, 0, 1], resumingAt: [1]) == "1e-09 ! 1e-09")
  }

  @Test func `in 100,000 random callouts no interval has more than a burst`() {
    var random = SeededRandom(seed: 6)
    for burst in [1, 2, 7] {
      var machine = RateMachine(RateLimit(burst, per: .nanoseconds(100)))
      var now: Int64 = 0
      var told: [Int64] = []
      var back: Int64?
      for _ in 0..<100_000 {
        now += Int64(random.next() % 40)
        if let date = back, date <= now {
          let wasResting = machine.resume()
          #expect(wasResting)
          back = nil
        }
        switch machine.count(now: now) {
        case .more: told.append(now)
        case .last(let rest):
          told.append(now)
          #expect(rest! > 0 && rest! <= 100)
          back = now + rest!
        case .tooMany: #expect(back != nil)
        }
      }
      // Two intervals may touch: in any stretch as long as one, there are two bursts at most.
      for index in told.indices.dropFirst(2 * burst) { #expect(told[index] - told[index - 2 * burst] >= 100) }
    }
  }

  // MARK: - In virtual time

  /// A source whose handler notes the time, and a limiter that notes what it says.
  private func limited(
    _ virtual: VirtualLoop, _ stage: Stage, _ limit: RateLimit, _ descriptor: CInt
  ) throws -> (Loop.DescriptorSource, RateLimiter) {
    let start = virtual.now.advanced(by: .zero - virtual.elapsed)
    let limiter = RateLimiter(limit) { _, event in
      switch event {
      case .rests(for: let rest): stage.note("rests \(rest.map { "\($0)" } ?? "-")")
      case .resumed: stage.note("resumed")
      }
    }
    let source = try Loop.DescriptorSource(
      descriptor, for: .read, handler: limiter.limiting { _, _ in stage.noteTime(since: start) })
    stage.loop.add(source)
    return (source, limiter)
  }

  @Test func `a source rests after its burst, a callout says so, and it comes back`() throws {
    try withVirtualLoop { virtual in
      let stage = Stage(virtual.loop)
      let (near, far) = try Socket.pair()
      let (source, limiter) = try limited(virtual, stage, .init(3, per: .seconds(1)), near.descriptor)
      for time in [100, 200, 300, 400, 1_200, 1_300] { virtual.makeReady(source, .read, at: .milliseconds(time)) }
      virtual.advance(by: .milliseconds(900))
      #expect(stage.trace.take() == "100.0 200.0 300.0 rests 0.8 seconds" && limiter.isResting && source.enabled == [])
      // What came in the rest waits for its end, and is the first of the next burst.
      virtual.advance(by: .milliseconds(250))
      #expect(stage.trace.take() == "resumed 1100.0" && !limiter.isResting && source.enabled == .read)
      virtual.advance(by: .seconds(3))
      #expect(stage.text == "1200.0 1300.0 rests 0.8 seconds resumed")
      source.invalidate()
      withExtendedLifetime(far) {}
    }
  }

  @Test func `by hand it comes back when it is told to, with a whole burst`() throws {
    try withVirtualLoop { virtual in
      let stage = Stage(virtual.loop)
      let (near, far) = try Socket.pair()
      let limit = RateLimit(1, per: .seconds(1), recovery: .byHand)
      let (source, limiter) = try limited(virtual, stage, limit, near.descriptor)
      limiter.resume()
      for step in 1...4 { virtual.makeReady(source, .read, at: .seconds(step)) }
      virtual.advance(by: .milliseconds(3_500))
      limiter.resume()
      virtual.advance(by: .milliseconds(1_000))
      #expect(stage.text == "1000.0 rests - resumed 3500.0 rests -")
      source.invalidate()
      limiter.resume()
      #expect(stage.text == "1000.0 rests - resumed 3500.0 rests -" && !limiter.isResting)
      withExtendedLifetime(far) {}
    }
  }

  @Test func `a source that is invalidated in its rest leaves no timer in the loop`() throws {
    try withVirtualLoop { virtual in
      let stage = Stage(virtual.loop)
      let (near, far) = try Socket.pair()
      // Whoever has the limiter, or the handle of the source, makes no difference.
      let (source, limiter) = try limited(virtual, stage, .init(1, per: .seconds(60)), near.descriptor)
      virtual.makeReady(source, .read)
      virtual.runUntilIdle()
      #expect(limiter.isResting && virtual.loop.nextFireDate() != nil)
      source.invalidate()
      #expect(!limiter.isResting && virtual.loop.nextFireDate() == nil)

      let other = RateLimiter(.init(1, per: .seconds(60)))
      let signalled = Loop.Source(limitedBy: other) { stage.note("performed") }
      virtual.loop.add(signalled)
      signalled.signal()
      virtual.runUntilIdle()
      #expect(other.isResting && virtual.loop.nextFireDate() != nil)
      signalled.invalidate()
      #expect(!other.isResting && virtual.loop.nextFireDate() == nil)

      let last = RateLimiter(.init(1, per: .seconds(60)))
      let handler = last.limiting { (_: SocketSource, _: SocketSource.Event) in }
      let socket = SocketSource(near, for: .data, handler: handler)
      virtual.loop.add(socket)
      _ = try far.send([1])
      virtual.makeReady(try #require(socket.loopItem), .read)
      virtual.runUntilIdle()
      #expect(last.isResting && virtual.loop.nextFireDate() != nil)
      socket.invalidate()
      #expect(stage.trace.take() == "0.0 rests 60.0 seconds performed")
      withExtendedLifetime(far) {}
    }
  }

  @Test func `who wakens it by hand does not get round the limit`() throws {
    try withVirtualLoop { virtual in
      let stage = Stage(virtual.loop)
      let (near, far) = try Socket.pair()
      let (source, _) = try limited(virtual, stage, .init(1, per: .seconds(1)), near.descriptor)
      virtual.makeReady(source, .read)
      virtual.runUntilIdle()
      for _ in 0..<3 {
        source.enable([.read, .write])
        virtual.makeReady(source, [.read, .write])
        virtual.runUntilIdle()
        #expect(source.enabled == [])
      }
      virtual.advance(by: .seconds(1))
      #expect(stage.text == "0.0 rests 1.0 seconds resumed" && source.enabled == [.read, .write])
      source.invalidate()
      withExtendedLifetime(far) {}
    }
  }

  @Test func `a handler that ends its source, runs the loop or resumes leaves no rest behind`() throws {
    try withVirtualLoop { virtual in
      let stage = Stage(virtual.loop)
      let (near, far) = try Socket.pair()
      let limiter = RateLimiter(.init(1, per: .seconds(1))) { _, event in stage.note("\(event)") }
      let action = Later<(Loop.DescriptorSource) -> Void>()
      let source = try Loop.DescriptorSource(
        near.descriptor, for: .read,
        handler: limiter.limiting { source, _ in
          stage.note("(")
          action.value(source)
          stage.note(")")
        })
      stage.loop.add(source)
      action.value = { _ in limiter.resume() }
      virtual.makeReady(source, .read)
      virtual.runUntilIdle()
      #expect(stage.trace.take() == "( )" && source.enabled == .read && !limiter.isResting)
      // Its rest is over before it has begun, and in it nothing is told.
      action.value = { source in
        virtual.makeReady(source, .read)
        stage.loop.run(for: .milliseconds(1_500))
      }
      virtual.makeReady(source, .read)
      virtual.runUntilIdle()
      #expect(stage.trace.take() == "( )" && source.enabled == .read && !limiter.isResting)
      action.value = { $0.invalidate() }
      virtual.makeReady(source, .read)
      virtual.runUntilIdle()
      virtual.advance(by: .seconds(2))
      #expect(stage.trace.take() == "( )" && !limiter.isResting)
      withExtendedLifetime(far) {}
    }
  }

  @Test func `a source signalled by hand is performed after its rest for what came meanwhile, once`() throws {
    withVirtualLoop { virtual in
      let stage = Stage(virtual.loop)
      let limiter = RateLimiter(.init(2, per: .seconds(1))) { _, event in
        if case .resumed = event { stage.note("resumed") } else { stage.note("rests") }
      }
      let start = virtual.now
      let source = Loop.Source(limitedBy: limiter) { stage.noteTime(since: start) }
      stage.loop.add(source)
      for step in 1...7 { virtual.at(.milliseconds(100 * step)) { source.signal() } }
      virtual.advance(by: .milliseconds(1_500))
      // What came in the rest is the first of the next burst.
      #expect(stage.text == "100.0 200.0 rests resumed 1100.0")
      virtual.advance(by: .seconds(5))
      #expect(stage.text == "100.0 200.0 rests resumed 1100.0")
      source.invalidate()
    }
  }

  @Test func `it comes back in the mode it is in`() throws {
    try withVirtualLoop { virtual in
      let stage = Stage(virtual.loop)
      let (near, far) = try Socket.pair()
      let (source, limiter) = try limited(virtual, stage, .init(1, per: .seconds(1)), near.descriptor)
      let mode = Loop.Mode(rawValue: "other")
      stage.loop.remove(source)
      stage.loop.add(source, to: mode)
      virtual.makeReady(source, .read)
      virtual.advance(by: .milliseconds(500), in: mode)
      #expect(limiter.isResting)
      virtual.advance(by: .seconds(5))
      #expect(limiter.isResting)
      virtual.advance(by: .seconds(1), in: mode)
      #expect(!limiter.isResting && stage.text == "0.0 rests 1.0 seconds resumed")
      source.invalidate()
      withExtendedLifetime(far) {}
    }
  }

  @Test(.offThePool) func `a limiter for two sources says what to do`() async {
    await #expect(processExitsWith: .failure) { inOwnProcess(Misuse.run) }
  }

  // MARK: - The kernel's

  @Test func `of connections none is lost while a listener rests, however many come`() throws {
    try onLoopThread { stage in
      let limiter = RateLimiter(.init(4, per: .seconds(3_600), recovery: .after(.milliseconds(1)))) { _, event in
        if case .rests = event { stage.note("rests") }
      }
      let accepted = Later(0)
      let listening = try Socket.listening(at: .loopback())
      let listener = SocketSource(
        listening, for: .accept,
        handler: limiter.limiting { _, event in if case .accepted = event { accepted.value += 1 } })
      stage.loop.add(listener)
      let address = try #require(listening.localAddress)
      let clients = try (0..<30).map { _ in
        let client = try Socket(family: AF_INET, .stream)
        try client.connect(to: address, timeout: .seconds(60))
        return client
      }
      stage.run { accepted.value == 30 }
      #expect(accepted.value == 30 && stage.text == Array(repeating: "rests", count: 7).joined(separator: " "))
      listener.invalidate()
      withExtendedLifetime(clients) {}
    }
  }

  @Test func `signals are counted while their source rests`() throws {
    try onLoopThread { stage in
      let limiter = RateLimiter(.init(1, per: .seconds(3_600), recovery: .byHand))
      let count = Later(0)
      let signal = try SignalSource.realTime(4)
      let source = try SignalSource(signal, handler: limiter.limiting { _, delivery in count.value += delivery.count })
      stage.loop.add(source)
      raise(signal)
      stage.look()
      #expect(count.value == 1 && limiter.isResting)
      for _ in 0..<50 { raise(signal) }
      stage.look()
      #expect(count.value == 1)
      // From another thread, which wakes the loop.
      TestThread { limiter.resume() }.join()
      stage.run { count.value == 51 }
      #expect(count.value == 51)
      source.invalidate()
    }
  }

  @Test func `what is sent while a source rests is read afterwards, by level and by edge`() throws {
    try onLoopThread { stage in
      for trigger in [Loop.DescriptorSource.Trigger.level, .edge] {
        let limiter = RateLimiter(.init(1, per: .milliseconds(1)))
        let (near, far) = try Socket.pair()
        let count = Later(0)
        let source = try Loop.DescriptorSource(
          near.descriptor, for: .read, trigger: trigger,
          handler: limiter.limiting { _, _ in
            while case .bytes(let bytes)? = try? near.receive() { count.value += bytes.count }
          })
        stage.loop.add(source)
        let sender = TestThread { for _ in 0..<1_000 { while (try? far.send([1])) != 1 { usleep(100) } } }
        stage.run { count.value == 1_000 }
        sender.join()
        #expect(count.value == 1_000)
        source.invalidate()
      }
    }
  }
}

private enum Misuse {
  static func run() {
    withVirtualLoop { virtual in
      let limiter = RateLimiter(.init(9, per: .seconds(1)))
      for _ in 0..<2 {
        let source = Loop.Source(limitedBy: limiter) {}
        virtual.loop.add(source)
        source.signal()
      }
      virtual.runUntilIdle()
    }
  }
}

extension Stage {
  /// Notes how many milliseconds have passed.
  fileprivate func noteTime(since start: SuspendingClock.Instant) {
    note("\(start.duration(to: loop.clock.now) / .milliseconds(1))")
  }
}
