import CLinux
import Dispatch
import Glibc
import Rondo
import RondoTestSupport
import RondoTesting
import Synchronization
import Testing

@testable import RondoInspect

/// What a loop's record says, on a loop in virtual time.
@Suite(.offThePool) struct RecordTests {
  @Test func `an item is called by where it was made, until it is given a name`() {
    let timer = Loop.Timer(after: .seconds(1)) { _ in }
    let line = #line - 1
    #expect(timer.name == "\(#fileID):\(line)")
    timer.name = "a timer of mine"
    #expect(timer.name == "a timer of mine")
    let source = Loop.Source {}
    #expect(source.name == "\(#fileID):\(#line - 1)")
    let observer = Loop.Observer(.entry) { _ in }
    #expect(observer.name == "\(#fileID):\(#line - 1)")
  }

  @Test func `a name is cut at 127 bytes, between characters`() {
    let timer = Loop.Timer(after: .seconds(1)) { _ in }
    timer.name = String(repeating: "ü", count: 200)
    #expect(timer.name == String(repeating: "ü", count: 63))
  }

  @Test func `a loop is called by its name`() {
    withVirtualLoop { virtual in
      virtual.loop.name = "mine"
      #expect(virtual.loop.name == "mine")
    }
  }

  @Test func `a loop that wakes says so to a watcher that sleeps, though nothing is called`() {
    withVirtualLoop { virtual in
      let recorder = Recorders.recorder(of: virtual.loop)
      virtual.loop.reportSleeps()
      recorder.setListening(rondo_listener_parked, true)
      virtual.loop.add(Loop.Source {})
      virtual.advance(by: .seconds(1))
      #expect(!recorder.isHeard(by: rondo_listener_parked))
    }
  }

  @Test
  func `a watcher that is parked sleeps beside a loop that is seldom awake, and is called to one that wakes often`()
    throws
  {
    let watcher = try Watcher.shared()
    withVirtualLoop { virtual in
      let recorder = Recorders.recorder(of: virtual.loop)
      virtual.loop.reportSleeps()
      // The alarm is real, and the loop's dates are not: it never rings.
      Self.onWatcher(watcher) { recorder.park(delay: .max / 2) }
      virtual.loop.add(Loop.Timer(every: .seconds(1)) { _ in })
      for _ in 0..<WakePace.most {
        #expect(recorder.isHeard(by: rondo_listener_parked))
        virtual.advance(by: .seconds(1))
      }
      #expect(recorder.isHeard(by: rondo_listener_parked))
      // From here on it is looked at: it arms no alarm.
      virtual.advance(by: .seconds(1))
      #expect(!recorder.isHeard(by: rondo_listener_parked))
      Self.onWatcher(watcher) { recorder.unpark() }
    }
  }

  @Test func `a watcher that is parked is called to a loop that stays awake`() throws {
    let watcher = try Watcher.shared()
    let thread = try LoopThread(name: "awake")
    defer { thread.stop() }
    let recorder = Recorders.recorder(of: thread.loop)
    thread.loop.reportSleeps()
    Self.onWatcher(watcher) { recorder.park(delay: 1_000_000) }
    // The callout ends when the watcher has been called.
    try thread.sync { while recorder.isHeard(by: rondo_listener_parked) { sched_yield() } }
  }

  private static func onWatcher<Result: Sendable>(
    _ watcher: Watcher, _ body: @escaping @Sendable () -> Result
  ) -> Result {
    let done = DispatchSemaphore(value: 0)
    let result = Mutex<Result?>(nil)
    watcher.perform {
      result.withLock { $0 = body() }
      done.signal()
    }
    done.wait()
    return result.withLock { $0! }
  }

  @Test func `each wakeup has its reason and its item`() throws {
    withVirtualLoop { virtual in
      let loop = virtual.loop
      let insight = loop.insight
      let timer = Loop.Timer(every: .seconds(1)) { _ in }
      timer.name = "second"
      loop.add(timer)
      virtual.advance(by: .milliseconds(3_500))
      let woken = insight.wakeups.filter { $0.reason == "timer" }
      #expect(woken.count == 3)
      #expect(woken.allSatisfy { $0.kind == "timer" && $0.name == "second" && $0.callouts == 1 })
      #expect(insight.wakers.first?.name == "second")
    }
  }

