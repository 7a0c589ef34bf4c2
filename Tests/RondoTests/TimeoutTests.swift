import Rondo
import RondoTestSupport
import RondoTesting
import Testing

/// Timeouts: handles without an object, on the loop's thread.
@Suite struct TimeoutTests {
  static let tolerances: [Duration] = [.zero, .milliseconds(3)]

  @Test(arguments: tolerances)
  func `a timeout fires once each time it is armed`(_ tolerance: Duration) {
    withStage(isObserved: false) { stage in
      let timeout = stage.loop.makeTimeout(tolerance: tolerance) { stage.note("t") }
      stage.keepAlive()
      stage.loop.run(for: .milliseconds(50))
      #expect(stage.take() == "")
      for _ in 0..<2 {
        stage.loop.arm(timeout, after: .milliseconds(10))
        #expect(stage.loop.fireDate(of: timeout) != nil)
        stage.loop.run(for: .milliseconds(50))
        #expect(stage.take() == "t")
        #expect(stage.loop.fireDate(of: timeout) == nil)
      }
    }
  }

  @Test(arguments: tolerances)
  func `a timeout that is armed again fires at the new date alone`(_ tolerance: Duration) {
    withStage(isObserved: false) { stage in
      let timeout = stage.loop.makeTimeout(after: .milliseconds(10), tolerance: tolerance) { stage.noteTime("t") }
      stage.keepAlive()
      // Put off twice, brought forward, put off.
      for delay in [20, 30, 5, 15] { stage.loop.arm(timeout, after: .milliseconds(delay)) }
      stage.loop.run(for: .milliseconds(50))
      #expect(stage.take() == (tolerance == .zero ? "t@15" : "t@18"))
      stage.loop.checkInvariants()
    }
  }

  @Test(arguments: tolerances)
  func `a timeout that is put off while the loop sleeps is brought forward from there`(_ tolerance: Duration) {
    withStage(isObserved: false) { stage in
      let timeout = stage.loop.makeTimeout(after: .milliseconds(10), tolerance: tolerance) { stage.noteTime("t") }
      stage.keepAlive()
      stage.loop.arm(timeout, after: .milliseconds(30))
      // One that is due before what its entries say by then, so that nobody looks at them.
      _ = stage.loop.makeTimeout(after: .milliseconds(29), tolerance: tolerance) { stage.noteTime("other") }
      // Its entries are seated anew at 30 here; the date after that is sooner than they say.
      stage.loop.run(for: .milliseconds(20))
      stage.loop.arm(timeout, after: .milliseconds(5))
      stage.loop.run(for: .milliseconds(50))
      #expect(stage.take() == (tolerance == .zero ? "t@25 other@29" : "t@28 other@32"))
    }
  }

  @Test func `a timeout that is disarmed does not fire until it is armed again`() {
    withStage(isObserved: false) { stage in
      let timeout = stage.loop.makeTimeout(after: .milliseconds(10)) { stage.noteTime("t") }
      stage.keepAlive()
      stage.loop.disarm(timeout)
      stage.loop.run(for: .milliseconds(20))
      #expect(stage.take() == "")
      stage.loop.arm(timeout, after: .milliseconds(10))
      stage.loop.disarm(timeout)
      stage.loop.arm(timeout, after: .milliseconds(5))
      stage.loop.run(for: .milliseconds(20))
      #expect(stage.take() == "t@25")
    }
  }

  @Test func `a timeout can be armed in its own callout`() {
    withStage(isObserved: false) { stage in
      let count = Later(0)
      let timeout = Later(stage.loop.makeTimeout {})
      timeout.value = stage.loop.makeTimeout(after: .milliseconds(10)) {
        stage.noteTime("t")
        count.value += 1
        if count.value < 3 { stage.loop.arm(timeout.value, after: .milliseconds(5)) }
      }
      stage.keepAlive()
      stage.loop.run(for: .milliseconds(100))
      #expect(stage.take() == "t@10 t@15 t@20")
    }
  }

