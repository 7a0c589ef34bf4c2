internal import CRondoInspect
import Glibc
import Rondo
import Synchronization

/// One thread at a time is looked at: there is one signal handler, and one place for its registers.
///
/// Without a lock: a thread that has it when the process forks does not give it back in the child.
package enum ThreadSampler {
  /// *atomic* The process in which a thread is looked at: its count of forks plus one; 0 for none.
  private static let user = Atomic<UInt32>(0)

  package static func sample(of thread: Int32) -> ThreadSample {
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

  /// Lets the calling thread be stopped while `body` runs, so that its stack can be read. Threads of libdispatch's block
  /// signals.
  package static func lookingPossible<Result>(_ body: () throws -> Result) rethrows -> Result {
    var (signals, before) = (sigset_t(), sigset_t())
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, CInt(rondo_sample_signal))
    unsafe pthread_sigmask(SIG_UNBLOCK, &signals, &before)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
    return try body()
  }
}
