internal import CInspect
internal import CLinux
public import Rondo

/// Reports loops that take too much of a processor for too long.
///
/// It looks at each loop twenty times in the given time, and notes the callout under way. Every member may be used from
/// any thread.
public final class ProcessorMonitor: Sendable {
  private let rounds: ProcessorRounds
  private let watcher: Watcher

  /// Creates a monitor that watches no loop yet.
  ///
  /// - Parameters:
  ///   - share: The share of one processor that a loop may take, more than 0 and at most 1.
  ///   - time: The time over which the share is measured, at least 100 ms.
  ///   - report: Called on the watcher's thread, at most once in `time` for each loop. The default writes to stderr.
  /// - Throws: The reason why the watcher's thread cannot start.
  public init(
    above share: Double = 0.9, for time: Duration = .seconds(10),
    report: @escaping @Sendable (ProcessorUse) -> Void = ProcessorMonitor.write
  ) throws(LoopThread.StartError) {
    require(share > 0 && share <= 1, "A share of a processor is more than 0 and at most 1, not \(share).")
    require(time >= .milliseconds(100), "A processor monitor needs at least 100 ms, not \(time).")
    watcher = try Watcher.shared()
    rounds = ProcessorRounds(share: share, time: time.nanoseconds, report: report)
  }

  deinit {
    let rounds = rounds
    watcher.perform { rounds.end() }
  }

  /// Writes a report to stderr.
  @Sendable public static func write(_ use: ProcessorUse) {
    ErrorOutput.write("\(use)\n")
  }

  /// Begins to watch a loop, until the loop is freed.
  public func watch(_ loop: Loop) {
    let recorder = Recorders.recorder(of: loop)
    let rounds = rounds
    watcher.perform { [weak loop] in
      if let loop { rounds.add(loop, recorder) }
    }
  }
}

/// A report of a loop that takes too much of a processor.
public struct ProcessorUse: Sendable, CustomStringConvertible {
  public let loop: String
  public let thread: Int32
  /// The share of one processor; 1 is all of it.
  public let share: Double
  public let time: Duration
  /// The callouts found under way and how often, the most frequent first.
  ///
  /// The name "none" is the loop's own work.
  public let samples: [(callout: String, count: Int)]

  public var description: String {
    let found = samples.prefix(5).map { "\($0.count) in \($0.callout)" }.joined(separator: ", ")
    return "rondo: loop \(loop) (thread \(thread)) took \(Int((share * 100).rounded())) % of a processor for "
      + "\(time.nanoseconds / 1_000_000) ms; of the looks at it, \(found)"
  }
}

/// A monitor's looks at its loops. *watcher's thread* once it is made.
@safe final class ProcessorRounds: @unchecked Sendable {
  private let share: Double
  private let time: Int64
  private let report: @Sendable (ProcessorUse) -> Void
  private var watched: [Watched] = []
  private var timer: Loop.Timer?

  private struct Watched {
    weak var loop: Loop?
    let recorder: Recorder
    /// When this span began, and how long the thread had been on a processor then.
    var start: Int64
    var used: Int64
    var samples: [String: Int] = [:]
  }

  private static let looks: Int64 = 20

  init(share: Double, time: Int64, report: @escaping @Sendable (ProcessorUse) -> Void) {
    self.share = share
    self.time = time
    self.report = report
  }

  func add(_ loop: Loop, _ recorder: Recorder) {
    guard !watched.contains(where: { $0.loop === loop }) else { return }
    watched.append(
      Watched(
        loop: loop, recorder: recorder, start: rondo_monotonic_now(),
        used: ThreadState.processorTime(of: loop.threadNumber) ?? 0))
    guard timer == nil else { return }
    let pause = Duration.nanoseconds(time / Self.looks)
    let timer = Loop.Timer(every: pause, tolerance: pause / 4) { [weak self] _ in self?.look() }
    timer.name = "processor monitor"
    self.timer = timer
    Loop.current.add(timer)
  }

  func end() {
    timer?.invalidate()
    timer = nil
    watched = []
  }

  private func look() {
    let now = rondo_monotonic_now()
    watched.removeAll { $0.loop == nil }
    for index in watched.indices {
      guard let loop = watched[index].loop else { continue }
      if loop.heartbeat.phase != .waiting {
        let found = CalloutsUnderWay.read(watched[index].recorder).callouts.last.map { "\($0)" } ?? "none"
        watched[index].samples[found, default: 0] += 1
      }
      if now - watched[index].start >= time { judge(loop, index, now) }
    }
  }

  private func judge(_ loop: Loop, _ index: Int, _ now: Int64) {
    let entry = watched[index]
    watched[index].start = now
    watched[index].samples = [:]
    guard let used = ThreadState.processorTime(of: loop.threadNumber) else { return }
    watched[index].used = used
    let taken = Double(used - entry.used) / Double(now - entry.start)
    guard taken > share else { return }
    report(
      ProcessorUse(
        loop: loop.name, thread: loop.threadNumber, share: taken, time: .nanoseconds(now - entry.start),
        samples: entry.samples.sorted { ($0.value, $1.key) > ($1.value, $0.key) }.map { ($0.key, $0.value) }))
  }
}
