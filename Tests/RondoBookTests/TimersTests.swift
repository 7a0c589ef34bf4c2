import Rondo
import RondoAsync
import RondoDaemon
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

/// The examples of the article Timers, compiled and run.
@Suite struct TimersTests {
  @Test func `a grid, and points that are missed`() {
    let output = Output()
    @Sendable func print(_ text: String) { output.add(text) }
    withVirtualLoop { virtual in
      let loop = virtual.loop
      func work() { if virtual.elapsed == .milliseconds(50) { virtual.spend(.milliseconds(120)) } }

      let timer = Loop.Timer(every: .milliseconds(50)) { tick in
        print("\(tick.missed) missed")
        work()
      }
      loop.add(timer)
      loop.run(for: .milliseconds(260))

      #expect(virtual.elapsed == .milliseconds(260))
    }
    #expect(output.text == "0 missed, 2 missed, 0 missed")
  }

  @Test(arguments: [(Duration.zero, 1_000), (.milliseconds(100), 91)])
  func `tolerance saves wakeups`(_ tolerance: Duration, _ expected: Int) {
    withVirtualLoop { virtual in
      let loop = virtual.loop

      for number in 1...100 {
        let start = loop.clock.now.advanced(by: .milliseconds(10 * number))
        loop.add(Loop.Timer(at: start, every: .seconds(1), tolerance: tolerance) { _ in })
      }
      loop.run(for: .seconds(10))

      #expect(virtual.sleeps == expected)
    }
  }

  @Test func `a precise timer`() {
    let output = Output()
    @Sendable func print(_ text: String) { output.add(text) }
    withVirtualLoop { virtual in
      let loop = virtual.loop

      let metronome = Loop.Timer(every: .milliseconds(10)) { tick in print("late by \(tick.lateness)") }
      metronome.isPrecise = true
      loop.precisionBudget = .milliseconds(50)
      loop.add(metronome)

      loop.run(for: .milliseconds(20))
    }
    #expect(output.text == "late by 0.0 seconds, late by 0.0 seconds")
  }

  @Test func `a one-shot that is set again`() {
    let output = Output()
    @Sendable func print(_ text: String) { output.add(text) }
    withVirtualLoop { virtual in
      let loop = virtual.loop
      var tries = 0
      func connects() -> Bool {
        tries += 1
        return tries == 3
      }

      let retry = Loop.Timer(after: .milliseconds(10)) { tick in
        print("try")
        if !connects() { tick.timer.setFireDate(after: .milliseconds(20)) }
      }
      loop.add(retry)
      loop.run()

      #expect(virtual.elapsed == .milliseconds(50) && !retry.isValid)
    }
    #expect(output.text == "try, try, try")
  }

  // MARK: - An actor's timer

  actor Meter {
    nonisolated let loop: Loop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }
    private(set) var ticks = 0

    init(on loop: Loop) { self.loop = loop }