  @Test func `a run nested in its callout does not fire a timeout, which fires after it`() {
    withStage(isObserved: false) { stage in
      let count = Later(0)
      let timeout = Later(stage.loop.makeTimeout {})
      timeout.value = stage.loop.makeTimeout(after: .milliseconds(10)) {
        stage.noteTime("t")
        count.value += 1
        guard count.value == 1 else { return }
        stage.loop.arm(timeout.value, after: .milliseconds(1))
        stage.loop.run(for: .milliseconds(20))
        stage.noteTime("back")
      }
      stage.keepAlive()
      stage.loop.run(for: .milliseconds(100))
      #expect(stage.take() == "t@10 back@30 t@30")
      stage.loop.checkInvariants()
    }
  }

  @Test(arguments: [Loop.Mode.default, .common])
  func `a nested run fires what the run around it has collected, and that one does not fire it again`(
    _ mode: Loop.Mode
  ) {
    withStage(isObserved: false) { stage in
      stage.loop.addCommonMode("tracking")
      let inner: Loop.Mode = mode == .common ? "tracking" : .default
      _ = stage.loop.makeTimeout(after: .milliseconds(10), in: mode) {
        stage.note("a")
        stage.loop.run(in: inner, for: .milliseconds(1))
        stage.note("back")
      }
      _ = stage.loop.makeTimeout(after: .milliseconds(10), in: mode) { stage.note("b") }
      stage.keepAlive()
      stage.keepAlive(in: inner)
      stage.loop.run(for: .milliseconds(100))
      #expect(stage.take() == "a b back")
      stage.loop.checkInvariants()
    }
  }

  @Test func `timers and timeouts of one turn fire by date, then by sequence of arming`() {
    withStage(isObserved: false) { stage in
      _ = stage.loop.makeTimeout(after: .milliseconds(12)) { stage.note("late") }
      stage.timer("t1", after: .milliseconds(10)) { _ in }
      _ = stage.loop.makeTimeout(after: .milliseconds(10), in: .common) { stage.note("t2") }
      stage.timer("t3", after: .milliseconds(10)) { _ in }
      _ = stage.loop.makeTimeout(after: .milliseconds(10)) { stage.note("t4") }
      _ = stage.loop.makeTimeout(after: .milliseconds(8)) {
        stage.note("first")
        stage.virtual.spend(.milliseconds(10))
      }
      stage.keepAlive()
      stage.loop.run(for: .milliseconds(100))
      #expect(stage.take() == "first t1 t2 t3 t4 late")
    }
  }

  @Test func `an armed timeout keeps its mode from being empty, a dormant one does not`() {
    withStage(isObserved: false) { stage in
      for mode in [Loop.Mode.default, .common, "m"] {
        let run: Loop.Mode = mode == .common ? .default : mode
        let timeout = stage.loop.makeTimeout(in: mode) {}
        #expect(stage.loop.run(in: run, for: .seconds(1)) == .finished)
        stage.loop.arm(timeout, after: .milliseconds(10))
        #expect(stage.loop.nextFireDate(in: run) == stage.loop.fireDate(of: timeout))
        // It ends when the timeout has fired.
        #expect(stage.loop.run(in: run, for: .seconds(1)) == .finished)
        stage.loop.arm(timeout, after: .milliseconds(10))
        stage.loop.discard(timeout)
        #expect(stage.loop.run(in: run, for: .seconds(1)) == .finished)
      }
    }
  }

  @Test func `a timeout of the common modes fires in those that become common later`() {
    withStage(isObserved: false) { stage in
      stage.loop.addCommonMode("before")
      let timeout = stage.loop.makeTimeout(in: .common) { stage.note("t") }
      stage.loop.addCommonMode("after")
      for mode in [Loop.Mode.default, "before", "after"] {
        stage.loop.arm(timeout, after: .milliseconds(1))
        stage.loop.run(in: mode, for: .milliseconds(10))
        #expect(stage.take() == "t", "\(mode)")
      }
      stage.keepAlive(in: "other")
      stage.loop.arm(timeout, after: .milliseconds(1))
      stage.loop.run(in: "other", for: .milliseconds(10))
      #expect(stage.take() == "")
    }
  }

  // MARK: - Handles

