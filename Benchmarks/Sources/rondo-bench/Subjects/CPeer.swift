import CBench

/// A subject written in C: forwards to its table of functions.
///
/// Sendable because the table is constant and a C peer keeps nothing outside the loops it opens.
struct CPeer: Subject, @unchecked Sendable {
  let name: String
  let summary: String
  let absence: String?
  private let peer: bench_peer

  init(_ peer: bench_peer) {
    self.peer = peer
    name = String(cString: peer.name)
    summary = String(cString: peer.summary)
    absence = peer.absence.map { String(cString: $0) }
  }

  func openParkedLoop(hitting meter: WakeMeter) throws(Refusal) -> any ParkedLoop {
    guard let open = peer.wake_open else { throw .cannot("has no wakeup") }
    guard let loop = open(meter.pointer) else { throw .failed("could not open a loop") }
    return CLoop(peer, loop)
  }

  func runTimer(hitting meter: TickMeter) throws(Refusal) {
    guard let run = peer.ticks_run else { throw .cannot("has no timers") }
    guard run(meter.pointer) else { throw .failed("could not open a loop") }
  }

  /// Sendable because only `wake` is called off the loop's thread, and the peer promises that it may be.
  private final class CLoop: ParkedLoop, @unchecked Sendable {
    private let peer: bench_peer
    private let loop: UnsafeMutableRawPointer

    init(_ peer: bench_peer, _ loop: UnsafeMutableRawPointer) {
      self.peer = peer
      self.loop = loop
    }

    func run() { peer.wake_run(loop) }
    func wake() { peer.wake_send(loop) }
    func close() { peer.wake_close(loop) }
  }
}
