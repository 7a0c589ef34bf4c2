import CBench
import CoreFoundation

/// CoreFoundation's CFRunLoop: the real one, that Rondo is modelled on.
struct CFRunLoopSubject: Subject {
  let name = "cfrunloop"
  let summary = "CFRunLoop of the toolchain: source0 and CFRunLoopWakeUp, CFRunLoopTimer"

  func openParkedLoop(hitting meter: WakeMeter) throws(Refusal) -> any ParkedLoop {
    SignalledLoop(meter)
  }

  /// Sendable because CFRunLoop's own locks guard the two objects held here.
  private final class SignalledLoop: ParkedLoop, @unchecked Sendable {
    private let loop: CFRunLoop
    private let source: CFRunLoopSource

    init(_ meter: WakeMeter) {
      loop = CFRunLoopGetCurrent()
      var context = CFRunLoopSourceContext()
      context.info = UnsafeMutableRawPointer(meter.pointer)
      context.perform = { info in
        guard let info, bench_meter_hit(info.assumingMemoryBound(to: bench_meter.self)) else { return }
        CFRunLoopStop(CFRunLoopGetCurrent())
      }
      source = CFRunLoopSourceCreate(kCFAllocatorDefault, 0, &context)
      CFRunLoopAddSource(loop, source, kCFRunLoopDefaultMode)
    }

    func run() { CFRunLoopRun() }

    func wake() {
      CFRunLoopSourceSignal(source)
      CFRunLoopWakeUp(loop)
    }

    func close() { CFRunLoopSourceInvalidate(source) }
  }

  func runTimer(hitting meter: TickMeter) throws(Refusal) {
    var context = CFRunLoopTimerContext()
    context.info = UnsafeMutableRawPointer(meter.pointer)
    let timer = CFRunLoopTimerCreate(
      kCFAllocatorDefault, Self.date(of: meter.first), Double(meter.interval) / 1e9, 0, 0,
      { timer, info in
        guard let ticks = info?.assumingMemoryBound(to: bench_ticks.self) else { return }
        let isLast = bench_ticks_hit(ticks)
        if bench_ticks_wants_claim(ticks) {
          // Inside the callout the "next" fire date is still the one this callout is due at.
          bench_ticks_claim(ticks, CFRunLoopSubject.instant(of: CFRunLoopTimerGetNextFireDate(timer)))
        }
        if isLast { CFRunLoopStop(CFRunLoopGetCurrent()) }
      }, &context)
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopDefaultMode)
    CFRunLoopRun()
    CFRunLoopTimerInvalidate(timer)
  }

  // CFRunLoop's timers are set in wall-clock seconds, whose last digit is worth about 0.1 us in this century.

  private static func date(of instant: Int64) -> CFAbsoluteTime {
    let now = bothClocks()
    return now.date + Double(instant - now.instant) / 1e9
  }

  private static func instant(of date: CFAbsoluteTime) -> Int64 {
    let now = bothClocks()
    return now.instant + Int64(((date - now.date) * 1e9).rounded())
  }

  /// The same moment on both clocks: the closest of several readings, since any one may be interrupted.
  private static func bothClocks() -> (date: CFAbsoluteTime, instant: Int64) {
    let readings = (0..<16).map { _ in (before: bench_now(), date: CFAbsoluteTimeGetCurrent(), after: bench_now()) }
    let closest = readings.min { $0.after - $0.before < $1.after - $1.before } ?? readings[0]
    return (closest.date, closest.before + (closest.after - closest.before) / 2)
  }
}
