import Rondo
import RondoDaemon

/// Rondo's loops on a thread that asked the kernel for the shortest slice.
struct RondoSliceSubject: Subject {
  let isPrecise: Bool
  var name: String { isPrecise ? "rondo.precise.slice" : "rondo.slice" }
  var summary: String { "rondo\(isPrecise ? ".precise" : "") with a slice of 0.1 ms; in all else it is rondo" }

  func openLoop(posts: Bool) throws(Refusal) -> any BenchLoop {
    throw .cannot("differs from rondo where others compete for its processor")
  }

  func runTimer(hitting meter: TickMeter) throws(Refusal) {
    do { try Loop.current.setScheduling(.responsive) } catch { throw .cannot("\(error)") }
    RondoSubject.runTimer(hitting: meter, isPrecise: isPrecise)
  }
}
