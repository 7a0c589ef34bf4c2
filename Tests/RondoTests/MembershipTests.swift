import Glibc
import RondoTestSupport
import Synchronization
import Testing

@testable import Rondo

/// The state machine of an item's membership: every interleaving of threads that use one item, transition by transition.
@Suite struct MembershipTests {
  /// What a thread does with the item, a transition a step, as `Item` and `Loop` do it.
  private enum Program: CaseIterable, Hashable {
    /// Adds it to a loop on that loop's thread, which holds the handlers for its slot.
    case addOwn
    /// Ends it on another thread than its loop's.
    case end
    /// Ends it on its loop's thread, and lets go of the slot's hold.
    case endOwn
    /// Calls a handler outside of a turn.
    case fire
    /// Adds it to another loop, which is refused while it is in one.
    case addElsewhere
  }

  private static let loop: UInt = 0x7F00_1234_5670
  private static let other: UInt = 0x10_0000

  private struct Thread: Hashable {
    let program: Program
    var step = 0
    var holds = false
    var isDone = false
  }

  private struct State: Hashable {
    var item = Membership()
    var threads: [Thread]
    /// The thread that has the lock.
    var locker: Int?
    var hasSlot = false
    var releases = 0
    /// Whether a handler was called, or may be called now, after it was released.
    var fault: String?
  }

  /// The state after one step of a thread; nil if it cannot make one.
  private func step(_ state: State, _ index: Int) -> State? {
    var next = state
    var thread = state.threads[index]
    if thread.isDone { return nil }
    if next.item.isLocked, next.locker != index { return nil }
    switch (thread.program, thread.step) {
    case (.addOwn, 0):
      if next.item.lock(joining: Self.loop) == nil { thread.isDone = true } else { next.locker = index }
    case (.addOwn, _):
      if !next.hasSlot { next.item.hold() }
      next.hasSlot = true
      next.item.unlock()
      thread.isDone = true
    case (.end, 0):
      thread.isDone = !next.item.end()
    case (.end, _):
      if next.item.releaseIfFree() { next.releases += 1 }
      thread.isDone = true
    case (.endOwn, 0):
      // Its loop's thread finds it in its loop.
      if !next.item.isIn(Self.loop) || !next.item.lockToEnd() { thread.isDone = true } else { next.locker = index }
    case (.endOwn, _):
      next.item.leaveLoop()
      next.item.unlock()
      let isLast = next.hasSlot ? next.item.unhold() : next.item.releaseIfFree()
      next.hasSlot = false
      if isLast { next.releases += 1 }
      thread.isDone = true
    case (.fire, 0):
      next.item.hold()
      thread.holds = true
    case (.fire, 1):
      // Here the handler is called, if the item is valid.
      if next.item.isValid, next.releases > 0 { next.fault = "a handler is called after its release" }
    case (.fire, _):
      if next.item.unhold() { next.releases += 1 }
      thread.holds = false
      thread.isDone = true
    case (.addElsewhere, 0):
      if next.item.lock(joining: Self.other) == nil { thread.isDone = true } else { next.locker = index }
    case (.addElsewhere, _):
      next.item.leaveLoop()
      next.item.unlock()
      thread.isDone = true
    }
    if !next.item.isLocked { next.locker = nil }
    thread.step += 1
    next.threads[index] = thread
    if next.releases > state.releases, next.item.holderCount > 0 { next.fault = "released while they are held" }
    next.fault = next.fault ?? fault(of: next)
    return next
  }

  private func fault(of state: State) -> String? {
    let holders = state.threads.count { $0.holds } + (state.hasSlot ? 1 : 0)
    if state.item.holderCount != holders { return "\(state.item.holderCount) holders for \(holders)" }
    if state.releases > 1 { return "released twice" }
    if state.releases > 0, state.item.isValid { return "released while it is valid" }
    if state.threads.allSatisfy(\.isDone) {
      if state.item.isLocked { return "left locked" }
      if !state.item.isValid, holders == 0, state.releases == 0 { return "never released" }
    }
    return nil
  }

