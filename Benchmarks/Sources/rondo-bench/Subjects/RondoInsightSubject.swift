import Rondo
import RondoInspect

/// Rondo's loops as RondoInspect looks at them: watched for stalls, or measured callout by callout.
struct RondoInsightSubject: Subject {
  enum Depth {
    /// A monitor reads the loop's record and its heartbeat.
    case watched
    /// Each callout has its histograms.
    case measured
  }

  let depth: Depth

  var name: String {
    switch depth {
    case .watched: "rondo.watched"
    case .measured: "rondo.measured"
    }
  }

  var summary: String {
    switch depth {
    case .watched: "rondo with a stall monitor; in all else it is rondo"
    case .measured: "rondo with a stall monitor, and histograms of every item; in all else it is rondo"
    }
  }

  func openLoop(posts: Bool) throws(Refusal) -> any BenchLoop {
    try look(at: .current)
    return RondoLoop()
  }

  func runTimer(hitting meter: TickMeter) throws(Refusal) {
    try look(at: .current)
    RondoSubject.runTimer(hitting: meter, isPrecise: false)
  }

  private func look(at loop: Loop) throws(Refusal) {
    do { try Self.monitor.get().watch(loop) } catch { throw .failed("\(error)") }
    if depth == .measured { loop.insight.measure() }
  }

  private static let monitor = Result { () throws(Rondo.LoopThread.StartError) in
    try StallMonitor(limit: .milliseconds(100))
  }
}
