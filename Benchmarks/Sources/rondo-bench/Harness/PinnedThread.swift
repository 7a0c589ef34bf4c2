import CBench
import Foundation
import Synchronization

/// A thread for one loop or its sender, bound to one processor if it names one, waited for with a deadline.
///
/// A subject may lose a wake or never return; the suite must then say so and go on, so joining can give up.
final class PinnedThread: Sendable {
  private let finished = DispatchSemaphore(value: 0)
  private let outcome = Mutex<Result<Void, Refusal>?>(nil)

  init(on processor: CInt?, _ body: @escaping @Sendable () throws(Refusal) -> Void) {
    Thread.detachNewThread { [self] in
      let result: Result<Void, Refusal>
      do throws(Refusal) {
        if let processor, !bench_pin(processor) { throw .failed("could not pin a thread to processor \(processor)") }
        try body()
        result = .success(())
      } catch {
        result = .failure(error)
      }
      outcome.withLock { $0 = result }
      finished.signal()
    }
  }

  /// Waits for the body to return, and throws what it threw.
  func join(within seconds: Double) throws(Refusal) {
    guard finished.wait(timeout: .now() + seconds) == .success else {
      throw .failed("the loop did not return within \(Int(seconds)) s")
    }
    try outcome.withLock { $0 ?? .success(()) }.get()
  }
}

/// A thread that keeps one processor busy.
final class BusyThread: Sendable {
  private let isStopped = Atomic(false)
  private let finished = DispatchSemaphore(value: 0)
  /// Of its processor time.
  private let clock = Mutex(clockid_t())

  /// Returns when the thread computes.
  init(on processor: CInt) {
    let started = DispatchSemaphore(value: 0)
    Thread.detachNewThread { [self] in
      _ = bench_pin(processor)
      clock.withLock { $0 = bench_thread_clock() }
      started.signal()
      while !isStopped.load(ordering: .relaxed) {}
      finished.signal()
    }
    started.wait()
  }

  /// Processor time it has used, in nanoseconds. Not after `stop`.
  var cpuTime: Int64 { clock.withLock { bench_clock_time($0) } }

  func stop() {
    isStopped.store(true, ordering: .relaxed)
    finished.wait()
  }
}

/// The processors this process may run on.
struct Processors {
  let all: [CInt]

  init() {
    var list = [CInt](repeating: 0, count: 1024)
    let count = bench_allowed_processors(&list, CInt(list.count))
    all = Array(list.prefix(Int(count)))
  }

  /// Where loops run: the last one, since most kernels serve their interrupts on the first.
  var loop: CInt { all.last ?? 0 }
}