  @Test func `a handle whose timeout was discarded does nothing, and never means another`() {
    withStage(isObserved: false) { stage in
      let stale = stage.loop.makeTimeout(after: .milliseconds(10)) { stage.note("stale") }
      #expect(stage.loop.discard(stale))
      // It gets the same slot.
      let live = stage.loop.makeTimeout(after: .milliseconds(20)) { stage.noteTime("live") }
      #expect(live != stale)
      #expect(!stage.loop.holds(stale))
      #expect(!stage.loop.arm(stale, after: .zero))
      #expect(!stage.loop.arm(stale, at: SuspendingClock().now))
      #expect(!stage.loop.disarm(stale))
      #expect(!stage.loop.discard(stale))
      #expect(stage.loop.fireDate(of: stale) == nil)
      #expect(stage.loop.run(for: .milliseconds(50)) == .finished)
      #expect(stage.take() == "live@20")
    }
  }

  @Test func `another loop's handle does nothing`() {
    withStage(isObserved: false) { first in
      let foreign = first.loop.makeTimeout(after: .milliseconds(10)) {}
      withStage(isObserved: false) { second in
        let own = second.loop.makeTimeout(after: .milliseconds(10)) { second.note("own") }
        #expect(own != foreign)
        #expect(!second.loop.disarm(foreign))
        #expect(!second.loop.discard(foreign))
        second.loop.run(for: .milliseconds(50))
        #expect(second.take() == "own")
      }
    }
  }

  @Test func `a timeout that a sibling discards or disarms in its turn is not called`() {
    withStage(isObserved: false) { stage in
      let victims = Later<[Loop.Timeout]>([])
      _ = stage.loop.makeTimeout(after: .milliseconds(10)) {
        stage.note("first")
        stage.loop.discard(victims.value[0])
        stage.loop.disarm(victims.value[1])
        // The slot of the first, due at once: the next turn's.
        _ = stage.loop.makeTimeout(after: .zero) { stage.note("new") }
      }
      victims.value = ["a", "b", "c"].map { name in
        stage.loop.makeTimeout(after: .milliseconds(10)) { stage.note(name) }
      }
      stage.keepAlive()
      stage.loop.run(for: .milliseconds(50))
      #expect(stage.take() == "first c new")
      stage.loop.checkInvariants()
    }
  }

  // MARK: - Handlers

  @Test func `the handler dies with its timeout, and after its callout if that is under way`() {
    withStage(isObserved: false) { stage in
      let timeout = Later<Loop.Timeout?>(nil)
      let probe = { (name: String) in DeathNote { stage.note(name) } }
      timeout.value = stage.loop.makeTimeout(after: .milliseconds(10)) { [note = probe("dies")] in
        stage.note("called")
        stage.loop.discard(timeout.value!)
        stage.note("discarded")
        withExtendedLifetime(note) {}
      }
      stage.keepAlive()
      stage.loop.run(for: .milliseconds(20))
      #expect(stage.take() == "called discarded dies")
      let dormant = stage.loop.makeTimeout { [note = probe("dies")] in _ = note }
      stage.loop.discard(dormant)
      #expect(stage.take() == "dies")
    }
  }

  @Test func `a handler that dies with its timeout may make another in its place`() {
    withStage(isObserved: false) { stage in
      let note = DeathNote { _ = stage.loop.makeTimeout(after: .zero) { stage.note("heir") } }
      let timeout = Later<Loop.Timeout?>(nil)
      timeout.value = stage.loop.makeTimeout(after: .zero) { [note] in
        stage.loop.discard(timeout.value!)
        _ = note
      }
      _ = consume note
      stage.keepAlive()
      stage.loop.run(for: .milliseconds(10))
      #expect(stage.take() == "heir")
      stage.loop.checkInvariants()
    }
  }

  @Test func `the end of a loop lets go of its timeouts, and a dying handler finds that no more are made`() {
    let words = Later<[String]>([])
    withVirtualLoop { virtual in
      let loop = virtual.loop
      let note = DeathNote {
        let late = loop.makeTimeout(after: .zero) { words.value.append("called") }
        words.value.append(loop.holds(late) ? "made" : "refused")
      }
      _ = loop.makeTimeout(after: .seconds(1)) { [note] in _ = note }
    }
    #expect(words.value == ["refused"])
  }

  // MARK: - Memory

