/// A job that waits for the loop, and the lane it came by, which says how to run it and in which modes.
///
/// Its holder owes it one `run()`: an executor may not drop a job.
@safe struct QueuedJob {
  let job: UnownedJob
  /// A loop's own lanes live as long as its jobs can wait for it, and are not counted: with one thread to retain and
  /// another to release, the count costs more than all the rest of a job's way. Others are.
  private let reference: Unmanaged<JobLane>
  private let isRetained: Bool

  init(_ job: UnownedJob, by lane: JobLane) {
    self.job = job
    isRetained = !lane.isLoopsOwn
    unsafe reference = isRetained ? .passRetained(lane) : .passUnretained(lane)
  }

  private init(retaining other: QueuedJob) {
    job = other.job
    unsafe reference = other.isRetained ? other.reference : other.reference.retain()
    isRetained = true
  }

  /// The same job with a reference to its lane, since the loop ends and frees its lanes. Takes the place of this one.
  func outlivingTheLoop() -> QueuedJob {
    QueuedJob(retaining: self)
  }

  /// Gives the job to the heir of its lane, if it has one. It is out of the loop's hands then.
  func passOn() -> Bool {
    guard let heir = unsafe reference._withUnsafeGuaranteedRef({ $0.heir }) else { return false }
    heir(job)
    if isRetained { unsafe reference.release() }
    return true
  }

  /// The group it waits in.
  @inline(__always)
  var group: JobGroup { unsafe reference._withUnsafeGuaranteedRef { $0.group } }

  /// Higher runs first; a job without a priority counts as medium.
  var priority: UInt8 {
    let priority = job.priority.rawValue
    return priority == 0 ? TaskPriority.medium.rawValue : priority
  }

  /// Runs the job to its next suspension. Calls out.
  @inline(__always)
  func run() {
    unsafe reference._withUnsafeGuaranteedRef { $0.run(job) }
    if isRetained { unsafe reference.release() }
  }
}

/// Jobs by priority, in order of enqueue within one. No allocation once it has grown.
struct JobQueue {
  /// Highest priority first. A program uses a handful of priorities, so they are looked through.
  private var levels: ContiguousArray<Level> = []
  private(set) var count = 0

  private struct Level {
    let priority: UInt8
    var jobs = JobRing()
  }

  @inline(__always)
  var isEmpty: Bool { count == 0 }

  mutating func push(_ job: QueuedJob) {
    let index = makeLevel(job.priority)
    levels[index].jobs.push(job)
    count += 1
  }

  /// Takes the oldest job of the highest priority.
  mutating func pop() -> QueuedJob? {
    for index in levels.indices {
      guard let job = levels[index].jobs.pop() else { continue }
      count -= 1
      return job
    }
    return nil
  }

  /// Has a script choose the order of the jobs of each priority.
  mutating func permute(by wait: Wait) {
    guard case .scripted(let scripted) = wait, scripted.script.isSeeded else { return }
    for index in levels.indices { levels[index].jobs.permute(by: wait) }
  }

  /// The highest priority that a job waits with; -1 for none.
  var topPriority: Int {
    levels.first { !$0.jobs.isEmpty }.map { Int($0.priority) } ?? -1
  }

  private mutating func makeLevel(_ priority: UInt8) -> Int {
    let place = levels.firstIndex { $0.priority <= priority } ?? levels.count
    if place == levels.count || levels[place].priority != priority {
      levels.insert(Level(priority: priority), at: place)
    }
    return place
  }
}

/// A queue in a circle: first in, first out, and no allocation once it has grown.
private struct JobRing {
  /// As many places as a power of two.
  private var places: ContiguousArray<QueuedJob?> = []
  private var head = 0
  private var count = 0

  var isEmpty: Bool { count == 0 }

  mutating func push(_ job: QueuedJob) {
    if count == places.count { resize(max(16, count * 2)) }
    places[(head &+ count) & (places.count &- 1)] = job
    count &+= 1
  }

  mutating func pop() -> QueuedJob? {
    guard count > 0 else { return nil }
    let job = places[head].take()
    head = (head &+ 1) & (places.count &- 1)
    count &-= 1
    if places.count > ArrayMemory.mostKept, count < places.count / 4 { resize(places.count / 2) }
    return job
  }

  mutating func permute(by wait: Wait) {
    resize(places.count)
    wait.permute(&places[..<count], "job") { _, _ in true }
  }

  private mutating func resize(_ newCount: Int) {
    let old = places
    places = ContiguousArray(repeating: nil, count: newCount)
    for index in 0..<count { places[index] = old[(head + index) & (old.count - 1)] }
    head = 0
  }
}
