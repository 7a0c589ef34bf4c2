import CBench
import Foundation
import Synchronization

/// Blocks posted to a running loop, each an own closure, and run by it: time from the first post to the last block.
struct Post: Workload {
  /// How many other threads post; none: the loop's own, in batches of a thousand.
  private let threads: Int
  private let processors = Processors()

  static let same = Post(threads: 0)
  static let cross = Post(threads: 1)
  static let crossFour = Post(threads: 4)

  var name: String {
    switch threads {
    case 0: "post.same"
    case 1: "post.cross"
    default: "post.cross\(threads)"
    }
  }

  var summary: String {
    switch threads {
    case 0: "blocks posted by the loop's own thread, a thousand at a time, and run"
    case 1: "blocks posted by another thread and run"
    default: "blocks posted by \(threads) other threads and run"
    }
  }

  func plan(_ effort: Effort) -> Plan {
    switch effort {
    case .quick: Plan(rounds: 10, size: 20_000)
    case .full: Plan(rounds: 15, size: 200_000)
    }
  }

  var counting: Counting? {
    threads == 0 ? Counting(metric: "syscalls/1,000", small: 5000, large: 25_000, per: 1000) : nil
  }

  func countedRound(of subject: any Subject, size: Int) throws(Refusal) -> Int {
    _ = try round(of: subject, size: size)
    return size
  }

  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round {
    threads == 0 ? try postOnOwnThread(subject, size) : try postFromElsewhere(subject, size)
  }

  private static let batch = 1000

  private func postOnOwnThread(_ subject: any Subject, _ size: Int) throws(Refusal) -> Round {
    try LoopThread.run(subject, posts: true) { handle throws(Refusal) in
      let loop = handle.loop
      if let refusal = loop.postRefusal { throw refusal }
      let keeper = try? loop.addWake(Call(callout: bench_counter_called, context: nil))
      defer { keeper?.remove() }
      let meter = Meter(
        bench_poster(
          calls: 0, target: size, posted: Self.batch, batch: Self.batch,
          post: { pointer, count, callout, context in
            let loop = Unmanaged<LoopHandle>.fromOpaque(pointer!).takeUnretainedValue().loop
            loop.post(count, Work(callout: callout!, context: context))
          },
          stopper: handle.stopper))
      let begin = bench_now()
      loop.post(Self.batch, Work(callout: bench_poster_called, context: meter.pointer))
      loop.run()
      let elapsed = bench_now() - begin
      guard meter.value.calls == size else { throw .failed("\(meter.value.calls) blocks run of \(size)") }
      return Round([Part(value: Double(elapsed) / Double(size))])
    }
  }

  private func postFromElsewhere(_ subject: any Subject, _ size: Int) throws(Refusal) -> Round {
    let share = size / threads
    let total = share * threads
    let opened = DispatchSemaphore(value: 0)
    let go = DispatchSemaphore(value: 0)
    let posting = Box<(handle: LoopHandle, work: Work)?>(nil)
    let (begin, sleeps) = (Box<Int64>(0), Box<Int64>(0))
    let end = Box<Int64>(0)
    let counter = Box(0)
    let thread = PinnedThread(on: processors.loop) { () throws(Refusal) in
      defer { opened.signal() }
      let handle = LoopHandle(try subject.openLoop(posts: true))
      defer { handle.loop.close() }
      if let refusal = handle.loop.postRefusal { throw refusal }
      // A mode without items would end the run.
      let keeper = try? handle.loop.addWake(Call(callout: bench_counter_called, context: nil))
      defer { keeper?.remove() }
      let meter = Meter(target: total, stopping: handle)
      posting.value = (handle, meter.call.work)
      opened.signal()
      let before = handle.loop.sleepsOnItsThread ? bench_thread_sleep_count() : -1
      handle.loop.run()
      end.value = bench_now()
      sleeps.value = before < 0 ? -1 : bench_thread_sleep_count() - before
      counter.value = meter.value.calls
      // The posters may still be inside their last post.
      go.wait()
    }
    opened.wait()
    guard let (handle, work) = posting.value else {
      try thread.join(within: 2)
      throw .failed("the loop was not opened")
    }
    let line = DispatchSemaphore(value: 0)
    let ready = DispatchSemaphore(value: 0)
    let others = processors.all.filter { $0 != processors.loop }
    let posters = (0..<threads).map { index in
      PinnedThread(on: others.isEmpty ? processors.loop : others[index % others.count]) { () throws(Refusal) in
        ready.signal()
        line.wait()
        handle.loop.post(share, work)
      }
    }
    for _ in posters { ready.wait() }
    bench_pause(1_000_000)
    begin.value = bench_now()
    for _ in posters { line.signal() }
    for poster in posters { try poster.join(within: 30) }
    go.signal()
    try thread.join(within: 30)
    let count = counter.value
    guard count == total else { throw .failed("\(count) blocks run of \(total)") }
    let elapsed = end.value - begin.value
    var part = Part(value: Double(elapsed) / Double(total))
    let slept = sleeps.value
    if slept >= 0 {
      part.gauges.append(Gauge(metric: "wakes/1,000", unit: "", value: Double(slept) * 1000 / Double(total)))
    }
    return Round([part])
  }
}
