import CBench
import CoreFoundation

/// CoreFoundation's CFRunLoop: the real one, that Rondo is modelled on.
struct CFRunLoopSubject: Subject {
  let name = "cfrunloop"
  let summary = "CFRunLoop of the toolchain: source0, CFRunLoopTimer, CFRunLoopPerformBlock, each with CFRunLoopWakeUp"

  func openLoop(posts: Bool) throws(Refusal) -> any BenchLoop {
    CFLoop()
  }

  func runTimer(hitting meter: TickMeter) throws(Refusal) {
    var context = CFRunLoopTimerContext()
    context.info = UnsafeMutableRawPointer(meter.pointer)
    let timer = CFRunLoopTimerCreate(
      kCFAllocatorDefault, CFClock.date(of: meter.first), Double(meter.interval) / 1e9, 0, 0,
      { timer, info in
        guard let ticks = info?.assumingMemoryBound(to: bench_ticks.self) else { return }
        let isLast = bench_ticks_hit(ticks)
        if bench_ticks_wants_claim(ticks) {
          // Inside the callout the "next" fire date is still the one this callout is due at.
          bench_ticks_claim(ticks, CFClock.instant(of: CFRunLoopTimerGetNextFireDate(timer)))
        }
        if isLast { CFRunLoopStop(CFRunLoopGetCurrent()) }
      }, &context)
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopDefaultMode)
    CFRunLoopRun()
    CFRunLoopTimerInvalidate(timer)
  }
}

/// CFRunLoop's timers are set in wall-clock seconds, whose last digit is worth about 0.1 us in this century.
enum CFClock {
  static func date(of instant: Int64) -> CFAbsoluteTime {
    let now = bothClocks()
    return now.date + Double(instant - now.instant) / 1e9
  }

  static func instant(of date: CFAbsoluteTime) -> Int64 {
    let now = bothClocks()
    return now.instant + Int64(((date - now.date) * 1e9).rounded())
  }

  /// The same moment on both clocks: the closest of several readings, since any one may be interrupted.
  static func bothClocks() -> (date: CFAbsoluteTime, instant: Int64) {
    let readings = (0..<16).map { _ in (before: bench_now(), date: CFAbsoluteTimeGetCurrent(), after: bench_now()) }
    let closest = readings.min { $0.after - $0.before < $1.after - $1.before } ?? readings[0]
    return (closest.date, closest.before + (closest.after - closest.before) / 2)
  }
}

/// kCFRunLoopBeforeWaiting, an enumerator that Swift does not import as a number.
private let beforeWaiting: CFOptionFlags = 1 << 5

/// Sendable because CFRunLoop's own locks guard what is used off its thread.
private final class CFLoop: BenchLoop, @unchecked Sendable {
  private let loop = CFRunLoopGetCurrent()
  private let modes = ["one", "two"].map { (name: String) in
    CFStringCreateWithCString(kCFAllocatorDefault, name, CFStringBuiltInEncodings.UTF8.rawValue)!
  }

  /// Every insertion moves half of the mode's array of timers.
  var timerLimit: Int? { 10_000 }

