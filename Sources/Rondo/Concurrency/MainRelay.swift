import Synchronization

/// Serves the main actor's jobs by the main dispatch queue while nobody runs the main loop.
///
/// With RondoMain in the program the main actor is the main loop's. A synchronous main may wait in something else all the
/// same, as XCTest's runner does in Foundation's loop; whatever serves the main queue there goes on serving the main actor.
final class MainRelay: @unchecked Sendable {
  // Unchecked because of `core`, of which other threads than the loop's ask no more than whether it has ended.

  /// Calls a function later on the main queue.
  typealias Queue = @Sendable (_ function: @escaping @Sendable () -> Void) -> Void

  /// *atomic* Whether a block is in the queue that has not looked for jobs yet.
  private let isUnderWay = Atomic(false)
  /// *constant* It goes with its loop, and a block may come later.
  private weak let core: LoopCore?
  /// *constant*
  private let queue: Queue

  init(_ core: LoopCore, _ queue: @escaping Queue) {
    self.core = core
    self.queue = queue
  }

  /// Has the loop's jobs served by the queue, unless a run comes first. Any thread.
  func ask() {
    if isUnderWay.exchange(true, ordering: .acquiringAndReleasing) { return }
    queue { [self] in
      // Before it looks: who enqueues after that asks again.
      _ = isUnderWay.exchange(false, ordering: .acquiringAndReleasing)
      // Once the main thread has ended, libdispatch serves the queue on threads of its own, and its orphanage the jobs.
      guard let core, !core.hasOrphanedJobs, core.loop.thread.isCurrent else { return }
      core.serveJobsOutsideRuns()
    }
  }
}

extension LoopCore {
  /// Serves jobs that wait while nobody runs the loop. Calls out.
  fileprivate func serveJobsOutsideRuns() {
    assertOwnThread()
    guard depth == 0, !isServingJob else { return }
    applyMail()
    serveJobs(atMost: min(jobs.queue.count, Self.jobsAtATime)) { $0 === jobs }
    retire()
    relayJobs()
  }

  /// Leaves jobs that wait to the main queue, if there is a relay to it and nobody runs the loop.
  @inline(__always)
  func relayJobs() {
    if mainRelay != nil, depth == 0 { relayJobsPresent() }
  }

  @inline(never)
  private func relayJobsPresent() {
    assertOwnThread()
    guard let mainRelay, !isServingJob else { return }
    // Under the lock: another thread that enqueues later sees there that the run is over.
    let isMailed = mailbox.withLock { !$0.mail.jobs.isEmpty }
    if isMailed || !jobs.queue.isEmpty { mainRelay.ask() }
  }
}