  @Test func `a loop that is another one's guest has its sleeps and what ends them, too`() {
    withVirtualLoop { virtual in
      let insight = virtual.loop.insight
      let timer = Loop.Timer(every: .milliseconds(10)) { _ in }
      timer.name = "tick"
      virtual.loop.add(timer)
      let guest = Loop.Embedding(of: virtual.loop)
      guest.turn()
      for _ in 0..<3 {
        virtual.spend(.milliseconds(10))
        guest.turn()
      }
      guest.end()
      let woken = insight.wakeups.filter { $0.time != nil }
      #expect(woken.map(\.reason) == ["timer", "timer", "timer"])
      #expect(woken.allSatisfy { $0.asleep == .milliseconds(10) && $0.name == "tick" && $0.callouts == 1 })
    }
  }

  @Test func `the ring keeps the last 1,024 turns`() {
    withVirtualLoop { virtual in
      let loop = virtual.loop
      let insight = loop.insight
      loop.add(Loop.Timer(every: .seconds(1)) { _ in })
      virtual.advance(by: .seconds(3_000))
      let wakeups = insight.wakeups
      #expect(wakeups.count <= 1_024)
      #expect(wakeups.count >= 1_000)
      // Another test may ask all loops of the process: a turn that is woken for that is listed for the post as well.
      let ticks = wakeups.filter { $0.reason == "timer" }
      #expect(ticks.count >= 990)
      #expect(zip(ticks, ticks.dropFirst()).allSatisfy { $0.turn < $1.turn })
    }
  }

  @Test func `callouts are counted by place, while somebody measures`() throws {
    try withVirtualLoop { virtual in
      let loop = virtual.loop
      let insight = loop.insight
      let timer = Loop.Timer(every: .seconds(1)) { _ in }
      timer.name = "second"
      let other = Loop.Timer(every: .seconds(2)) { _ in }
      other.name = "other"
      loop.add(timer)
      loop.add(other)
      virtual.advance(by: .milliseconds(2_500))
      #expect(insight.measures.isEmpty)
      insight.measure()
      virtual.advance(by: .seconds(10))
      let second = try #require(insight.measures.first { $0.name == "second" })
      #expect(second.callouts == 10)
      #expect(second.run.count == 10)
      #expect(insight.measures.first { $0.name == "other" }?.callouts == 5)
      // Another test may ask all loops of the process, by a block.
      #expect(Set(insight.measures.map(\.kind)).subtracting(["block"]) == ["timer"])
      insight.measure(only: ["other"])
      virtual.advance(by: .seconds(10))
      #expect(insight.measures.first { $0.name == "second" }?.callouts == 10)
      #expect(insight.measures.first { $0.name == "other" }?.callouts == 10)
      insight.stopMeasuring()
      virtual.advance(by: .seconds(10))
      #expect(insight.measures.first { $0.name == "other" }?.callouts == 10)
    }
  }

  @Test func `callouts that share a wakeup are coalesced`() {
    withVirtualLoop { virtual in
      let insight = virtual.loop.insight
      insight.measure()
      let (first, second) = (Loop.Timer(every: .seconds(1)) { _ in }, Loop.Timer(every: .seconds(1)) { _ in })
      (first.name, second.name) = ("first", "second")
      virtual.loop.add(first)
      virtual.loop.add(second)
      virtual.advance(by: .milliseconds(5_500))
      let all = insight.measures.filter { $0.kind == "timer" }
      #expect(all.map(\.callouts).reduce(0, +) == 10)
      #expect(all.map(\.wakeups).reduce(0, +) == 5)
      #expect(all.first { $0.name == "second" }?.coalesced == 5)
    }
  }

  @Test func `blocks and signals are measured from their post`() throws {
    try withVirtualLoop { virtual in
      let loop = virtual.loop
      let insight = loop.insight
      insight.measure()
      let source = Loop.Source {}
      source.name = "the source"
      loop.add(source)
      source.signal()
      loop.perform {}
      _ = loop.run(in: .default, for: .zero)
      let signalled = try #require(insight.measures.first { $0.kind == "source" })
      #expect(signalled.ready.count == 1 && signalled.ready.longest == .zero)
      let block = try #require(insight.measures.first { $0.kind == "block" })
      #expect(block.ready.count == 1)
      #expect(block.run.count == 1)
      #expect(insight.measures.filter { $0.kind != "block" }.count == 1)
    }
  }

