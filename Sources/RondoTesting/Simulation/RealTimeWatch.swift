internal import Dispatch
internal import Rondo
internal import RondoInspect

/// Ends the process if code in virtual time keeps its thread for long in real time, and says where it is.
///
/// Such code waits for what is not simulated, or computes without an end. The time counts that the thread computes or is
/// blocked, so that a machine that is busy or suspended ends nothing.
final class RealTimeWatch: @unchecked Sendable {
  // Unchecked because of the timer, which no thread touches once it runs.

  /// How many seconds code may take. The environment variable RONDO_REAL_LIMIT has another number.
  private static let limit = SeedTrial.variable("RONDO_REAL_LIMIT").flatMap { Int64($0) } ?? 10

  private static let shared = RealTimeWatch()

  /// A thread in a scope.
  private struct Watched {
    /// The number of the one that runs at present. Any thread.
    let thread: () -> Int32
    let timeline: Timeline
    /// Whether the scope's loops are run at present. Any thread.
    let isRunning: () -> Bool
    var turns = -1
    /// The thread of the last look.
    var number: Int32 = 0
    /// The thread's time on a processor when it made its last turn.
    var start: Int64 = 0
    /// The same at the last look.
    var last: Int64 = 0
    /// For how many looks it has been blocked, and has computed next to nothing.
    var blocked: Int64 = 0
  }

  private let watched = Guarded<[Watched]>([])
  private let timer: any DispatchSourceTimer
  private static let second: Int64 = 1_000_000_000

  private init() {
    // A thread of its own, also when the pool's are all taken.
    timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "rondo-testing", qos: .userInitiated))
    timer.setEventHandler { Self.shared.look() }
    timer.schedule(deadline: .now() + 1, repeating: 1, leeway: .milliseconds(100))
    timer.resume()
  }

  /// Watches the threads of a scope while `body` runs.
  static func during<Result>(
    _ timeline: Timeline, thread: @escaping () -> Int32, isRunning: @escaping () -> Bool, _ body: () throws -> Result
  ) rethrows -> Result {
    let entry = Watched(thread: thread, timeline: timeline, isRunning: isRunning)
    shared.watched.withLock { $0.append(entry) }
    defer { shared.watched.withLock { $0.removeAll { $0.timeline === timeline } } }
    return try ThreadSampler.lookingPossible(body)
  }

  /// Every second. Ends the process for the first thread that has had its time.
  private func look() {
    let stuck = watched.withLock { watched in
      for place in watched.indices where Self.isStuck(&watched[place]) { return watched[place] as Watched? }
      return nil
    }
    guard let stuck else { return }
    let sample = ThreadSampler.sample(of: stuck.thread())
    // It has gone on meanwhile.
    guard stuck.timeline.turnCount == stuck.turns, stuck.isRunning() else { return }
    // One that sleeps again and again may be awake for this look.
    let isBlocked = stuck.blocked >= Self.limit
    let activity = isBlocked && sample.activity == .running ? "blocked again and again" : "\(sample.activity)"
    fatalError(
      """
      Code in virtual time has not come back for \(Self.limit) s of real time, at \(stuck.timeline.elapsed) of its own. The \
      thread is \(activity): \(isBlocked ? Self.adviceToBlocked : Self.adviceToRunning)\(sample.lines)
      """)
  }

  private static func isStuck(_ entry: inout Watched) -> Bool {
    let thread = entry.thread()
    let time = ThreadState.processorTime(of: thread) ?? 0
    guard entry.isRunning(), entry.timeline.turnCount == entry.turns, thread == entry.number else {
      entry.number = thread
      (entry.turns, entry.start, entry.last, entry.blocked) = (entry.timeline.turnCount, time, time, 0)
      return false
    }
    // One that sleeps again and again computes a little.
    let isBlocked = time - entry.last < second / 10 && ThreadState.isBlocked(thread)
    entry.blocked = isBlocked ? entry.blocked + 1 : 0
    entry.last = time
    return entry.blocked >= limit || time - entry.start >= limit * second
  }

  private static let adviceToBlocked = "what it waits for is not simulated. Await it, or sleep by the loop's clock."
  private static let adviceToRunning =
    "it computes, or polls without a turn of the loop. RONDO_REAL_LIMIT=60 gives it a minute."
}
