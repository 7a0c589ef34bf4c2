internal import Glibc
internal import Rondo
internal import RondoTestSupport
internal import Synchronization
internal import Testing
internal import rondo_parity

/// What Rondo does where no scenario can be put to both loops; `Table.exclusions` names these tests.
@Suite(.serialized, .offThePool) struct ExcludedTests {
  /// A01-A03, H16: the pseudo mode is no mode to run or to make common.
  @Test func commonModeCannotRun() async {
    await #expect(processExitsWith: .failure) {
      Execution.onFreshThread { Loop.current.run(in: .common, for: .milliseconds(1)) }
    }
  }

  @Test func commonModeCannotBeCommon() async {
    await #expect(processExitsWith: .failure) {
      Execution.onFreshThread { Loop.current.addCommonMode(.common) }
    }
  }

  /// H15: a mode is its name, however the string came about.
  @Test func modesCompareByValue() {
    let trace = traceOnFreshThread { record in
      let loop = Loop.current
      let name = Loop.Mode.common.rawValue
      let source = Loop.Source {}
      loop.add(source, to: Loop.Mode(rawValue: String(Array(name))))
      record("\(loop.contains(source, in: .common)) \(loop.contains(source, in: .default))")
    }
    #expect(trace == ["true true"])
  }

  /// E20: two sources with one closure are two sources.
  @Test func equalSourcesAreTwo() {
    let trace = traceOnFreshThread { record in
      let loop = Loop.current
      let perform: @Sendable () -> Void = { record("performed") }
      let first = Loop.Source(perform: perform)
      let second = Loop.Source(perform: perform)
      loop.add(first)
      record("\(loop.contains(second))")
      loop.add(second)
      second.signal()
      record("\(loop.run(for: .zero, returnAfterSourceHandled: true))")
      loop.remove(second)
      record("\(loop.contains(first)) \(second.isSignalled)")
    }
    #expect(trace == ["false", "performed", "handledSource", "true false"])
  }

  /// E24: schedule may wait for another thread that uses the loop, also through the common modes.
  @Test func scheduleRunsUnlocked() {
    let trace = traceOnFreshThread { record in
      let loop = Loop.current
      let other = Loop.Source {}
      let source = Loop.Source(
        schedule: { loop, _ in
          Execution.onFreshThread { loop.add(other, to: "m") }
          record("scheduled")
        }, perform: {})
      loop.add(source)
      loop.remove(source)
      loop.add(source, to: .common)
      record("\(loop.contains(other, in: "m"))")
    }
    #expect(trace == ["scheduled", "scheduled", "true"])
  }

  /// G09: what was given is what is read back, within the clamps of tolerance.
  @Test func timerReadsBack() {
    let date = SuspendingClock.now.advanced(by: .seconds(3))
    let timer = Loop.Timer(at: date, tolerance: .milliseconds(300)) { _ in }
    // Nanoseconds are what the loop keeps.
    #expect(abs((timer.fireDate - date) / .nanoseconds(1)) <= 1)
    #expect(timer.tolerance == .milliseconds(300))
    #expect(timer.interval == .zero)
    let repeating = Loop.Timer(every: .milliseconds(100), tolerance: .seconds(1)) { _ in }
    #expect(repeating.tolerance == .milliseconds(50))
    #expect(repeating.interval == .milliseconds(100))
  }

  /// G30, G31: the next tick is arithmetic, not a loop, and the smallest interval is one nanosecond.
  @Test func nanosecondInterval() {
    let trace = traceOnFreshThread { record in
      let loop = Loop.current
      let timer = Loop.Timer(every: .nanoseconds(1)) { tick in
        // What the first, late fire missed is told with the second.
        guard tick.missed > 0 else { return }
        record("\(tick.missed >= 10_000_000)")
        tick.timer.invalidate()
      }
      loop.add(timer)
      Execution.pause(milliseconds: 20)
      loop.run(for: .seconds(5))
    }
    #expect(trace == ["true"])
  }

  /// K03: a thread that ran its loop leaves no descriptor behind.
  @Test func descriptorsComeBack() {
    // The first thread may open what the process keeps.
    let count: @Sendable () -> Int = { (0..<1024).count { fcntl(CInt($0), F_GETFD) >= 0 } }
    let runOnce: @Sendable () -> Void = {
      let loop = Loop.current
      loop.add(Loop.Source {}, to: "m")
      loop.run(in: "m", for: .milliseconds(1))
      loop.run(in: "q", for: .milliseconds(1))
    }
    Execution.onFreshThread(runOnce)
    // Tests of other suites come and go with their own threads, so the best of a few tries counts.
    let kept = (0..<10).map { _ in
      let before = count()
      for _ in 0..<20 { Execution.onFreshThread(runOnce) }
      return count() - before
    }
    #expect(kept.contains { $0 <= 0 })
  }
}

/// Runs `body` on a fresh thread and returns what it recorded.
func traceOnFreshThread(_ body: @escaping @Sendable (_ record: @escaping @Sendable (String) -> Void) -> Void)
  -> [String]
{
  let trace = Lines()
  Execution.onFreshThread {
    body { line in trace.lines.withLock { $0.append(line) } }
  }
  return trace.lines.withLock { $0 }
}

private final class Lines: Sendable {
  let lines: Mutex<[String]> = Mutex([])
}
