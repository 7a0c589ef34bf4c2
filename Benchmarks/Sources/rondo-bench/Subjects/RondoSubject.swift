import CBench
import Rondo

/// Rondo: the subject the suite is about.
struct RondoSubject: Subject {
  let name = "rondo"
  let summary = "Loop.Source and signal(), Loop.Timer"

  func openParkedLoop(hitting meter: WakeMeter) throws(Refusal) -> any ParkedLoop {
    SignalledLoop(meter)
  }

  private final class SignalledLoop: ParkedLoop {
    private let loop = Loop.current
    private let source: Loop.Source

    init(_ meter: WakeMeter) {
      source = Loop.Source { [loop] in
        if bench_meter_hit(meter.pointer) { loop.stop() }
      }
      loop.add(source)
    }

    func run() { loop.run() }
    func wake() { source.signal() }
    func close() { source.invalidate() }
  }

  func runTimer(hitting meter: TickMeter) throws(Refusal) {
    let loop = Loop.current
    let epoch = SuspendingClock().systemEpoch
    let timer = Loop.Timer(
      at: epoch.advanced(by: .nanoseconds(meter.first)), every: .nanoseconds(meter.interval)
    ) { tick in
      let isLast = bench_ticks_hit(meter.pointer)
      if bench_ticks_wants_claim(meter.pointer) {
        let (seconds, attoseconds) = epoch.duration(to: tick.scheduled).components
        bench_ticks_claim(meter.pointer, seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
      }
      if isLast { loop.stop() }
    }
    loop.add(timer)
    loop.run()
    timer.invalidate()
  }
}
