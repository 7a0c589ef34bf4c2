import CLinux
import Synchronization

/// What a loop knows of its jobs, once it has had one. *loop thread*
@safe final class JobService {
  /// The jobs of the common modes; nil until there was one.
  @safe @exclusivity(unchecked) var common: JobGroup?
  /// Groups for other modes, those that have a job.
  @safe @exclusivity(unchecked) var modal: ContiguousArray<JobGroup> = []
  /// A job is running.
  @safe @exclusivity(unchecked) var isServing = false
  /// When the running job began, in real time; kept in virtual time only.
  @safe @exclusivity(unchecked) var start: Int64 = 0
  /// How many operations that succeed at once the running job may still do before it lets others run.
  @safe @exclusivity(unchecked) var operationsLeft = 0
  /// Sleeps of tasks that the concurrency runtime has left to the loop, by task.
  @safe @exclusivity(unchecked) var sleeps: [UInt: JobSleep] = [:]

  /// How many jobs wait.
  var count: Int { modal.reduce(common?.queue.count ?? 0) { $0 + $1.queue.count } }

  var isEmpty: Bool { modal.isEmpty && common?.queue.isEmpty != false }

  /// How many jobs wait that a run of the mode may serve.
  func count(in mode: ModeState) -> Int {
    let modal = modal.reduce(0) { $0 + ($1.modes.contains(mode) ? $1.queue.count : 0) }
    return mode.isCommon ? modal + (common?.queue.count ?? 0) : modal
  }

  func push(_ job: QueuedJob) {
    let group = job.group
    if group.isLoopsOwn {
      if common == nil { common = group }
    } else if group.queue.isEmpty {
      modal.append(group)
    }
    group.queue.push(job)
  }

  /// The next job of the groups that `mayRun` lets run; the common one goes first among equals.
  @inline(__always)
  func pop(_ mayRun: (JobGroup) -> Bool) -> QueuedJob? {
    if modal.isEmpty { return common.flatMap { mayRun($0) ? $0.queue.pop() : nil } }
    var best: JobGroup?
    var priority = -1
    if let common, mayRun(common) { (best, priority) = (common, common.queue.topPriority) }
    for group in modal where mayRun(group) && group.queue.topPriority > priority {
      (best, priority) = (group, group.queue.topPriority)
    }
    guard let best else { return nil }
    let job = best.queue.pop()
    if !best.isLoopsOwn, best.queue.isEmpty { modal.removeAll { $0 === best } }
    return job
  }
}

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
    jobService.push(job)
    agenda.insert(.work)
  }

  /// Made for the first job.
  var jobService: JobService {
    if knownJobs == nil { knownJobs = JobService() }
    return knownJobs!
  }

  /// For how many nanoseconds of real time the running job has run; 0 outside of jobs. In virtual time only.
  func realTimeOfJob() -> Int64 {
    assertOwnThread()
    return isServingJob ? rondo_monotonic_now() - jobService.start : 0
  }

  /// A job of the loop is running.
  @inline(__always)
  var isServingJob: Bool { knownJobs?.isServing ?? false }

  /// Whether a job waits that a run of the mode may serve.
  ///
  /// None inside a job: it may be in the middle of a change to its actor, which another job would see.
  @inline(__always)
  func hasJobs(in mode: ModeState) -> Bool {
    assertOwnThread()
    guard let knownJobs, !knownJobs.isEmpty, !knownJobs.isServing else { return false }
    return mode.isCommon && knownJobs.common?.queue.isEmpty == false
      || knownJobs.modal.contains { $0.modes.contains(mode) }
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
    counters.pulse.enter(.jobs)
    jobService.common?.queue.permute(by: wait)
    serveJobs(atMost: min(jobService.count(in: mode), Self.jobsAtATime)) { $0.modes.contains(mode) }
  }

  /// Calls out.
  func serveJobs(atMost limit: Int, _ mayRun: (JobGroup) -> Bool) {
    assertOwnThread()
    let service = jobService
    service.isServing = true
    var operations = Self.operationsAtATime
    for _ in 0..<limit where operations > 0 {
      guard let job = service.pop(mayRun) else { break }
      if !service.sleeps.isEmpty { endCancelledSleep(of: job) }
      counters.jobCallouts.count()
      service.operationsLeft = Self.operationsOfJob
      if case .scripted = wait { service.start = rondo_monotonic_now() }
      if hasDelegate { callOutRecorded(job) } else { callOutJob(job) }
      operations -= Self.operationsOfJob - max(0, service.operationsLeft)
    }
    service.isServing = false
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
      let count = knownJobs?.count ?? 0
      if count == 0 { return }
      serveJobs(atMost: count) { _ in true }
    }
  }

  /// Keeps the jobs that are left, and all later ones, for threads of the concurrency runtime, which get them when the
  /// loop's thread has made its last callout.
  func orphanJobs() {
    assertOwnThread()
    applyMail()
    let detached = DetachedJobQueue()
    detachedJobs = detached
    mailbox.withLock { state in
      // In order: what the loop has taken over came before what is still in the mailbox.
      while let job = knownJobs?.pop({ _ in true }) { detached.take(job) }
      for job in state.mail.jobs { detached.take(job) }
      state.mail.jobs = []
      mailbox.advance(to: .orphaned)
    }
  }
}
