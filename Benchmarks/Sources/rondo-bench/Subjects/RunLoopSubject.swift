import CBench
import CoreFoundation
import Foundation

/// Foundation's RunLoop, by its public interface: timers and blocks are all it takes on Linux.
struct RunLoopSubject: Subject {
  let name = "runloop"
  let summary = "Foundation's RunLoop: perform with CFRunLoopWakeUp, Timer"

  func openLoop(posts: Bool) throws(Refusal) -> any BenchLoop {
    FoundationLoop()
  }

  func runTimer(hitting meter: TickMeter) throws(Refusal) {
    let first = Date(timeIntervalSinceReferenceDate: CFClock.date(of: meter.first))
    let timer = Timer(fire: first, interval: Double(meter.interval) / 1e9, repeats: true) { timer in
      let isLast = bench_ticks_hit(meter.pointer)
      if bench_ticks_wants_claim(meter.pointer) {
        bench_ticks_claim(meter.pointer, CFClock.instant(of: timer.fireDate.timeIntervalSinceReferenceDate))
      }
      if isLast { CFRunLoopStop(CFRunLoopGetCurrent()) }
    }
    RunLoop.current.add(timer, forMode: .default)
    CFRunLoopRun()
    timer.invalidate()
  }
}

/// Sendable because only `perform` and CFRunLoopWakeUp are used off the loop's thread, which they allow.
private final class FoundationLoop: BenchLoop, @unchecked Sendable {
  private let loop = RunLoop.current
  private let core = CFRunLoopGetCurrent()!

  var hasSources: Bool { false }

  /// Every insertion moves half of the mode's array of timers.
  var timerLimit: Int? { 10_000 }

  func run() { CFRunLoopRun() }
  func stop() { CFRunLoopStop(core) }
  func poll() { _ = loop.run(mode: .default, before: .distantPast) }

  func addWake(_ call: Call) throws(Refusal) -> any Wake {
    BlockWake(call, loop, core)
  }

  func addSignal(_ call: Call) throws(Refusal) -> any Member {
    throw .cannot("has no public sources; see cfrunloop")
  }

  func post(_ count: Int, _ work: Work) {
    for _ in 0..<count {
      loop.perform { work() }
      CFRunLoopWakeUp(core)
    }
  }

  func addShots(_ dues: [Int64], _ call: Call) throws(Refusal) -> any ShotBank {
    FoundationShots(timers: make(dues, every: nil, tolerance: 0, call))
  }

  /// Timers that repeat in decades, and are set to a date before that.
  func makeTimers(_ count: Int, _ call: Call) throws(Refusal) -> any TimerBank {
    let far = bench_now() + 1_000_000_000_000_000_000
    return FoundationTimers(timers: make(Array(repeating: far, count: count), every: 1e9, tolerance: 0, call))
  }

  func addRepeats(
    _ dues: [Int64], every interval: Int64, tolerance: Int64, _ call: Call
  ) throws(Refusal) -> any Member {
    FoundationTimers(timers: make(dues, every: Double(interval) / 1e9, tolerance: Double(tolerance) / 1e9, call))
  }

  private func make(_ dues: [Int64], every interval: Double?, tolerance: Double, _ call: Call) -> [Timer] {
    let now = CFClock.bothClocks()
    return dues.map { due in
      let date = Date(timeIntervalSinceReferenceDate: now.date + Double(due - now.instant) / 1e9)
      let timer = Timer(fire: date, interval: interval ?? 0, repeats: interval != nil) { _ in call() }
      timer.tolerance = tolerance
      loop.add(timer, forMode: .default)
      return timer
    }
  }

  func fillModes(_ count: Int) throws(Refusal) {
    throw .cannot("has no public sources to fill a mode with; see cfrunloop")
  }
}

/// A block for each wake. Sendable for the loop's reason; a timer that never fires keeps the loop's mode from being
/// empty, which would end its run.
private final class BlockWake: Wake, @unchecked Sendable {
  private let call: Call
  private let loop: RunLoop
  private let core: CFRunLoop
  private let keeper: Timer

  init(_ call: Call, _ loop: RunLoop, _ core: CFRunLoop) {
    (self.call, self.loop, self.core) = (call, loop, core)
    keeper = Timer(fire: .distantFuture, interval: 1e9, repeats: true) { _ in }
    loop.add(keeper, forMode: .default)
  }

  func send() {
    loop.perform { [call] in call() }
    CFRunLoopWakeUp(core)
  }

  func remove() { keeper.invalidate() }
}

/// A timer that fires once is invalid afterwards; the bank's references are the last ones.
private struct FoundationShots: ShotBank {
  var timers: [Timer?]

  mutating func cancel(_ order: [Int]) {
    for index in order {
      timers[index]?.invalidate()
      timers[index] = nil
    }
  }

  mutating func free() { timers = [] }
}

private struct FoundationTimers: TimerBank, Member {
  let timers: [Timer]

  func start(_ dues: [Int64]) {
    let now = CFClock.bothClocks()
    for (timer, due) in zip(timers, dues) {
      timer.fireDate = Date(timeIntervalSinceReferenceDate: now.date + Double(due - now.instant) / 1e9)
    }
  }

  func stop(_ order: [Int]) {
    for index in order { timers[index].fireDate = .distantFuture }
  }

  func free() { remove() }

  func remove() {
    for timer in timers { timer.invalidate() }
  }
}
