import Rondo
import Testing

/// Every order of wakeups, stops and the steps of nested runs, of whatever length.
@Suite struct WakeMemoryTests {
  private func faults(from start: WakeMemoryModel) -> Set<String> {
    var faults: Set<String> = []
    var seen: Set<WakeMemoryModel> = [start]
    var frontier = [start]
    while let state = frontier.popLast() {
      for (next, fault) in state.successors() {
        if let fault {
          faults.insert(fault)
        } else if seen.insert(next).inserted {
          frontier.append(next)
        }
      }
    }
    return faults
  }

  @Test(arguments: 1...3)
  func `no order of events has a woken run sleep, an unwoken one look, or a stop end another run`(deepest: Int) {
    #expect(faults(from: WakeMemoryModel(deepest: deepest)) == [])
  }

  @Test(arguments: WakeMemoryModel.Flaw.allCases.filter { $0 != .none })
  func `the exploration finds a loop that was broken on purpose`(flaw: WakeMemoryModel.Flaw) {
    #expect(faults(from: WakeMemoryModel(deepest: 2, flaw: flaw)) != [])
  }

  /// A run in the middle of its turn, before its wait.
  private func running() -> WakeMemory {
    var memory = WakeMemory()
    memory.beginRun()
    memory.beginTurn()
    return memory
  }

  @Test func `a wakeup between the beginning of a turn and its wait has the loop go round exactly once`() {
    var memory = running()
    memory.wake(at: .distantPast)
    #expect(memory.isWoken)
    memory.waitEnded()
    memory.beginTurn()
    #expect(!memory.isWoken)
  }

  @Test func `a wakeup after the wait is not remembered, because the loop goes round anyway`() {
    var memory = running()
    memory.waitEnded()
    memory.wake(at: .distantPast)
    memory.carryOver()
    memory.wake(at: .distantPast)
    memory.beginTurn()
    #expect(!memory.isWoken)
  }

  @Test func `a wakeup before the first turn is remembered`() {
    var memory = WakeMemory()
    memory.beginRun()
    memory.wake(at: .distantPast)
    memory.beginTurn()
    #expect(memory.isWoken)
  }

  @Test func `a loop that is not running remembers neither wakeup nor stop`() {
    var memory = WakeMemory()
    memory.absorb([.wake, .stop], at: .distantPast)
    #expect(memory == WakeMemory())
    memory.beginRun()
    #expect(!memory.isWoken && !memory.isStopped)
  }

  @Test func `what came before a nested run belongs to the outer one`() {
    var memory = running()
    memory.absorb([.wake, .stop], at: .distantPast)
    memory.beginRun()
    #expect(!memory.isWoken && !memory.isStopped)
    memory.endRun()
    #expect(memory.isWoken && memory.isStopped)
  }

  @Test func `a wakeup of a nested run wakes the runs around it, a stop does not stop them`() {
    var memory = running()
    memory.beginRun()
    memory.absorb([.wake, .stop], at: .distantPast)
    #expect(memory.isWoken && memory.isStopped)
    memory.endRun()
    #expect(memory.isWoken && !memory.isStopped)
  }

  @Test func `a wakeup of a run nested in a performed source is that run's alone`() {
    var memory = running()
    memory.beginSource()
    memory.beginRun()
    memory.wake(at: .distantPast)
    #expect(memory.isWoken)
    memory.endRun()
    memory.endSource()
    #expect(!memory.isWoken)
    memory.wake(at: .distantPast)
    #expect(memory.isWoken)
  }

  @Test func `a wakeup that another event goes before is kept, with the time of the first`() {
    var memory = running()
    memory.wake(at: Instant(nanoseconds: 1))
    memory.wake(at: Instant(nanoseconds: 2))
    memory.carryOver()
    memory.beginTurn()
    #expect(memory.isWoken)
    #expect(memory.wokenAt == Instant(nanoseconds: 1))
  }
}
