import Glibc
import Rondo
import Synchronization

/// One thread at a time is looked at: there is one signal handler, and one place for its registers.
///
/// Without a lock: a thread that has it when the process forks does not give it back in the child.
enum ThreadSampler {
  /// *atomic* The process in which a thread is looked at: its count of forks plus one; 0 for none.
  private static let user = Atomic<UInt32>(0)

  static func sample(of thread: Int32) -> ThreadSample {
    let own = ProcessGeneration.current &+ 1
    var seen: UInt32 = 0
    while true {
      let (isTaken, present) = user.compareExchange(expected: seen, desired: own, ordering: .acquiringAndReleasing)
      if isTaken { break }
      if present == own { usleep(1_000) }
      seen = present == own ? 0 : present
    }
    defer { user.store(0, ordering: .releasing) }
    return ThreadSample.take(of: thread)
  }
}