  @Test(arguments: tolerances)
  func `hundreds of thousands of changes of one timeout leave few entries`(_ tolerance: Duration) {
    withStage(isObserved: false) { stage in
      let timeout = stage.loop.makeTimeout(tolerance: tolerance) {}
      var most = 0
      for round in 0..<100_000 {
        // Later, sooner than any entry says, dormant, and armed again.
        stage.loop.arm(timeout, after: .seconds(1_000 + round))
        stage.loop.arm(timeout, after: .seconds(2))
        stage.loop.disarm(timeout)
        stage.loop.arm(timeout, after: .seconds(1))
        // Counting takes longer than all of that. A prime: in whatever period they grow, each place of it counts.
        if round % 7 == 0 { most = max(most, stage.loop.sizes.timerEntries) }
      }
      #expect(most <= 70)
      stage.loop.checkInvariants()
    }
  }

  @Test(arguments: tolerances)
  func `discarded timeouts leave at most as many entries as there are live ones`(_ tolerance: Duration) {
    withStage(isObserved: false) { stage in
      var live: [Loop.Timeout] = []
      for _ in 0..<100 { live.append(stage.loop.makeTimeout(after: .seconds(60), tolerance: tolerance) {}) }
      let entries = stage.loop.sizes.timerEntries
      for _ in 0..<10_000 {
        let timeout = stage.loop.makeTimeout(after: .seconds(30), tolerance: tolerance) {}
        stage.loop.discard(timeout)
      }
      #expect(stage.loop.sizes.timerEntries <= 2 * entries + 2)
      #expect(stage.loop.sizes.timeouts == 100)
      for timeout in live { stage.loop.discard(timeout) }
      #expect(stage.loop.sizes.timeouts == 0)
      stage.loop.checkInvariants()
    }
  }

  // MARK: - Many

  /// More than are taken out of a heap one by one.
  @Test(arguments: tolerances, [false, true])
  func `many timers that are due at once fire once each, in order, but for those that moved`(
    _ tolerance: Duration, _ areTimeouts: Bool
  ) {
    withStage(isObserved: false) { stage in
      stage.loop.checksInvariants = false
      let count = 12_000
      let fired = Later<[Int]>([])
      var timers: [Loop.Timer] = []
      var timeouts: [Loop.Timeout] = []
      // 700 dates, so that order within a date counts.
      func delay(_ index: Int) -> Int { 1 + index * 7_919 % 700 }
      for index in 0..<count {
        if areTimeouts {
          timeouts.append(
            stage.loop.makeTimeout(after: .milliseconds(delay(index)), tolerance: tolerance) {
              fired.value.append(index)
            })
        } else {
          timers.append(
            stage.timer("", after: .milliseconds(delay(index)), tolerance: tolerance) { _ in
              fired.value.append(index)
            })
        }
      }
      var expected: [(date: Int, stamp: Int, index: Int)] = []
      for index in 0..<count {
        switch index % 5 {
        // Put off within what will be due, and beyond it; taken out.
        case 1:
          let later = delay(index) + 50
          if areTimeouts {
            stage.loop.arm(timeouts[index], after: .milliseconds(later))
          } else {
            timers[index].setFireDate(after: .milliseconds(later))
          }
          expected.append((later, count + index, index))
        case 2:
          if areTimeouts {
            stage.loop.arm(timeouts[index], after: .seconds(5))
          } else {
            timers[index].setFireDate(after: .seconds(5))
          }
        case 3:
          if areTimeouts { stage.loop.discard(timeouts[index]) } else { timers[index].invalidate() }
        default: expected.append((delay(index), index, index))
        }
      }
      expected.sort { ($0.date, $0.stamp) < ($1.date, $1.stamp) }
      stage.keepAlive()
      stage.virtual.spend(.seconds(1))
      stage.loop.run(for: .zero)
      #expect(fired.value == expected.map(\.index))
      stage.loop.checkInvariants()
      fired.value = []
      stage.loop.run(for: .seconds(10))
      #expect(fired.value == (0..<count).filter { $0 % 5 == 2 })
      stage.loop.checkInvariants()
    }
  }

  // MARK: - Misuse

  @Test(.offThePool) func `a timeout on another thread is a programmer's error that says what to do`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = RunningLoop().loop.makeTimeout {}
    }
    #expect(result?.complaint.contains("A timeout belongs on the thread of its loop. Use loop.perform") == true)
  }
}

/// Timeouts against a model: who fires when, whatever callouts do to one another.
@Suite struct TimeoutModelTests {
  /// What a handler, or the program between two runs, does to a timeout.
  private enum Deed {
    case arm(Int, after: Int)
    case disarm(Int)
    case replace(Int)
  }

