internal import CLinux
internal import CRondoInspect
public import Rondo

/// Reports threads that take too much of a processor for too long.
///
/// It looks at each loop twenty times in the given time, and notes the callout under way. Every member may be used from
/// any thread.
public final class ProcessorMonitor: Sendable {
  private let rounds: ProcessorRounds
  private let watcher: Watcher

  /// The threads that a monitor watches.
  public enum Scope: Sendable, Hashable {
    /// The threads of the loops that are given to ``ProcessorMonitor/watch(_:)``.
    case loops
    /// Every thread of the process, but the watcher's own.
    ///
    /// Each costs four system calls in the monitor's time. A thread that lives for less than twice that time may be
    /// missed. Of the threads without a watched loop, the eight that took the most are reported. SIGURG stops a running
    /// thread to read its stack, and may end a wait of the thread with EINTR. See signal(7).
    case allThreads
  }

  /// Creates a monitor that watches no loop yet.
  ///
  /// - Parameters:
  ///   - share: The share of one processor that a thread may take, more than 0 and at most 1.
  ///   - time: The time over which the share is measured, at least 100 ms.
  ///   - scope: The threads to watch. With `.allThreads` the monitor begins now.
  ///   - report: Called on the watcher's thread, at most once in `time` for each thread. The default writes to stderr.
  /// - Throws: The reason why the watcher's thread cannot start.
  public init(
    above share: Double = 0.9, for time: Duration = .seconds(10), scope: Scope = .loops,
    report: @escaping @Sendable (ProcessorUse) -> Void = ProcessorMonitor.write
  ) throws(LoopThread.StartError) {
    require(share > 0 && share <= 1, "A share of a processor is more than 0 and at most 1, not \(share).")
    require(time >= .milliseconds(100), "A processor monitor needs at least 100 ms, not \(time).")
    watcher = try Watcher.shared()
    rounds = ProcessorRounds(share: share, time: time.nanoseconds, scope: scope, report: report)
    guard scope == .allThreads else { return }
    let rounds = rounds
    watcher.perform { rounds.start() }
  }

  deinit {
    let rounds = rounds
    watcher.perform { rounds.end() }
  }

