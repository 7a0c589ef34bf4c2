import Synchronization

/// Jobs of actors and tasks, on the loop's thread.
extension LoopCore {
  /// The most jobs that are served at a time, so that a flood of them delays timers and descriptors by no more.
  ///
  /// A turn that only looks costs some 600 ns; shared by 256 jobs, that is nothing beside the 100 ns of a job.
  static let jobsAtATime = 256

  /// The most reads and writes, of those that succeed at once, that a job makes before its task yields. Chosen: of a
  /// neighbour of a client that floods, the 99th of 100 answers took 4.3 ms with 64, 1.2 ms with 16, and 0.6 ms with 4.
  static let operationsOfJob = 16
  /// The most that the jobs of one turn make, so that many busy tasks do not keep a timer waiting. Chosen.
  static let operationsAtATime = 128

  /// How often a loop that ends looks again for jobs which its last jobs have enqueued. Chosen: more than a
  /// chain of calls is deep, and soon over.
  private static let lastRounds = 1_000

  func enqueue(_ job: QueuedJob) {
    assertOwnThread()
    let group = job.group
    if group !== jobs, group.queue.isEmpty { modalJobs.append(group) }
    group.queue.push(job)
    mayHaveWork = true
  }

  /// Whether a job waits that a run of the mode may serve.
  ///
  /// None inside a job: it may be in the middle of a change to its actor, which another job would see.
  @inline(__always)
  func hasJobs(in mode: ModeState) -> Bool {
    assertOwnThread()
    if jobs.queue.isEmpty && modalJobs.isEmpty { return false }
    return !isServingJob && (!jobs.queue.isEmpty && mode.isCommon || modalJobs.contains { $0.modes.contains(mode) })
  }

  /// 4, 11. Runs jobs of the mode that wait now, highest priority first; jobs they enqueue wait. Calls out.
  @inline(__always)
  func serveJobs(_ frame: RunFrame) {
    assertOwnThread()
    applyMail()
    if hasJobs(in: frame.mode) { serveJobsPresent(frame.mode) }
  }

  @inline(never)
  private func serveJobsPresent(_ mode: ModeState) {
    assertOwnThread()
    pulse.enter(.jobs)
    jobs.queue.permute(by: wait)
    let modal = modalJobs.reduce(0) { $0 + ($1.modes.contains(mode) ? $1.queue.count : 0) }
    serveJobs(atMost: min(modal + (mode.isCommon ? jobs.queue.count : 0), Self.jobsAtATime)) { $0.modes.contains(mode) }
  }

  /// Calls out.
  func serveJobs(atMost limit: Int, _ mayRun: (JobGroup) -> Bool) {
    assertOwnThread()
    isServingJob = true
    var operations = Self.operationsAtATime
    for _ in 0..<limit where operations > 0 {
      guard let job = takeJob(mayRun) else { break }
      if !sleeps.isEmpty { endCancelledSleep(of: job) }
      counters.jobCallouts.count()
      operationsLeft = Self.operationsOfJob
      if hasDelegate { callOutRecorded(job) } else { callOutJob(job) }
      operations -= Self.operationsOfJob - max(0, operationsLeft)
    }
    isServingJob = false
  }

  /// The next job of the groups that `mayRun` lets run; the common one goes first among equals.
  @inline(__always)
  private func takeJob(_ mayRun: (JobGroup) -> Bool) -> QueuedJob? {
    assertOwnThread()
    if modalJobs.isEmpty { return mayRun(jobs) ? jobs.queue.pop() : nil }
    var best: JobGroup?
    var priority = -1
    if mayRun(jobs) { (best, priority) = (jobs, jobs.queue.topPriority) }
    for group in modalJobs where mayRun(group) && group.queue.topPriority > priority {
      (best, priority) = (group, group.queue.topPriority)
    }
    guard let best else { return nil }
    let job = best.queue.pop()
    if best !== jobs, best.queue.isEmpty { modalJobs.removeAll { $0 === best } }
    return job
  }

  // MARK: - The end

  /// Whether jobs are run elsewhere by now.
  @inline(__always)
  var hasOrphanedJobs: Bool { mailbox.life >= .orphaned }

  /// Runs the jobs that are left, in whatever modes, and those that come of them. Calls out.
  ///
  /// In a limited number of rounds: an actor that never ends its work loses its thread.
  func serveLastJobs() {
    assertOwnThread()
    guard !isServingJob else { return }
    for _ in 0..<Self.lastRounds {
      applyMail()
      let count = modalJobs.reduce(jobs.queue.count) { $0 + $1.queue.count }
      if count == 0 { return }
      serveJobs(atMost: count) { _ in true }
    }
  }

  /// Keeps the jobs that are left, and all later ones, for threads of the concurrency runtime, which get them when the
  /// loop's thread has made its last callout.
  func orphanJobs() {
    assertOwnThread()
    applyMail()
    mailbox.withLock { state in
      // In order: what the loop has taken over came before what is still in the mailbox.
      while let job = takeJob({ _ in true }) { detachedJobs.take(job) }
      for job in state.mail.jobs { detachedJobs.take(job) }
      state.mail.jobs = []
      mailbox.advance(to: .orphaned)
    }
  }
}
