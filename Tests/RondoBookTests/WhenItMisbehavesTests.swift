import Glibc
import Rondo
import RondoInspect
import RondoTestSupport
import RondoTesting
import Synchronization
import Testing

// The examples of WhenItMisbehaves.md and of RondoInspect's page, compiled and run. `ExampleTextTests` compares the texts.

/// Stands in for the library's function: a test compares what an example prints.
private func print(_ text: String) { Output.current.add(text) }

@Suite(.offThePool) struct WhenItMisbehavesTests {
  @Test func `a loop says which of its items wait in vain`() {
    let text = printed {
      withVirtualLoop { _ in
        let loop = Loop.current
        let insight = loop.insight
        let refresh = Loop.Timer(every: .seconds(1)) { _ in print("refresh") }
        refresh.name = "refresh"
        loop.add(refresh, to: "defualt")
        print("\(loop.run(for: .seconds(5)))")
        for finding in insight.audit() { print(finding) }
      }
    }
    #expect(text == "finished\ntimer refresh was never served: it is in defualt, which nobody has run.")
  }

  @Test func `a refusal has a reason`() {
    let text = printed {
      withVirtualLoop { virtual in
        let loop = virtual.loop
        let timer = Loop.Timer(after: .seconds(1)) { _ in }
        timer.invalidate()

        if !loop.add(timer), let reason = loop.refusal(of: timer) { print("\(reason)") }
      }
    }
    #expect(text == "the item is invalid: make a new one")
  }

  @Test func `a stall is reported with its callout`() throws {
    let thread = try LoopThread(name: "stalls")
    defer { thread.stop() }
    let (loop, busy, own) = (thread.loop, Busy(), Output())
    @Sendable func print(_ text: String) {
      own.add(text)
      busy.release()
    }

    let monitor = try StallMonitor(limit: .milliseconds(250)) { stall in print("\(stall)") }
    monitor.watch(loop)

    let timer = Loop.Timer(after: .zero) { _ in busy.hold() }
    timer.name = "blocker"
    loop.add(timer)
    busy.waitUntilHeld()
    try thread.sync {}
    #expect(own.text.hasPrefix("rondo: loop stalls (thread ") && own.text.contains("in timer blocker"))
    withExtendedLifetime(monitor) {}
  }

  @Test func `every thread is reported that takes too much of a processor`() throws {
    let thread = try LoopThread(name: "compressor")
    defer { thread.stop() }
    let (busy, own) = (Busy(), Output())
    @Sendable func print(_ text: String) {
      guard text.contains(" (compressor) took ") else { return }
      own.add(text)
      busy.release()
    }

    let monitor = try ProcessorMonitor(above: 0.5, for: .seconds(1), scope: .allThreads) { use in print(use.report) }

    // However busy the machine is.
    let other = try ProcessorMonitor(above: 0.001, for: .seconds(1), scope: .allThreads) { use in print(use.report) }
    thread.execute { busy.compute() }
    try thread.sync {}
    #expect(own.text.hasPrefix("rondo: thread "))
    withExtendedLifetime((monitor, other)) {}
  }

  @Test func `what takes how long, and what wakes the loop`() {
    withVirtualLoop { virtual in
      let loop = virtual.loop
      let flush = Loop.Timer(every: .seconds(1)) { _ in }
      flush.name = "flush of the journal"
      loop.add(flush)
      let text = printed {
        let insight = loop.insight
        insight.measure()
        loop.run(for: .seconds(10))
        for place in insight.measures {
          print("\(place.kind) \(place.name): \(place.callouts) callouts, 99 % within \(place.run.value(at: 0.99))")
        }
        for waker in insight.wakers {
          print("\(waker.reason) \(waker.name ?? "") \(waker.perSecond) a second")
        }
      }
      #expect(text.hasPrefix("timer flush of the journal: 10 callouts, 99 % within "))
      #expect(text.contains("\ntimer flush of the journal "))
    }
  }

  @Test func `counters tell turns from sleeps`() {
    let text = printed {
      withVirtualLoop { virtual in
        let loop = virtual.loop
        loop.add(Loop.Timer(every: .milliseconds(400)) { _ in })

        let before = loop.statistics
        loop.run(for: .seconds(1))
        let after = loop.statistics
        print("\(after.turns - before.turns) turns, \(after.sleeps - before.sleeps) sleeps")
      }
    }
    #expect(text == "3 turns, 3 sleeps")
  }

  @Test func `the heartbeat of a loop that sleeps does not look stuck, and that of a busy one does`() throws {
    let thread = try LoopThread(name: "heart")
    defer { thread.stop() }
    let loop = thread.loop
    while loop.heartbeat.phase != .waiting { usleep(1_000) }
    #expect(!isStuck(loop))
    let busy = Busy()
    loop.perform { busy.hold() }
    busy.waitUntilHeld()
    #expect(isStuck(loop))
    busy.release()
    try thread.sync {}
  }

  private func isStuck(_ loop: Loop) -> Bool {
    let before = loop.heartbeat
    usleep(50_000)
    let after = loop.heartbeat
    let isStuck = after.beats == before.beats && after.phase != .waiting && after.phase != .notRunning
    return isStuck
  }

  @Test func `a budget for spinning is kept`() {
    withVirtualLoop { virtual in
      let loop = virtual.loop

      loop.busyPollBudget = .milliseconds(100)

      #expect(loop.busyPollBudget == .milliseconds(100) && loop.statistics.spins == 0)
    }
  }
}

private final class Busy: Sendable {
  private let isHeld = Atomic<Bool>(false)
  private let mayGo = Atomic<Bool>(false)

  func hold() {
    isHeld.store(true, ordering: .releasing)
    while !mayGo.load(ordering: .acquiring) { usleep(1_000) }
  }

  func compute() { while !mayGo.load(ordering: .acquiring) {} }

  func waitUntilHeld() { while !isHeld.load(ordering: .acquiring) { usleep(1_000) } }

  func release() { mayGo.store(true, ordering: .releasing) }
}
