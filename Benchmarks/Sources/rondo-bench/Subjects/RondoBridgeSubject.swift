import CoreFoundation
import Rondo
import RondoFoundation

/// Rondo's loop where the thread has one of Foundation's as well, and both serve each other.
struct RondoBridgeSubject: Subject {
  let name = "rondo.bridge"
  let summary = "rondo on a thread that has a loop of Foundation's, and both serve each other"

  func openLoop(posts: Bool) throws(Refusal) -> any BenchLoop {
    try Self.attach()
    return RondoLoop()
  }

  func runTimer(hitting meter: TickMeter) throws(Refusal) {
    try Self.attach()
    RondoSubject.runTimer(hitting: meter, isPrecise: false)
  }

  private static func attach() throws(Refusal) {
    _ = CFRunLoopGetCurrent()
    let status = RondoFoundation.RunLoop.current.foundationStatus
    guard status == .serving else { throw .failed("\(status)") }
  }
}
