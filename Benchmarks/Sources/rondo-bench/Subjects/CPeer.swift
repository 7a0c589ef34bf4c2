import CBench

/// A subject written in C: forwards to its table of functions.
///
/// Sendable because the table is constant and a C peer keeps nothing outside the loops it opens.
struct CPeer: Subject, @unchecked Sendable {
  let name: String
  let summary: String
  let absence: String?
  let version: String?
  let spins: Bool
  private let peer: bench_peer

  init(_ peer: bench_peer) {
    self.peer = peer
    name = String(cString: peer.name)
    summary = String(cString: peer.summary)
    absence = peer.absence.map { String(cString: $0) }
    version = peer.version.map { String(cString: $0()!) }
    spins = peer.spins
  }

  func openLoop(posts: Bool) throws(Refusal) -> any BenchLoop {
    guard let open = peer.open else { throw .cannot("is no loop") }
    guard let loop = open(posts) else { throw .failed("could not open a loop") }
    return CLoop(peer, loop)
  }

  func runTimer(hitting meter: TickMeter) throws(Refusal) {
    guard let run = peer.ticks_run else { throw .cannot("has no timers") }
    if let refusal = peer.ticks_refusal?() { throw .cannot(String(cString: refusal)) }
    guard run(meter.pointer) else { throw .failed("could not open a loop") }
  }
}

/// A loop of a peer written in C.
///
/// Sendable because only `post` and wakes are used off the loop's thread, and the peer promises that they may be.
private final class CLoop: BenchLoop, @unchecked Sendable {
  private let peer: bench_peer
  private let loop: UnsafeMutableRawPointer

  init(_ peer: bench_peer, _ loop: UnsafeMutableRawPointer) {
    self.peer = peer
    self.loop = loop
  }

  var watchLimit: Int? { peer.watch_limit > 0 ? peer.watch_limit : nil }
  var fireLimit: Int? { peer.fire_limit > 0 ? peer.fire_limit : nil }

  func run() { peer.run(loop) }
  func stop() { peer.stop(loop) }
  func poll() { peer.poll(loop) }
  func close() { peer.close(loop) }

  func addWake(_ call: Call) throws(Refusal) -> any Wake {
    guard let add = peer.wake_add else { throw .cannot("has no wakeup") }
    return CWake(try made(add(loop, call.work.callout, call.work.context)), peer.wake_send, peer.wake_remove)
  }

  func addSignal(_ call: Call) throws(Refusal) -> any Member {
    guard let add = peer.signal_add else { throw refusal(peer.signal_refusal, "has no signalled sources") }
    return CMember(pointer: try made(add(loop, call.work.callout, call.work.context)), removal: peer.signal_remove)
  }

  func addWatch(_ descriptor: CInt, _ call: Call) throws(Refusal) -> any Member {
    guard let add = peer.watch_add else { throw .cannot("watches no descriptors") }
    return CMember(
      pointer: try made(add(loop, descriptor, call.work.callout, call.work.context)), removal: peer.watch_remove)
  }

  func addObserver(_ call: Call) throws(Refusal) -> any Member {
    guard let add = peer.observer_add else { throw .cannot("has no observers") }
    return CMember(pointer: try made(add(loop, call.work.callout, call.work.context)), removal: peer.observer_remove)
  }

  var postRefusal: Refusal? {
    peer.post == nil ? refusal(peer.post_refusal, "posts no blocks") : nil
  }

  func post(_ count: Int, _ work: Work) { peer.post(loop, count, work.callout, work.context) }

  func addShots(_ dues: [Int64], _ call: Call) throws(Refusal) -> any ShotBank {
    guard let add = peer.shots_add else { throw .cannot("keeps no timers but the kernel's one") }
    return CShotBank(peer: peer, shots: try made(add(loop, dues.count, dues, call.work.callout, call.work.context)))
  }

  func makeTimers(_ count: Int, _ call: Call) throws(Refusal) -> any TimerBank {
    guard let make = peer.timers_make else { throw .cannot("keeps no timers but the kernel's one") }
    return CTimerBank(peer: peer, timers: try made(make(loop, count, call.work.callout, call.work.context)))
  }

  var hasTolerance: Bool { peer.has_tolerance }

  func addRepeats(
    _ dues: [Int64], every interval: Int64, tolerance: Int64, _ call: Call
  ) throws(Refusal) -> any Member {
    guard let add = peer.repeats_add else { throw .cannot("keeps no timers but the kernel's one") }
    guard tolerance == 0 || hasTolerance else { throw .cannot("its timers have no tolerance") }
    let repeats = add(loop, dues.count, dues, interval, tolerance, call.work.callout, call.work.context)
    return CMember(pointer: try made(repeats), removal: peer.repeats_remove)
  }

  private func made(_ pointer: UnsafeMutableRawPointer?) throws(Refusal) -> UnsafeMutableRawPointer {
    guard let pointer else { throw .failed("could not make what was asked for") }
    return pointer
  }

  private func refusal(_ reason: UnsafePointer<CChar>?, _ otherwise: String) -> Refusal {
    .cannot(reason.map { String(cString: $0) } ?? otherwise)
  }
}

private typealias CAction = @convention(c) (UnsafeMutableRawPointer?) -> Void

private struct CMember: Member {
  let pointer: UnsafeMutableRawPointer
  let removal: CAction

  func remove() { removal(pointer) }
}

/// Sendable because only `send` is called off the loop's thread, and the peer promises that it may be.
private final class CWake: Wake, @unchecked Sendable {
  private let pointer: UnsafeMutableRawPointer
  private let sending: CAction
  private let removal: CAction

  init(_ pointer: UnsafeMutableRawPointer, _ sending: CAction, _ removal: CAction) {
    (self.pointer, self.sending, self.removal) = (pointer, sending, removal)
  }

  func send() { sending(pointer) }
  func remove() { removal(pointer) }
}

private struct CShotBank: ShotBank {
  let peer: bench_peer
  let shots: UnsafeMutableRawPointer

  func cancel(_ order: [Int]) { peer.shots_cancel(shots, order) }
  func free() { peer.shots_free(shots) }
}

private struct CTimerBank: TimerBank {
  let peer: bench_peer
  let timers: UnsafeMutableRawPointer

  func start(_ dues: [Int64]) { peer.timers_start(timers, dues) }
  func stop(_ order: [Int]) { peer.timers_stop(timers, order) }
  func free() { peer.timers_free(timers) }
}