  @Test func `in no interleaving of threads are handlers lost, released twice or called after their release`() {
    var states = 0
    var faults: Set<String> = []
    for first in Program.allCases {
      for second in Program.allCases {
        for third in Program.allCases {
          let start = State(threads: [first, second, third].map { Thread(program: $0) })
          var seen: Set<State> = [start]
          var frontier = [start]
          while let state = frontier.popLast() {
            states += 1
            let successors = state.threads.indices.compactMap { step(state, $0) }
            if successors.isEmpty, !state.threads.allSatisfy(\.isDone) { faults.insert("stuck") }
            for next in successors {
              if let fault = next.fault { faults.insert("\(fault): \(first) \(second) \(third)") }
              if next.fault == nil, seen.insert(next).inserted { frontier.append(next) }
            }
          }
        }
      }
    }
    #expect(faults == [])
    #expect(states > 3_000)
  }

  @Test func `the address of a loop is kept to the bit beside all flags and holders`() {
    var item = Membership()
    let highest: UInt = (1 << 48) - 16
    let isNew = item.lock(joining: highest)
    #expect(isNew == true)
    item.setCommon(true)
    for _ in 0..<Membership.mostHolders { item.hold() }
    item.noteAdded()
    item.noteOwn(true)
    #expect(item.loop == highest && item.isIn(highest) && !item.isIn(highest - 16))
    #expect(item.holderCount == Membership.mostHolders)
    let isElsewhere = item.lock(joining: 16) == nil
    #expect(isElsewhere)
    item.unlock()
    item.leaveLoop()
    #expect(item.loop == 0 && item.isCommon && item.isOwn && item.holderCount == Membership.mostHolders)
    for _ in 0..<Membership.mostHolders {
      let isLast = item.unhold()
      #expect(!isLast)
    }
    let ends = [item.end(), item.end(), item.lockToEnd(), item.lock(joining: 16) != nil]
    #expect(ends == [true, false, false, false])
    let releases = [item.releaseIfFree(), item.releaseIfFree()]
    #expect(releases == [true, false])
  }

  @Test func `more callouts of an item at once than it can count end the process with the reason`() async {
    await #expect(processExitsWith: .failure) {
      var item = Membership()
      for _ in 0...Membership.mostHolders { item.hold() }
    }
  }

  @Test func `a slot holds the handlers of its item once, whichever thread has added it and in however many modes`() {
    let counts = onLoopThread { stage -> [Int] in
      let (own, others) = (Loop.Timer(after: .seconds(3_600)) { _ in }, Loop.Observer(.entry) { _ in })
      func count() -> [Int] { [own, others].map { $0.membership.load().holderCount } }
      var counts = count()
      stage.loop.add(own)
      stage.loop.add(own, to: "m")
      TestThread { [loop = stage.loop] in
        loop.add(others)
        loop.add(others, to: "m")
      }.join()
      stage.loop.run(for: .zero)
      counts += count()
      stage.loop.remove(own)
      others.invalidate()
      counts += count()
      stage.loop.remove(own, from: "m")
      return counts + count()
    }
    #expect(counts == [0, 0, 1, 1, 1, 0, 0, 0])
  }

  @Test(.offThePool) func `a forked child that ends an item amid another thread's change leaves it as it is`() async {
    await #expect(processExitsWith: .success) { Self.forkAmidChange() }
  }

  private final class Flag: Sendable {
    private let word = Atomic<Bool>(false)
    func raise() { word.store(true, ordering: .releasing) }
    func await() { while !word.load(ordering: .acquiring) { sched_yield() } }
  }

  private static func forkAmidChange() {
    let loop = Loop.current
    let timer = Loop.Timer(after: .seconds(60)) { _ in }
    loop.add(timer)
    let (locked, forked) = (Flag(), Flag())
    let thread = TestThread {
      timer.membership.withLock {
        locked.raise()
        forked.await()
      }
    }
    locked.await()
    let child = forkProcess()
    if child == 0 {
      alarm(30)
      timer.invalidate()
      _exit(timer.isValid ? 0 : 1)
    }
    forked.raise()
    thread.join()
    precondition(end(of: child) == .exit(0))
    timer.invalidate()
    precondition(!timer.isValid)
  }

  @Test func `threads that change one item at once each find what the others have done`() {
    let timer = Loop.Timer(after: .seconds(3_600)) { _ in }
    let rounds = isWhole ? 200_000 : 5_000
    let total = Later(0)
    let threads = (0..<4).map { _ in
      TestThread {
        for _ in 0..<rounds {
          timer.holdHandlers()
          timer.membership.withLock { total.value += 1 }
          timer.unholdHandlers()
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(total.value == 4 * rounds)
    #expect(timer.membership.load().holderCount == 0)
  }
}
