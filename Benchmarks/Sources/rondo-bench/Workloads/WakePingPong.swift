import CBench
import Foundation

/// Two loops on two threads wake each other in turn: whole round trips.
///
/// A subject that serves both on one thread does other work, and is refused.
struct WakePingPong: Workload {
  enum Placement: String, Sendable {
    case oneCore = "1core"
    case twoCores = "2core"
    /// Where the kernel puts the threads.
    case free
  }

  private let placement: Placement
  private let processors = Processors()

  init(_ placement: Placement) {
    self.placement = placement
  }

  var name: String { "wake.pingpong.\(placement.rawValue)" }
  var summary: String {
    let place =
      switch placement {
      case .oneCore: "on one core"
      case .twoCores: "on two cores"
      case .free: "not pinned"
      }
    return "two loops on two threads, \(place), wake each other in turn: a round trip"
  }

  var obstacle: String? {
    placement == .twoCores && processors.all.count < 2 ? "needs two processors" : nil
  }

  func plan(_ effort: Effort) -> Plan {
    switch effort {
    case .quick: Plan(rounds: 10, size: placement == .oneCore ? 1000 : 300)
    case .full: Plan(rounds: 10, size: placement == .oneCore ? 100_000 : 20_000)
    }
  }

  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round {
    let pong = Meter(bench_paddle())
    let ping = Meter(bench_paddle())
    let (pingWake, pongWake) = (Box<WakeHandle?>(nil), Box<WakeHandle?>(nil))
    let (pongGate, pingGate) = (Gate(), Gate())
    let nanoseconds = Box<Int64>(0)

    /// One side: opens its loop, publishes its wake, waits until both have, and runs.
    @Sendable func play(
      _ paddle: Meter<bench_paddle>, on processor: CInt?, publishing own: Box<WakeHandle?>, _ other: Box<WakeHandle?>,
      gate: Gate, serves: Bool
    ) -> PinnedThread {
      PinnedThread(on: processor) { () throws(Refusal) in
        defer { gate.arrive() }
        let handle = LoopHandle(try subject.openLoop(posts: false))
        let wake = try handle.loop.addWake(Call(callout: bench_paddle_called, context: paddle.pointer))
        own.value = WakeHandle(wake)
        gate.pass()
        guard let opponent = other.value else { return }
        paddle.pointer.pointee = bench_paddle(
          threads: bench_threads(), calls: 0, target: size, answers_last: !serves, send: WakeHandle.send,
          wake: Unmanaged.passUnretained(opponent).toOpaque(), stopper: handle.stopper)
        // Everyone has to be able to answer before the first wake is sent.
        gate.pass()
        let begin = bench_now()
        if serves { opponent.wake.send() }
        handle.loop.run()
        if serves { nanoseconds.value = bench_now() - begin }
        // The other side may still be in its last send.
        gate.pass()
        wake.remove()
        handle.loop.close()
      }
    }

    let pongThread = play(
      pong, on: placement == .free ? nil : processors.loop, publishing: pongWake, pingWake, gate: pongGate,
      serves: false)
    let pingThread = play(
      ping, on: placement == .free ? nil : placement == .oneCore ? processors.loop : processors.all[0],
      publishing: pingWake, pongWake, gate: pingGate, serves: true)
    for _ in 0..<3 {
      for gate in [pongGate, pingGate] {
        guard gate.awaitArrival() else { throw .failed("a round trip was lost") }
      }
      // Either could not open its loop.
      guard pingWake.value != nil, pongWake.value != nil else { break }
      for gate in [pongGate, pingGate] { gate.open() }
    }
    if pingWake.value == nil || pongWake.value == nil {
      for gate in [pongGate, pingGate] { gate.open() }
    }
    try pongThread.join(within: 5)
    try pingThread.join(within: 5)
    guard ping.value.calls == size, pong.value.calls == size else {
      throw .failed("\(ping.value.calls) and \(pong.value.calls) callouts for \(size) round trips")
    }
    let threads = try ThreadUse(ping.pointer.pointee.threads, pong.pointer.pointee.threads).check(.two, size)
    let each = Double(nanoseconds.value) / Double(size)
    return Round([
      Part(value: each, gauges: [Gauge(metric: "round trips", unit: "/s", value: 1e9 / each), threads])
    ])
  }
}

/// Where one thread waits until the harness lets it go on.
private final class Gate: Sendable {
  private let arrivals = DispatchSemaphore(value: 0)
  private let passes = DispatchSemaphore(value: 0)

  func arrive() { arrivals.signal() }
  func open() { passes.signal() }

  func pass() {
    arrive()
    passes.wait()
  }

  func awaitArrival() -> Bool { arrivals.wait(timeout: .now() + 30) == .success }
}
