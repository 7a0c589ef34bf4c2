import Rondo
import RondoSockets
import Testing

/// What tasks know of a descriptor, without a loop: waiters are numbers.
@Suite struct ReadinessMachineTests {
  /// The machine behind a reference: an expectation changes no value.
  private final class Machine {
    private var machine = ReadinessMachine<Int>()

    func begin(_ direction: ReadinessDirection) -> Bool { machine.begin(direction) }
    /// Begins a wait, so many seconds after the start.
    func wait(
      _ direction: ReadinessDirection, _ waiter: Int, at seconds: Int = 0, isServed: Bool = false,
      isBetween: Bool = false
    ) -> ReadinessAnswer? {
      machine.wait(direction, waiter, isServed: isServed, isBetween: isBetween, at: date(seconds))
    }
    func drain() -> Int? { machine.drain() }
    func takeServed(_ direction: ReadinessDirection) -> Int? { machine.takeServed(direction) }
    func edge(_ readiness: Loop.DescriptorSource.Readiness) -> (Int?, Int?) { machine.edge(readiness) }
    func take(_ direction: ReadinessDirection) -> Int? { machine.take(direction) }
    func limit(idle: Int? = nil, deadline: Int? = nil, at seconds: Int = 0) {
      machine.limitIdleness(to: idle.map { Int64($0) * 1_000_000_000 }, at: date(seconds))
      machine.deadline = deadline.map(date) ?? .distantFuture
    }
    func moved(at seconds: Int) { machine.moved(at: date(seconds)) }
    /// When the first wait is over, in seconds after the start.
    var nextLimit: Duration? {
      let limit = machine.nextLimit
      return limit == .distantFuture ? nil : .nanoseconds(limit.nanoseconds - date(0).nanoseconds)
    }
    func expire(_ direction: ReadinessDirection, at seconds: Int) -> Int? {
      machine.expire(direction, at: date(seconds))?.waiter
    }
    /// Which limit of a server has ended the read.
    func met(at seconds: Int) -> ServerLimit? { machine.expire(.read, at: date(seconds))?.limit }
    func limitFirstByte(to seconds: Int) { machine.firstReadDeadline = date(seconds) }
    func name(_ limit: ServerLimit?) { machine.deadlineLimit = limit }
    func succeed(_ direction: ReadinessDirection, mayGoOn: Bool) {
      machine.succeed(direction, mayGoOn: mayGoOn)
    }
    func end() -> (Int?, Int?) { machine.end() }
    func hasSpent(of budget: Int) -> Bool { machine.hasSpent(.read, of: budget) }
  }

  /// A machine whose first calls have found nothing.
  private func drained() -> Machine {
    let machine = Machine()
    for direction in ReadinessDirection.allCases { _ = machine.begin(direction) }
    return machine
  }

  @Test func `the first call is made, and the next one after an edge`() {
    let machine = Machine()
    #expect(machine.begin(.read))
    #expect(!machine.begin(.read))
    #expect(machine.edge(.read) == (nil, nil))
    #expect(machine.begin(.read))
  }

  @Test func `an edge during a call is not lost`() {
    let machine = drained()
    _ = machine.edge(.read)
    _ = machine.begin(.read)
    // The call reads, and more comes before it returns.
    _ = machine.edge(.read)
    #expect(machine.wait(.read, 1) == .ready)
    #expect(machine.begin(.read))
  }

  @Test func `a call that may be followed by another one is, without an edge, whatever the other direction does`() {
    let machine = drained()
    machine.succeed(.read, mayGoOn: true)
    machine.succeed(.write, mayGoOn: false)
    #expect(machine.wait(.read, 1) == .ready)
    #expect(machine.begin(.read))
    #expect(machine.wait(.read, 1) == nil)
    #expect(machine.wait(.write, 2) == nil)
  }

  @Test func `an edge wakes the waiter of its direction alone, once`() {
    let machine = drained()
    #expect(machine.wait(.read, 1) == nil)
    #expect(machine.wait(.write, 2) == nil)
    #expect(machine.edge(.write) == (nil, 2))
    #expect(machine.edge(.write) == (nil, nil))
    #expect(machine.edge([.read, .write]) == (1, nil))
  }