  func run() { CFRunLoopRun() }
  func stop() { CFRunLoopStop(loop) }
  func poll() { CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, false) }

  func addWake(_ call: Call) throws(Refusal) -> any Wake {
    CFWake(call, in: loop!, resignals: false)
  }

  func addSignal(_ call: Call) throws(Refusal) -> any Member {
    let wake = CFWake(call, in: loop!, resignals: true)
    wake.send()
    return wake
  }

  func addWatch(_ descriptor: CInt, _ call: Call) throws(Refusal) -> any Member {
    throw .cannot("has no descriptor source on Linux but CFSocket, which has a thread of its own select")
  }

  func addObserver(_ call: Call) throws(Refusal) -> any Member {
    let observer = CFRunLoopObserverCreateWithHandler(
      kCFAllocatorDefault, beforeWaiting, true, 0
    ) { _, _ in call() }
    CFRunLoopAddObserver(loop, observer, kCFRunLoopDefaultMode)
    return CFObserver(observer: observer!)
  }

  func post(_ count: Int, _ work: Work) {
    for _ in 0..<count {
      CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode) { work() }
      CFRunLoopWakeUp(loop)
    }
  }

  func addShots(_ dues: [Int64], _ call: Call) throws(Refusal) -> any ShotBank {
    let now = CFClock.bothClocks()
    return CFShots(
      timers: dues.map { due in
        timer(at: now.date + Double(due - now.instant) / 1e9, every: 0, tolerance: 0, call)
      })
  }

  func makeTimers(_ count: Int, _ call: Call) throws(Refusal) -> any TimerBank {
    CFTimers(
      timers: (0..<count).map { _ in timer(at: CFTimers.never, every: CFTimers.never, tolerance: 0, call) })
  }

  func addRepeats(
    _ dues: [Int64], every interval: Int64, tolerance: Int64, _ call: Call
  ) throws(Refusal) -> any Member {
    let now = CFClock.bothClocks()
    return CFTimers(
      timers: dues.map { due in
        timer(
          at: now.date + Double(due - now.instant) / 1e9, every: Double(interval) / 1e9,
          tolerance: Double(tolerance) / 1e9, call)
      })
  }

  private func timer(
    at date: CFAbsoluteTime, every interval: Double, tolerance: Double, _ call: Call
  ) -> CFRunLoopTimer {
    let timer = CFRunLoopTimerCreateWithHandler(kCFAllocatorDefault, date, interval, 0, 0) { _ in call() }
    if tolerance > 0 { CFRunLoopTimerSetTolerance(timer, tolerance) }
    CFRunLoopAddTimer(loop, timer, kCFRunLoopDefaultMode)
    return timer!
  }

  func fillModes(_ count: Int) throws(Refusal) {
    for mode in modes {
      for _ in 0..<(count / 2) {
        var context = CFRunLoopSourceContext()
        context.perform = { _ in }
        CFRunLoopAddSource(loop, CFRunLoopSourceCreate(kCFAllocatorDefault, 0, &context), mode)
        let timer = CFRunLoopTimerCreateWithHandler(
          kCFAllocatorDefault, CFAbsoluteTimeGetCurrent() + 3600, 0, 0, 0
        ) { _ in }
        CFRunLoopAddTimer(loop, timer, mode)
      }
    }
  }

  func poll(inMode index: Int) { CFRunLoopRunInMode(modes[index], 0, false) }
}

/// Sendable because CFRunLoop's own locks guard the two objects held here.
private final class CFWake: Wake, @unchecked Sendable {
  private let loop: CFRunLoop
  private var source: CFRunLoopSource!
  private let call: Call
  private let resignals: Bool

  init(_ call: Call, in loop: CFRunLoop, resignals: Bool) {
    self.loop = loop
    self.call = call
    self.resignals = resignals
    var context = CFRunLoopSourceContext()
    context.info = Unmanaged.passUnretained(self).toOpaque()
    context.perform = { info in
      let wake = Unmanaged<CFWake>.fromOpaque(info!).takeUnretainedValue()
      if wake.resignals { CFRunLoopSourceSignal(wake.source) }
      wake.call()
    }
    source = CFRunLoopSourceCreate(kCFAllocatorDefault, 0, &context)
    CFRunLoopAddSource(loop, source, kCFRunLoopDefaultMode)
  }

  func send() {
    CFRunLoopSourceSignal(source)
    CFRunLoopWakeUp(loop)
  }

  func remove() { CFRunLoopSourceInvalidate(source) }
}

private struct CFObserver: Member {
  let observer: CFRunLoopObserver

  func remove() { CFRunLoopObserverInvalidate(observer) }
}

/// A timer that fires once is invalid afterwards; the bank's references are the last ones.
private struct CFShots: ShotBank {
  var timers: [CFRunLoopTimer?]

  mutating func cancel(_ order: [Int]) {
    for index in order {
      CFRunLoopTimerInvalidate(timers[index])
      timers[index] = nil
    }
  }

  mutating func free() { timers = [] }
}

private struct CFTimers: TimerBank, Member {
  /// Decades: a timer that is started again repeats, and is set to a date before that.
  static let never = 4e9

  let timers: [CFRunLoopTimer]

  func start(_ dues: [Int64]) {
    let now = CFClock.bothClocks()
    for (timer, due) in zip(timers, dues) {
      CFRunLoopTimerSetNextFireDate(timer, now.date + Double(due - now.instant) / 1e9)
    }
  }

  func stop(_ order: [Int]) {
    for index in order { CFRunLoopTimerSetNextFireDate(timers[index], Self.never) }
  }

  func free() { remove() }

  func remove() {
    for timer in timers { CFRunLoopTimerInvalidate(timer) }
  }
}
