import RondoTestSupport
import RondoTesting
import Testing

@testable import Rondo

/// What a loop asks of a foreign loop of its thread, and when it enters that one.
@Suite struct ForeignLoopTests {
  @Test func `a loop that does not sleep asks once whether the foreign one is there, until it enters it`() {
    withStage(isObserved: false) { stage in
      let foreign = Foreign()
      stage.loop.join(foreign)
      let turns = Tally()
      let busy = Later<Loop.Source>()
      busy.value = stage.source("") {
        turns.add()
        if turns.count < 1_000 { busy.value.signal() } else { stage.loop.stop() }
      }
      busy.value.signal()
      #expect(stage.loop.run() == .stopped)
      // One that was entered may have ended.
      #expect(foreign.trace == ["is it there?", "look", "is it there?"])
      // Between two runs it may have ended, too.
      busy.value.signal()
      #expect(stage.loop.run() == .stopped)
      #expect(foreign.trace == ["is it there?", "look", "is it there?", "is it there?"])
    }
  }

  @Test func `a busy loop sleeps for longer than a kernel's tick before the foreign one has the sleep, too`() {
    let (trace, time) = withForeign { loop, foreign in
      let keeper = Loop.Source {}
      loop.add(keeper)
      // The loop is busy after a short sleep, and the foreign loop does not sleep at all.
      foreign.whenEntered = { if foreign.trace.contains("has it nothing?") { loop.stop() } }
      loop.run()
      keeper.invalidate()
      // It captures the one that has it.
      foreign.whenEntered = {}
      return (foreign.trace, foreign.timeAsleep)
    }
    #expect(trace.suffix(3) == ["is it there?", "has it nothing?", "sleep"])
    // HZ is 100 at least.
    #expect(time >= .milliseconds(10))
  }

  /// Foundation gives a turn for it: if it is not heard, the next turn announces the same sleep once more.
  @Test func `each sleep that observers hear of is announced, also where the foreign loop is not entered`() {
    let (heard, announced) = withForeign { loop, foreign in
      loop.add(Loop.Source {})
      let heard = Tally()
      loop.add(Loop.Observer(.beforeWaiting) { _ in heard.add() })
      // The time of each has passed before its wait, and most come sooner than the foreign loop is entered again.
      for _ in 0..<50 { loop.run(for: .nanoseconds(1)) }
      return (heard.count, foreign.announcements)
    }
    #expect(heard >= 50 && announced == heard)
  }

  @Test func `that it is there in a nested run's mode says nothing of the mode of the run around it`() {
    withStage(isObserved: false) { stage in
      let foreign = Foreign()
      foreign.absence = [.default]
      stage.loop.join(foreign)
      let turns = Tally()
      let inner = stage.source("", in: "inner")
      let busy = Later<Loop.Source>()
      busy.value = stage.source("") {
        turns.add()
        inner.signal()
        stage.loop.run(in: "inner", for: .seconds(1), returnAfterSourceHandled: true)
        // The second inner run has asked, and has not entered it again yet.
        if turns.count == 2 { stage.virtual.spend(.milliseconds(1)) }
        if turns.count < 3 { busy.value.signal() } else { stage.loop.stop() }
      }
      busy.value.signal()
      #expect(stage.loop.run() == .stopped)
      // Only the inner run's mode has it, and only there it is entered.
      #expect(foreign.entered == ["inner", "inner"])
    }
  }

  private func withForeign<Result>(_ body: @escaping @Sendable (Loop, Foreign) -> Result) -> Result {
    TestThread {
      let foreign = Foreign()
      Loop.current.join(foreign)
      return body(.current, foreign)
    }.join()
  }
}

/// A foreign loop that has nothing, and never sleeps.
private final class Foreign: ForeignLoop {
  var whenEntered = {}
  /// The modes in which it does not sleep.
  var absence: Set<Loop.Mode> = []
  private(set) var entered: [Loop.Mode] = []
  private(set) var trace: [String] = []
  private(set) var announcements = 0
  /// From the question whether it has nothing to the entry that follows.
  private(set) var timeAsleep = Duration.zero
  private var askedAt = ContinuousClock.now
  /// Never readable.
  private let pipe = TestPipe()

  func isPresent(in mode: Loop.Mode) -> Bool {
    trace.append("is it there?")
    return !absence.contains(mode)
  }

  func isEmpty(_ mode: Loop.Mode) -> Bool { true }

  func sleepWasAnnounced() { announcements += 1 }

  func wait(in mode: Loop.Mode, sleeps: Bool) -> Bool {
    timeAsleep = ContinuousClock.now - askedAt
    trace.append(sleeps ? "sleep" : "look")
    entered.append(mode)
    whenEntered()
    return false
  }

  func enclose(_ run: () -> Void) -> Bool {
    run()
    return true
  }

  func descriptor(of mode: Loop.Mode) -> CInt? {
    trace.append("has it nothing?")
    askedAt = .now
    return pipe.reader
  }

  func end() {}
}
