/// Has jobs served that wait while their loop is not run. Any thread.
package typealias JobRelay = @Sendable () -> Void

/// Jobs that wait while the loop is not run: RondoMain has the main dispatch queue serve them.
extension Loop {
  /// Has `relay` called when jobs wait and the loop is not run. Once, before another thread uses the loop.
  package func leaveJobs(to relay: @escaping JobRelay) {
    core.jobRelay = relay
    core.note(.relay)
  }

  /// Serves the jobs that wait, unless a run does. The loop's own thread. Calls out.
  package func serveJobsOutsideRuns() {
    if !core.hasOrphanedJobs { core.serveJobsOutsideRuns() }
  }

  /// Whether jobs are run elsewhere, because the loop has ended. Any thread.
  package var hasOrphanedJobs: Bool { core.hasOrphanedJobs }
}

extension LoopCore {
  fileprivate func serveJobsOutsideRuns() {
    assertOwnThread()
    guard depth == 0, !isServingJob else { return }
    applyMail()
    serveJobs(atMost: min(knownJobs?.common?.queue.count ?? 0, Self.jobsAtATime)) { $0.isLoopsOwn }
    retire()
    relayJobs()
  }

  /// Leaves jobs that wait to the relay, if there is one and the loop is not run.
  @inline(__always)
  func relayJobs() {
    if jobRelay != nil, depth == 0 { relayJobsPresent() }
  }

  @inline(never)
  private func relayJobsPresent() {
    assertOwnThread()
    guard let jobRelay, !isServingJob else { return }
    // Under the lock: another thread that enqueues later sees there that the run is over.
    let isMailed = mailbox.withLock { !$0.mail.jobs.isEmpty }
    if isMailed || knownJobs?.common?.queue.isEmpty == false { jobRelay() }
  }
}