    func start() {
      loop.add(
        Loop.Timer(
          every: .milliseconds(1), handler: isolated(to: self) { meter, tick in meter.ticks += 1 + tick.missed }))
    }
  }

  @Test func `a timer with a handler of an actor`() async throws {
    try await withLoopThread { thread in
      let meter = Meter(on: thread.loop)
      await meter.start()
      while await meter.ticks < 3 { try await thread.loop.clock.sleep(for: .milliseconds(1)) }
    }
  }

  // MARK: - Timeouts

  @Test func `timeouts and timers of one date fire as they were scheduled, but for an order`() {
    let output = Output()
    withVirtualLoop { virtual in
      let loop = virtual.loop
      loop.add(Loop.Timer(after: .seconds(1), order: 1) { _ in output.add("order 1") })
      loop.add(Loop.Timer(after: .seconds(1)) { _ in output.add("timer") })
      let timeout = loop.makeTimeout(after: .seconds(1)) { output.add("timeout") }
      loop.add(Loop.Timer(after: .seconds(1), order: -1) { _ in output.add("order -1") })
      loop.add(Loop.Timer(after: .seconds(1)) { _ in output.add("later timer") })
      loop.run()
      #expect(loop.holds(timeout) && loop.fireDate(of: timeout) == nil)
      #expect(loop.discard(timeout) && !loop.arm(timeout, after: .seconds(1)))
    }
    #expect(output.text == "order -1, timer, timeout, later timer, order 1")
  }

  // MARK: - Idle limits

  /// Echoes to a client until the client ends or is idle for too long. The loop's thread uses it.
  final class EchoClient: @unchecked Sendable {
    private let loop: Loop
    private let limit: Duration
    private var source: SocketSource!
    private var idle: Loop.Timeout!

    init(_ socket: Socket, on loop: Loop, limit: Duration) {
      (self.loop, self.limit) = (loop, limit)
      source = SocketSource(socket, for: .data) { _, event in self.happened(event) }
      idle = loop.makeIdleTimeout(of: source, after: limit) { self.end() }
      loop.add(source)
    }

    var isOver: Bool { !source.isValid }

    private func happened(_ event: SocketSource.Event) {
      loop.arm(idle, after: limit)
      switch event {
      case .received(let bytes) where (try? source.send(bytes)) != nil:
        if source.isCongested { source.disable(.data) }
      case .sent: source.enable(.data)
      default: end()
      }
    }

    private func end() {
      loop.discard(idle)
      source.invalidate()
    }
  }

  @Test func `an idle limit in virtual time`() throws {
    try withVirtualLoop { virtual in
      virtual.looksAtDescriptors = true
      let (near, far) = try Socket.pair()
      let client = EchoClient(near, on: virtual.loop, limit: .seconds(30))
      virtual.at(.seconds(20)) { _ = try? far.send([1]) }
      virtual.advance(by: .seconds(49))
      #expect(try far.receive() == .bytes([1]))
      #expect(!client.isOver)
      virtual.advance(by: .seconds(1))
      #expect(client.isOver)
    }
  }

  @Test func `a client that sends and never reads is idle as well`() throws {
    try withVirtualLoop { virtual in
      virtual.looksAtDescriptors = true
      let (near, far) = try Socket.pair()
      let client = EchoClient(near, on: virtual.loop, limit: .seconds(30))
      let flood = [UInt8](repeating: 1, count: 65_536)
      for second in 0..<1_000 { virtual.at(.seconds(second)) { _ = try? far.send(flood) } }
      virtual.advance(by: .seconds(1_000))
      #expect(client.isOver)
    }
  }

  @Test func `what a client has sent during a stall is no idleness`() throws {
    try withVirtualLoop { virtual in
      virtual.looksAtDescriptors = true
      let (near, far) = try Socket.pair()
      let client = EchoClient(near, on: virtual.loop, limit: .seconds(30))
      let stall = Loop.Timer(after: .seconds(29)) { _ in
        virtual.spend(.seconds(5))
        _ = try? far.send([1])
      }
      virtual.loop.add(stall)
      virtual.advance(by: .seconds(60))
      #expect(!client.isOver)
      virtual.advance(by: .seconds(5))
      #expect(client.isOver)
    }
  }

  // MARK: - Clocks

  @Test(.offThePool) func `a timer of the calendar`() throws {
    let output = Output()
    @Sendable func print(_ text: String) { output.add(text) }
    let thread = try LoopThread(name: "calendar")
    try thread.sync {
      let loop = Loop.current

      let rule = try CalendarRule("30 3 * * mon-fri", in: .local)
      let backup = try ClockTimer(by: rule) { _, tick in print("backup, \(tick.missed) missed") }
      loop.add(backup)

      #expect(backup.nextDate! > ClockTimer.Clock.realTime.now && output.text.isEmpty)
      backup.invalidate()
    }
    thread.stop()
  }
}