  private static let count = 6

  /// The deeds of the n-th callout are the same for both.
  private static func deeds(_ seed: UInt64, _ step: Int) -> [Deed] {
    var random = SeededRandom(seed: seed &* 1_000_003 &+ UInt64(step))
    return (0..<Int.random(in: 0...3, using: &random)).map { _ in
      let which = Int.random(in: 0..<count, using: &random)
      switch Int.random(in: 0..<8, using: &random) {
      case 0: return .disarm(which)
      case 1: return .replace(which)
      default: return .arm(which, after: Int.random(in: 0...12, using: &random))
      }
    }
  }

  private static func tolerance(_ seed: UInt64, _ index: Int) -> Int {
    seed % 3 == 0 ? 0 : Int(seed >> UInt64(index)) & 3
  }

  private static func expected(_ seed: UInt64) -> [String] {
    struct Timeout {
      var date: Int?
      var stamp = 0
    }
    var timeouts = [Timeout](repeating: Timeout(), count: count)
    var (trace, stamp, step, now) = ([String](), 0, 0, 0)
    func perform() {
      for deed in deeds(seed, step) {
        switch deed {
        case .arm(let which, let delay):
          stamp += 1
          timeouts[which] = Timeout(date: now + delay, stamp: stamp)
        case .disarm(let which), .replace(let which): timeouts[which].date = nil
        }
      }
      step += 1
    }
    for round in 1...10 {
      perform()
      let end = round * 20
      var isOver = false
      while !isOver {
        let wake = timeouts.indices.compactMap { index in timeouts[index].date.map { $0 + tolerance(seed, index) } }
          .min()
        // The turn in which the run's time is over is its last, and fires what is due by then.
        now = max(now, min(wake ?? end, end))
        isOver = now == end
        let due = timeouts.indices.filter { timeouts[$0].date.map { $0 <= now } ?? false }
          .sorted { (timeouts[$0].date!, timeouts[$0].stamp) < (timeouts[$1].date!, timeouts[$1].stamp) }
        // One that a sibling discards is not the one that was collected, even if it is armed again.
        var collected = Set(due)
        for index in due {
          guard collected.contains(index), let date = timeouts[index].date, date <= now else { continue }
          timeouts[index].date = nil
          trace.append("\(index)@\(now)")
          let replaced = deeds(seed, step).compactMap { if case .replace(let which) = $0 { which } else { nil } }
          perform()
          collected.subtract(replaced)
        }
      }
    }
    return trace
  }

  private static func actual(_ seed: UInt64) -> [String] {
    withVirtualLoop { virtual in
      let loop = virtual.loop
      loop.checksInvariants = true
      let state = Later((timeouts: [Loop.Timeout](), trace: [String](), step: 0))
      func make(_ index: Int) -> Loop.Timeout {
        let tolerance = Duration.milliseconds(tolerance(seed, index))
        return loop.makeTimeout(tolerance: tolerance, in: seed % 2 == 0 ? .default : .common) {
          state.value.trace.append("\(index)@\(virtual.elapsed.milliseconds)")
          perform()
        }
      }
      func perform() {
        for deed in deeds(seed, state.value.step) {
          switch deed {
          case .arm(let which, let delay): loop.arm(state.value.timeouts[which], after: .milliseconds(delay))
          case .disarm(let which): loop.disarm(state.value.timeouts[which])
          case .replace(let which):
            loop.discard(state.value.timeouts[which])
            state.value.timeouts[which] = make(which)
          }
        }
        state.value.step += 1
      }
      state.value.timeouts = (0..<count).map(make)
      let alive = Loop.Source {}
      loop.add(alive)
      defer { alive.invalidate() }
      for _ in 1...10 {
        perform()
        loop.run(for: .milliseconds(20))
      }
      return state.value.trace
    }
  }

  @Test func `random plays of timeouts go as the model says`() {
    for seed in 0..<500 as Range<UInt64> {
      let (expected, actual) = (Self.expected(seed), Self.actual(seed))
      #expect(actual == expected, "seed \(seed)")
      if actual != expected { break }
    }
  }
}

/// Says when it dies.
private final class DeathNote {
  private let body: () -> Void
  init(_ body: @escaping () -> Void) { self.body = body }
  deinit { body() }
}
