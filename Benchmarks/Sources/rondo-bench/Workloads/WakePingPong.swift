import CBench
import Foundation

/// Two loops on two threads wake each other in turn: whole round trips.
struct WakePingPong: Workload {
  private let processors = Processors()

  let name = "wake.pingpong"
  let summary = "two loops on two threads, and two cores if there are, wake each other in turn: a round trip"

  func plan(_ effort: Effort) -> Plan {
    switch effort {
    case .quick: Plan(rounds: 10, size: 1500)
    case .full: Plan(rounds: 10, size: 100_000)
    }
  }

  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round {
    let pong = Meter(bench_paddle())
    let ping = Meter(bench_paddle())
    let (pingWake, pongWake) = (Box<WakeHandle?>(nil), Box<WakeHandle?>(nil))
    let (pongReady, pingReady, start) = (
      DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
    )
    let nanoseconds = Box<Int64>(0)

    /// One side: opens its loop, publishes its wake, waits until both have, and runs.
    @Sendable func play(
      _ paddle: Meter<bench_paddle>, on processor: CInt, publishing own: Box<WakeHandle?>, _ other: Box<WakeHandle?>,
      ready: DispatchSemaphore, serves: Bool
    ) -> PinnedThread {
      PinnedThread(on: processor) { () throws(Refusal) in
        defer { ready.signal() }
        let handle = LoopHandle(try subject.openLoop(posts: false))
        let wake = try handle.loop.addWake(Call(callout: bench_paddle_called, context: paddle.pointer))
        own.value = WakeHandle(wake)
        ready.signal()
        start.wait()
        guard let opponent = other.value else { return }
        paddle.pointer.pointee = bench_paddle(
          calls: 0, target: size, answers_last: !serves, send: WakeHandle.send,
          wake: Unmanaged.passUnretained(opponent).toOpaque(), stopper: handle.stopper)
        // Everyone has to be able to answer before the first wake is sent.
        ready.signal()
        start.wait()
        let begin = bench_now()
        if serves { opponent.wake.send() }
        handle.loop.run()
        if serves { nanoseconds.value = bench_now() - begin }
        // The other side may still be in its last send.
        ready.signal()
        start.wait()
        wake.remove()
        handle.loop.close()
      }
    }

    let pongThread = play(
      pong, on: processors.loop, publishing: pongWake, pingWake, ready: pongReady, serves: false)
    let pingThread = play(
      ping, on: processors.all[0], publishing: pingWake, pongWake, ready: pingReady, serves: true)
    for _ in 0..<3 {
      for ready in [pongReady, pingReady] {
        guard ready.wait(timeout: .now() + 60) == .success else { throw .failed("a round trip was lost") }
      }
      start.signal()
      start.signal()
    }
    try pongThread.join(within: 5)
    try pingThread.join(within: 5)
    guard ping.value.calls == size, pong.value.calls == size else {
      throw .failed("\(ping.value.calls) and \(pong.value.calls) callouts for \(size) round trips")
    }
    let each = Double(nanoseconds.value) / Double(size)
    return Round([
      Part(value: each, gauges: [Gauge(metric: "round trips", unit: "/s", value: 1e9 / each)])
    ])
  }
}