  /// Writes a report to stderr: first the line, then the stack.
  @Sendable public static func write(_ use: ProcessorUse) {
    ErrorOutput.write(use.description + "\n")
    for line in use.lines { ErrorOutput.write(line + "\n") }
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

/// A report of a thread that takes too much of a processor.
public struct ProcessorUse: Sendable, CustomStringConvertible {
  /// The name of the loop; empty for a thread without a watched loop.
  public let loop: String
  /// The kernel's number of the thread.
  public let thread: Int32
  /// The kernel's name of the thread; empty if the thread has ended.
  public let threadName: String
  /// The share of one processor; 1 is all of it.
  public let share: Double
  /// The processor time of the thread in the interval.
  public let time: Duration
  /// The callouts found under way and how often, the most frequent first.
  ///
  /// The name "none" is the loop's own work. It is empty for a thread without a watched loop.
  public let samples: [(callout: String, count: Int)]
  /// The stack of the thread at the report, the innermost function first.
  ///
  /// The first access looks up symbols, which takes some 0.2 s. The stack is empty if the thread has ended or is stopped,
  /// and if it runs and blocks SIGURG, as Dispatch's threads do.
  public var stack: [StackFrame] { trace.frames }
  let trace: StackTrace

  /// The report in one line.
  public var description: String {
    let found = samples.prefix(5).map { "\($0.count) in \($0.callout)" }.joined(separator: ", ")
    return "rondo: " + (loop.isEmpty ? "thread \(thread) (\(threadName))" : "loop \(loop) (thread \(thread))")
      + " took \(Int((share * 100).rounded())) % of a processor for \(time.nanoseconds / 1_000_000) ms"
      + (found.isEmpty ? "" : "; of the looks at it, \(found)")
  }

  /// The line of `description`, and the stack below it.
  public var report: String {
    ([description] + lines).joined(separator: "\n")
  }

  /// The stack, a line for each function.
  var lines: [String] { stack.map { "    \($0)" } }
}

/// A monitor's looks at its threads. *watcher's thread* once it is made.
@safe final class ProcessorRounds: @unchecked Sendable {
  private let share: Double
  private let time: Int64
  private let scope: ProcessorMonitor.Scope
  private let report: @Sendable (ProcessorUse) -> Void
  private var watched: [Watched] = []
  /// The threads without a watched loop, by number.
  private var threads: [Int32: Span] = [:]
  /// When they were looked at.
  private var lastLook: Int64 = 0
  private var timer: Loop.Timer?

  /// When a span began, and how long the thread had been on a processor then.
  private struct Span {
    var start: Int64
    var used: Int64
  }

  private struct Watched {
    weak var loop: Loop?
    let recorder: Recorder
    var span: Span
    var samples: [String: Int] = [:]
  }

  private static let looks: Int64 = 20
  /// Of the threads without a watched loop. The sample of one may take a fifth of a second.
  private static let mostReports = 8

  init(
    share: Double, time: Int64, scope: ProcessorMonitor.Scope, report: @escaping @Sendable (ProcessorUse) -> Void
  ) {
    self.share = share
    self.time = time
    self.scope = scope
    self.report = report
  }

  func add(_ loop: Loop, _ recorder: Recorder) {
    guard !watched.contains(where: { $0.loop === loop }) else { return }
    let used = ThreadState.processorTime(of: loop.threadNumber) ?? 0
    watched.append(Watched(loop: loop, recorder: recorder, span: Span(start: rondo_monotonic_now(), used: used)))
    start()
  }

  func start() {
    guard timer == nil else { return }
    let pause = Duration.nanoseconds(time / Self.looks)
    let timer = Loop.Timer(every: pause, tolerance: pause / 4) { [weak self] _ in self?.look() }
    timer.name = "processor monitor"
    self.timer = timer
    if scope == .allThreads { _ = lookAtThreads(rondo_monotonic_now()) }
    Loop.current.add(timer)
  }

  func end() {
    timer?.invalidate()
    timer = nil
    watched = []
    threads = [:]
  }

  private func look() {
    let now = rondo_monotonic_now()
    watched.removeAll { $0.loop == nil }
    var found: [ProcessorUse] = []
    for index in watched.indices {
      guard let loop = watched[index].loop else { continue }
      if loop.heartbeat.phase != .waiting {
        let callout = CalloutsUnderWay.read(watched[index].recorder).callouts.last.map { "\($0)" } ?? "none"
        watched[index].samples[callout, default: 0] += 1
      }
      if now - watched[index].span.start >= time { found += judge(loop, index, now) }
    }
    if scope == .allThreads, now - lastLook >= time { found += lookAtThreads(now) }
    // Last: what is called may run the watcher's loop, and so change what is watched.
    for use in found { report(use) }
  }

  private func judge(_ loop: Loop, _ index: Int, _ now: Int64) -> [ProcessorUse] {
    let (span, samples) = (watched[index].span, watched[index].samples)
    watched[index].span.start = now
    watched[index].samples = [:]
    guard let used = ThreadState.processorTime(of: loop.threadNumber) else { return [] }
    watched[index].span.used = used
    let taken = Double(used - span.used) / Double(now - span.start)
    guard taken > share else { return [] }
    let sorted = samples.sorted { ($0.value, $1.key) > ($1.value, $0.key) }.map { ($0.key, $0.value) }
    return [use(loop.threadNumber, of: loop.name, taken, now - span.start, sorted)]
  }

  /// Begins the next span of every thread without a watched loop.
  private func lookAtThreads(_ now: Int64) -> [ProcessorUse] {
    let before = threads
    lastLook = now
    threads = [:]
    let others = Set(watched.compactMap { $0.loop?.threadNumber } + [ThreadState.ownNumber])
    var busy: [(thread: Int32, taken: Double, time: Int64)] = []
    for thread in ThreadState.all() where !others.contains(thread) {
      // It may have ended.
      guard let used = ThreadState.processorTime(of: thread) else { continue }
      threads[thread] = Span(start: now, used: used)
      // A number may be that of an earlier thread, which had used more or less. The share is never too high then.
      guard let span = before[thread], now > span.start else { continue }
      let taken = Double(used - span.used) / Double(now - span.start)
      if taken > share { busy.append((thread, taken, now - span.start)) }
    }
    return busy.sorted { $0.taken > $1.taken }.prefix(Self.mostReports).map {
      use($0.thread, of: "", $0.taken, $0.time)
    }
  }

  private func use(
    _ thread: Int32, of loop: String, _ share: Double, _ time: Int64, _ samples: [(String, Int)] = []
  ) -> ProcessorUse {
    ProcessorUse(
      loop: loop, thread: thread, threadName: ThreadState.name(of: thread) ?? "", share: share,
      time: .nanoseconds(time), samples: samples, trace: ThreadSampler.sample(of: thread).stack)
  }
}