  @Test func `of callouts that follow each other at once, the later begins when the earlier ends`() throws {
    let loop = Loop.current
    let insight = loop.insight
    insight.measure()
    for name in ["first", "second"] {
      let source = Loop.Source(order: name == "first" ? 0 : 1) {
        let end = rondo_monotonic_now() + 2_000_000
        while rondo_monotonic_now() < end {}
      }
      source.name = name
      loop.add(source)
      source.signal()
    }
    let begin = rondo_monotonic_now()
    _ = loop.run(in: .default, for: .zero)
    let elapsed = Duration.nanoseconds(rondo_monotonic_now() - begin)
    let first = try #require(insight.measures.first { $0.name == "first" })
    let second = try #require(insight.measures.first { $0.name == "second" })
    // The two clocks may differ by a part in some thousands.
    #expect(first.run.total > .microseconds(1_900) && second.run.total > .microseconds(1_900))
    #expect(first.run.total + second.run.total < elapsed + .microseconds(100))
    #expect(second.ready.total > first.run.total - .microseconds(100))
  }

  @Test func `callouts under way are known, the innermost last`() {
    withVirtualLoop { virtual in
      let loop = virtual.loop
      let insight = loop.insight
      let found = Found()
      let source = Loop.Source { found.callouts = insight.callouts.map(\.description) }
      source.name = "inner"
      loop.add(source, to: "inner")
      let timer = Loop.Timer(after: .seconds(1)) { _ in
        source.signal()
        _ = Loop.current.run(in: "inner", for: .zero)
      }
      timer.name = "outer"
      loop.add(timer)
      virtual.advance(by: .seconds(2))
      #expect(found.callouts == ["timer outer", "source inner"])
      #expect(insight.callouts.isEmpty)
    }
  }

  private final class Found: @unchecked Sendable {
    var callouts: [String] = []
  }
}

@Suite(.offThePool) struct HistogramTests {
  @Test func `values are kept to three per cent`() {
    var histogram = Histogram()
    for value in 1...10_000 { histogram.add(.microseconds(value)) }
    #expect(histogram.count == 10_000)
    for (part, exact) in [(0.5, 5_000.0), (0.9, 9_000.0), (0.99, 9_900.0), (0.999, 9_990.0), (1, 10_000.0)] {
      let value = histogram.value(at: part) / .microseconds(1)
      #expect(value >= exact && value <= exact * 1.032)
    }
    #expect(histogram.longest == .milliseconds(10))
  }

  @Test func `the shortest and the longest find room`() {
    var histogram = Histogram()
    histogram.add(.zero)
    histogram.add(.seconds(86_400))
    #expect(histogram.value(at: 0.5) == .zero)
    #expect(histogram.longest == .seconds(86_400))
    #expect(histogram.value(at: 1) > .seconds(3_600))
  }
}

@Suite(.offThePool) struct AuditTests {
  @Test func `a loop in order has no findings`() {
    withVirtualLoop { virtual in
      virtual.loop.add(Loop.Timer(every: .seconds(1), tolerance: .milliseconds(100)) { _ in })
      virtual.advance(by: .seconds(5))
      #expect(virtual.loop.insight.audit() == [])
    }
  }

  @Test func `what waits for nobody is said in words`() {
    withVirtualLoop { virtual in
      let loop = virtual.loop
      let lonely = Loop.Source {}
      lonely.name = "lonely"
      loop.add(lonely, to: "nobody")
      lonely.signal()
      let busy = Loop.Timer(every: .milliseconds(1)) { _ in }
      busy.name = "busy"
      loop.add(busy)
      virtual.advance(by: .milliseconds(10))
      for _ in 0..<1_500 { loop.perform(in: "nobody") {} }
      let findings = loop.insight.audit()
      #expect(findings.contains { $0.contains("lonely was never served") })
      #expect(findings.contains { $0.contains("lonely was signalled and not performed") })
      #expect(findings.contains { $0.contains("busy fires 1000 times a second without a tolerance") })
      #expect(findings.contains { $0.contains("1500 blocks wait") })
      #expect(findings.count == 4)
    }
  }

  @Test func `a timer that wakes shortly before another is found`() {
    withVirtualLoop { virtual in
      let loop = virtual.loop
      let early = Loop.Timer(every: .seconds(1)) { _ in }
      early.name = "early"
      loop.add(early)
      virtual.advance(by: .milliseconds(50))
      let late = Loop.Timer(every: .seconds(1)) { _ in }
      late.name = "late"
      loop.add(late)
      let insight = loop.insight
      virtual.advance(by: .seconds(20))
      let savable = insight.savableWakeups
      #expect(savable.map(\.name) == ["early"])
      #expect(savable.first?.tolerance == .milliseconds(50))
      #expect(savable.first?.count ?? 0 >= 19)
      #expect(insight.audit().contains { $0.contains("timer early woke the loop") && $0.contains("0.05 seconds") })
    }
  }
}