  @Test func `after a hang-up each read is tried, and a write is not`() {
    let machine = drained()
    #expect(machine.wait(.read, 1) == nil)
    #expect(machine.edge(.closed) == (1, nil))
    for _ in 0..<3 { #expect(machine.begin(.read)) }
    #expect(!machine.begin(.write))
    // What finds nothing in spite of it waits, and does not try for ever.
    #expect(machine.wait(.read, 1) == nil)
  }

  @Test func `a second waiter of a direction is refused, and the first one waits on`() {
    let machine = drained()
    #expect(machine.wait(.read, 1) == nil)
    #expect(machine.wait(.read, 2) == .taken)
    #expect(machine.edge(.read) == (1, nil))
  }

  @Test func `a waiter that gives up is taken out, once`() {
    let machine = drained()
    #expect(machine.wait(.read, 1) == nil)
    #expect(machine.take(.read) == 1)
    #expect(machine.take(.read) == nil)
    #expect(machine.edge(.read) == (nil, nil))
  }

  @Test func `the end takes out both, and a later waiter is told`() {
    let machine = drained()
    #expect(machine.wait(.read, 1) == nil)
    #expect(machine.wait(.write, 2) == nil)
    #expect(machine.end() == (1, 2))
    #expect(machine.begin(.read))
    #expect(machine.wait(.read, 3) == .ended)
  }

  @Test func `a budget is spent once in so many calls, and a wait renews it`() {
    let machine = drained()
    #expect((0..<7).map { _ in machine.hasSpent(of: 3) } == [false, false, false, true, false, false, false])
    #expect(machine.wait(.read, 1) == nil)
    #expect((0..<4).map { _ in machine.hasSpent(of: 3) } == [false, false, false, true])
  }

  @Test func `a drain takes out who waits between requests alone, and refuses such waits from then on`() {
    let machine = drained()
    #expect(machine.wait(.read, 1) == nil)
    #expect(machine.drain() == nil)
    #expect(machine.take(.read) == 1)
    #expect(machine.wait(.read, 2, isBetween: true) == .drained)
    // What has come is read.
    _ = machine.edge(.read)
    #expect(machine.wait(.read, 3, isBetween: true) == .ready)
    let other = drained()
    #expect(other.wait(.read, 4, isBetween: true) == nil)
    #expect(other.drain() == 4)
    #expect(other.drain() == nil)
  }

  // MARK: - Limits

  @Test func `a deadline ends the waits of both directions, and not before`() {
    let machine = drained()
    machine.limit(deadline: 10)
    #expect(machine.nextLimit == nil)
    #expect(machine.wait(.read, 1) == nil)
    #expect(machine.wait(.write, 2, at: 9) == nil)
    #expect(machine.nextLimit == .seconds(10))
    #expect(machine.expire(.read, at: 9) == nil)
    #expect(machine.expire(.read, at: 10) == 1)
    #expect(machine.expire(.read, at: 10) == nil)
    #expect(machine.expire(.write, at: 10) == 2)
    #expect(machine.nextLimit == nil)
  }

  @Test func `idleness counts from the beginning of the wait, and from each move in either direction`() {
    let machine = drained()
    machine.limit(idle: 30)
    #expect(machine.wait(.read, 1, at: 100) == nil)
    #expect(machine.nextLimit == .seconds(130))
    // The other direction moves.
    machine.moved(at: 120)
    #expect(machine.expire(.read, at: 130) == nil)
    #expect(machine.nextLimit == .seconds(150))
    #expect(machine.expire(.read, at: 150) == 1)
    // What moved before the wait does not shorten it.
    #expect(machine.wait(.read, 2, at: 1_000) == nil)
    #expect(machine.nextLimit == .seconds(1_030))
  }

  @Test func `the earlier of the two limits counts`() {
    let machine = drained()
    machine.limit(idle: 30, deadline: 20)
    #expect(machine.wait(.read, 1) == nil)
    #expect(machine.nextLimit == .seconds(20))
    machine.limit(idle: 5, deadline: 20, at: 2)
    // From the beginning of the wait: a change is no move.
    #expect(machine.nextLimit == .seconds(5))
    machine.limit()
    #expect(machine.nextLimit == nil)
    #expect(machine.expire(.read, at: 1_000_000) == nil)
  }

  @Test func `a wait says which limit of the server it has met, the deadline's before others`() {
    let machine = drained()
    machine.limit(idle: 30)
    #expect(machine.wait(.read, 1) == nil && machine.met(at: 30) == .idle)
    machine.limitFirstByte(to: 20)
    #expect(machine.wait(.read, 2) == nil && machine.met(at: 30) == .firstByte)
    machine.limit(idle: 30, deadline: 30)
    #expect(machine.wait(.read, 3) == nil && machine.met(at: 30) == nil)
    machine.name(.headTime)
    #expect(machine.wait(.read, 4) == nil && machine.met(at: 30) == .headTime)
  }

  @Test func `a limit that is set during a wait counts from then`() {
    let machine = drained()
    #expect(machine.wait(.read, 1) == nil)
    machine.limit(idle: 30, at: 50)
    #expect(machine.nextLimit == .seconds(80))
  }

  @Test func `the server's cancellation takes out its own task alone`() {
    let machine = drained()
    #expect(machine.wait(.read, 1, isServed: true) == nil)
    #expect(machine.wait(.write, 2) == nil)
    #expect(machine.takeServed(.write) == nil)
    #expect(machine.takeServed(.read) == 1)
    #expect(machine.takeServed(.read) == nil)
    // The next waiter is another task.
    #expect(machine.wait(.read, 3) == nil)
    #expect(machine.takeServed(.read) == nil)
    #expect(machine.take(.read) == 3)
    #expect(machine.take(.write) == 2)
  }
}

/// So many seconds after the start.
private func date(_ seconds: Int) -> Instant {
  Instant(nanoseconds: Int64(1_000 + seconds) * 1_000_000_000)
}
