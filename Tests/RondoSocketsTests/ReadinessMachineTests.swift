import Rondo
import RondoSockets
import Testing

/// What tasks know of a descriptor, without a loop: waiters are numbers.
@Suite struct ReadinessMachineTests {
  /// The machine behind a reference: an expectation changes no value.
  private final class Machine {
    private var machine = ReadinessMachine<Int>()

    func begin(_ direction: ReadinessDirection) -> Bool { machine.begin(direction) }
    func wait(_ direction: ReadinessDirection, _ waiter: Int) -> ReadinessAnswer? { machine.wait(direction, waiter) }
    func edge(_ readiness: Loop.DescriptorSource.Readiness) -> (Int?, Int?) { machine.edge(readiness) }
    func nextWait(_ direction: ReadinessDirection) -> Int { machine.nextWait(direction) }
    func take(_ direction: ReadinessDirection, ofWait number: Int) -> Int? { machine.take(direction, ofWait: number) }
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

  @Test func `what ends an earlier wait does not end a later one`() {
    let machine = drained()
    let first = machine.nextWait(.read)
    #expect(machine.wait(.read, 1) == nil)
    #expect(machine.edge(.read) == (1, nil))
    _ = machine.begin(.read)
    #expect(machine.wait(.read, 2) == nil)
    #expect(machine.take(.read, ofWait: first) == nil)
    #expect(machine.take(.read, ofWait: first + 1) == 2)
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
}
