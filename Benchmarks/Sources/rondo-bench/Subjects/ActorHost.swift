import CBench
import Dispatch
import Synchronization

/// What of Swift concurrency a subject can run: actors on executors, and tasks.
struct ActorHost: Sendable {
  /// Two actors on two executors.
  let guests: [any Guest]

  /// Another actor on the first one's executor.
  let neighbour: any Guest

  /// Starts as many tasks on the first actor's executor, which park there, and count down when they go on.
  let park: @Sendable (_ count: Int, _ parking: Parking) -> Void
}

/// An actor of a subject.
protocol Guest: Actor {
  /// Isolated, so that a call of `touch` has to go there, and a caller has to come back.
  var threads: bench_threads { get set }
}

extension Guest {
  /// What a hop leads to: next to nothing.
  func touch() { bench_threads_count(&threads) }

  /// Forgets the threads of earlier rounds.
  func begin() { threads = bench_threads() }

  /// Calls another actor again and again; how long each call took, there and back.
  func callOften(_ other: some Guest, _ count: Int) async -> [Int64] {
    var times: [Int64] = []
    times.reserveCapacity(count)
    for _ in 0..<count {
      let begin = bench_now()
      await other.touch()
      bench_threads_count(&threads)
      times.append(bench_now() - begin)
    }
    return times
  }

  /// The same, for an actor of whatever type.
  func callAny(_ other: any Guest, _ count: Int) async -> [Int64] {
    await callOften(other, count)
  }
}

/// An actor on an executor that lasts as long as the process.
actor HostedGuest: Guest {
  private nonisolated let executor: any SerialExecutor
  var threads = bench_threads()

  init(_ executor: any SerialExecutor) {
    self.executor = executor
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
}

/// Many tasks that wait on their executor until a thread lets them go on all at once.
final class Parking: Sendable {
  private let size: Int
  private let parked: Mutex<[UnsafeContinuation<Void, Never>]>
  private let left: Atomic<Int>
  private let full = DispatchSemaphore(value: 0)
  private let empty = DispatchSemaphore(value: 0)

  init(_ size: Int) {
    self.size = size
    left = Atomic(size)
    parked = Mutex([])
    parked.withLock { $0.reserveCapacity(size) }
  }

  /// Parks the task on the caller's actor, and counts down when it goes on there.
  nonisolated(nonsending) func park() async {
    await withUnsafeContinuation { continuation in
      let count = parked.withLock { parked in
        parked.append(continuation)
        return parked.count
      }
      if count == size { full.signal() }
    }
    if left.subtract(1, ordering: .relaxed).newValue == 0 { empty.signal() }
  }

  /// Whether all are there within `seconds`.
  func fill(within seconds: Double) -> Bool {
    full.wait(timeout: .now() + seconds) == .success
  }

  /// Lets all go on: each is one job for the executor. Whether they have done so within `seconds`.
  func release(within seconds: Double) -> Bool {
    for continuation in parked.withLock({ $0 }) { continuation.resume() }
    return empty.wait(timeout: .now() + seconds) == .success
  }
}
