/// A job that the concurrency runtime wants run at a date: what a task's `Task.sleep` ends with. A timer of the loop.
///
/// An executor may not drop a job, and is not told that a sleep was cancelled. But another job resumes the cancelled
/// task. If that job is to run on the loop, the loop finds the task's sleep, ends its timer, and first runs the sleep's
/// own job, which then only cleans up.
final class JobSleep: ItemDelegate, @unchecked Sendable {
  // Unchecked because its maker hands it to the loop's thread.

  /// *constant*
  private let lane: JobLane
  /// *constant*
  private let date: Instant
  /// *constant* The task that sleeps, by its place in memory; nil if that is unknown.
  private let sleeper: UInt?
  /// *loop thread* once it is in the loop
  @safe @exclusivity(unchecked) private var job: UnownedJob?
  /// *loop thread* once it is in the loop
  @safe @exclusivity(unchecked) private var timer: DelegatingTimer?

  /// Has `job` run by the lane when the loop's clock shows `date`. Any thread.
  static func begin(_ job: UnownedJob, by lane: JobLane, at date: Instant, tolerance: Duration) {
    let date = Schedule.date(at: date)
    let isOwn = lane.isOfCurrentThread
    let sleep = JobSleep(job, lane, date, sleeper: isOwn ? RuntimeInsides.current : nil)
    let timer = DelegatingTimer(oneShotAt: date, tolerance: max(tolerance, .zero)) { [sleep] _ in sleep.fire() }
    timer.delegate = sleep
    sleep.timer = timer
    if isOwn, let sleeper = sleep.sleeper { lane.core.jobService.sleeps[sleeper] = sleep }
    let loop = lane.core.loop!
    let isIn = lane.modeNames.reduce(false) { loop.add(timer, to: $1) || $0 }
    // The loop has ended.
    if !isIn { timer.invalidate() }
  }

  private init(_ job: UnownedJob, _ lane: JobLane, _ date: Instant, sleeper: UInt?) {
    self.job = job
    self.lane = lane
    self.date = date
    self.sleeper = sleeper
  }

  /// The date has come. The loop's thread, in the timer's callout, with which the timer ends. Calls out.
  private func fire() {
    forget()
    timer = nil
    if let job = takeJob() { lane.core.runTimedJob(job) }
  }

  /// The task is resumed without it. The loop's thread, with no mail under way.
  ///
  /// - Returns: The sleep's job, which runs before the task's.
  fileprivate func cancel() -> QueuedJob? {
    let job = takeJob()
    forget()
    timer.take()?.invalidate()
    return job
  }

  /// Takes the job out, to be run as long as its task lives: the task keeps the executor that the lane names.
  private func takeJob() -> QueuedJob? {
    job.take().map { QueuedJob($0, by: lane) }
  }

  /// The loop has ended, or had: the rest of the time passes elsewhere.
  func itemWasInvalidated(_ item: Loop.Item) {
    guard let job = job.take() else { return }
    timer = nil
    if lane.isOfCurrentThread { forget() }
    let left = lane.core.wait.now.nanoseconds.distance(to: date.nanoseconds)
    let lane = lane
    Task.detached {
      try? await SuspendingClock().sleep(for: .nanoseconds(left))
      lane.enqueue(job)
    }
  }

  private func forget() {
    guard let sleeper, let jobs = lane.core.knownJobs, jobs.sleeps[sleeper] === self else { return }
    jobs.sleeps[sleeper] = nil
  }
}

extension LoopCore {
  /// Ends the sleep of a cancelled task that is resumed by `job`. Before the job runs. Calls out.
  @inline(never)
  func endCancelledSleep(of job: QueuedJob) {
    assertOwnThread()
    guard let task = RuntimeInsides.cancelled(job.job), let sleep = knownJobs?.sleeps[task] else { return }
    if let job = sleep.cancel() { callOutJob(job) }
  }

  /// Runs the job of a sleep that is over. In a timer's callout. Calls out.
  func runTimedJob(_ job: QueuedJob) {
    assertOwnThread()
    // Inside a job no other job runs, and the loop cannot know that this one only resumes a task.
    if isServingJob { return enqueue(job) }
    jobService.isServing = true
    jobService.operationsLeft = Self.operationsOfJob
    callOutJob(job)
    jobService.isServing = false
  }
}

extension JobLane {
  /// Whether the calling thread is the loop's, and the loop not over.
  fileprivate var isOfCurrentThread: Bool { !core.hasOrphanedJobs && isolatesCurrentThread }

  /// The modes its jobs are served in.
  fileprivate var modeNames: [Loop.Mode] {
    group.modes.isCommon ? [.common] + core.loop.names(of: group.modes.modes) : core.loop.names(of: group.modes.modes)
  }
}
