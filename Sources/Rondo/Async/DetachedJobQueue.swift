import Glibc
import Synchronization

/// Runs the jobs of a loop whose thread has ended: one at a time, on threads of the concurrency runtime.
///
/// A job may not be dropped, or its task would never resume. The thread that enqueues it may not run it inside
/// `enqueue`, where it may hold any lock. So a loop without a thread becomes what a default actor is: still
/// serial, so that its actors stay exclusive, but on no thread of its own.
final class DetachedJobQueue: @unchecked Sendable {
  // Unchecked because of the fields under the lock.

  /// *constant* Taken inside the mailbox lock, never around it.
  private let lock = Lock()
  /// *its own lock*
  @safe @exclusivity(unchecked) private var jobs = JobQueue()
  /// *its own lock* A task runs them, or is about to; or the loop's thread has yet to make its last callout.
  @safe @exclusivity(unchecked) private var isServed = true
  /// *atomic* Whether the loop's thread has made its last callout: until then, what that thread does excludes the jobs.
  private let isOpen = Atomic<Bool>(false)
  /// *atomic* The thread that runs a job now, as pthread_self(3) calls it; 0 for none.
  private let server = Atomic<UInt>(0)

  /// The most jobs one task runs, so that it does not keep a thread of the runtime to itself. As many as a loop.
  private static let jobsAtATime = 256

  /// Whether the calling thread runs a job of the loop at this moment, or is the loop's, before its end.
  func isServed(byCurrentThreadOf thread: ThreadRecord) -> Bool {
    guard isOpen.load(ordering: .relaxed) else { return thread.isCurrent }
    return server.load(ordering: .relaxed) == UInt(pthread_self())
  }

  /// Has the jobs served from now on. The loop's thread, after its last callout.
  func open() {
    isOpen.store(true, ordering: .relaxed)
    lock.withLock { isServed = false }
    begin()
  }

  /// Inside the mailbox lock, before another thread can enqueue.
  func take(_ job: QueuedJob) {
    if job.passOn() { return }
    let job = job.outlivingTheLoop()
    lock.withLock { jobs.push(job) }
  }

  /// Any thread.
  func enqueue(_ job: QueuedJob) {
    take(job)
    begin()
  }

  /// Has what waits be served, unless it already is.
  private func begin() {
    let isNeeded = lock.withLock {
      if isServed || jobs.isEmpty { return false }
      isServed = true
      return true
    }
    if isNeeded { serveElsewhere() }
  }

  private func serveElsewhere() {
    let priority = lock.withLock { jobs.topPriority }
    Task.detached(priority: TaskPriority(rawValue: UInt8(clamping: priority))) { self.serve() }
  }

  /// Calls out.
  private func serve() {
    for _ in 0..<Self.jobsAtATime {
      guard let job = next() else { return }
      server.store(UInt(pthread_self()), ordering: .relaxed)
      callOutJob(job)
      server.store(0, ordering: .relaxed)
    }
    serveElsewhere()
  }

  private func next() -> QueuedJob? {
    lock.withLock {
      let job = jobs.pop()
      if job == nil { isServed = false }
      return job
    }
  }
}
