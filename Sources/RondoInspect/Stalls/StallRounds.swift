internal import CLinux
internal import CRondoInspect
import Rondo
import Synchronization

/// A monitor's looks at its loops. *watcher's thread* once it is made.
@safe final class StallRounds: @unchecked Sendable {
  private let limit: Int64
  private let report: @Sendable (Stall) -> Void
  private var watched: [Watched] = []
  /// What this look has found.
  private var found: [Stall] = []
  private var timer: Loop.Timer?
  /// When the next look was to be.
  private var planned: Int64 = 0
  /// When a stall was reported last.
  private var lastReport: Int64?
  private var unreported = 0
  /// Looks at nothing but loops that rest and have woken seldom, one after the other.
  private var idleLooks = 0
  private var isParked = false

  private struct Watched {
    weak var loop: Loop?
    let recorder: Recorder
    var detector: StallDetector
    /// How often the loop had slept when it was looked at last.
    var sleeps: UInt64
    /// How long the thread had waited for a processor when it was seen in its callout for the second time.
    var delay: Int64?
    /// The stall that was reported, and its beat.
    var reported: (stall: Stall, beat: UInt64)?
  }

  /// Nanoseconds.
  private static let leastPause: Int64 = 1_000_000_000
  /// Idle looks before the watcher sleeps until a loop has been awake for an eighth of the limit.
  private static let idleLimit = 1

  init(limit: Int64, report: @escaping @Sendable (Stall) -> Void) {
    self.limit = limit
    self.report = report
  }

  func add(_ loop: Loop, _ recorder: Recorder) {
    guard !watched.contains(where: { $0.loop === loop }) else { return }
    watched.append(
      Watched(loop: loop, recorder: recorder, detector: StallDetector(limit: limit), sleeps: loop.statistics.sleeps))
    if timer == nil { start() }
    unpark()
  }

  func remove(_ loop: Loop) {
    let removed = watched.filter { $0.loop === loop }
    watched.removeAll { $0.loop === loop || $0.loop == nil }
    for entry in removed { entry.recorder.unpark() }
  }

  func end() {
    timer?.invalidate()
    timer = nil
    let ended = watched
    watched = []
    for entry in ended { entry.recorder.unpark() }
  }

  private func start() {
    let timer = Loop.Timer(every: .nanoseconds(max(limit / 8, 1))) { [weak self] _ in self?.look() }
    timer.name = "stall monitor"
    self.timer = timer
    planned = rondo_monotonic_now() + limit / 8
    Loop.current.add(timer)
  }

  // MARK: - Looks

  private func look() {
    let now = rondo_monotonic_now()
    // The watcher itself could not run: the process was stopped, or the machine has too much to do. A watcher that was
    // late cannot judge.
    let wasAway = now - planned > max(limit / 2, 20_000_000)
    watched.removeAll { $0.loop == nil }
    var next = Int64.max
    var isIdle = true
    for index in watched.indices {
      if wasAway { watched[index].detector.startAgain(at: now) }
      look(at: index, now)
      if wakesOften(index) || !watched[index].detector.isResting { isIdle = false }
      next = min(next, watched[index].detector.nextLook(after: now))
    }
    idleLooks = isIdle ? idleLooks + 1 : 0
    reportFound()
    plan(next, now)
  }

  /// Calls out. What is called may run the watcher's loop, and so change what is watched.
  private func reportFound() {
    let found = found
    self.found = []
    for stall in found { report(stall) }
  }

  private func plan(_ next: Int64, _ now: Int64) {
    guard let timer else { return }
    if idleLooks >= Self.idleLimit {
      // A loop that wakes from here on arms an alarm. One that woke before it could see this is found by one more look.
      for entry in watched where idleLooks == Self.idleLimit {
        // Not before: a loop that is never idle need not tell of its sleeps.
        entry.loop?.reportSleeps()
        entry.recorder.park(delay: limit / 8)
      }
      if idleLooks > Self.idleLimit {
        isParked = true
        planned = .max
        return timer.setFireDate(after: .seconds(1 << 30))
      }
    }
    planned = min(next, now + limit / 8)
    timer.setFireDate(after: .nanoseconds(max(1, planned - rondo_monotonic_now())))
  }

  /// A loop that was idle has been awake for a while.
  func unpark() {
    idleLooks = 0
    guard isParked, let timer else { return }
    isParked = false
    // The alarm has waited for the time until the first look.
    planned = rondo_monotonic_now()
    timer.setFireDate(after: .nanoseconds(1))
  }

  /// Whether the loop has slept so often since the last look that an alarm would cost it more than the next look.
  private func wakesOften(_ index: Int) -> Bool {
    guard let loop = watched[index].loop else { return false }
    let (before, sleeps) = (watched[index].sleeps, loop.statistics.sleeps)
    watched[index].sleeps = sleeps
    return sleeps - before > WakePace.most
  }

  private func look(at index: Int, _ now: Int64) {
    guard let loop = watched[index].loop else { return }
    let heartbeat = loop.heartbeat
    let sight = StallDetector.Sight(
      callouts: unsafe rondo_record_beat(watched[index].recorder.record), phases: heartbeat.beats,
      isBusy: heartbeat.phase != .waiting && heartbeat.phase != .notRunning)
    let before = watched[index].detector.state
    switch watched[index].detector.look(sight, at: now) {
    case .none:
      if watched[index].detector.state != before {
        watched[index].delay = nil
      } else if case .busy = before, watched[index].delay == nil {
        watched[index].delay = ThreadState.processorDelay(of: loop.threadNumber)
      }
    case .limitReached(let duration): judge(loop, index, sight, heartbeat, duration, now)
    case .ended(let duration): reportEnd(index, duration)
    }
  }

  private func judge(
    _ loop: Loop, _ index: Int, _ sight: StallDetector.Sight, _ heartbeat: Loop.Heartbeat, _ duration: Int64,
    _ now: Int64
  ) {
    let thread = loop.threadNumber
    var duration = duration
    if let earlier = watched[index].delay, let delay = ThreadState.processorDelay(of: thread), delay > earlier {
      watched[index].delay = delay
      watched[index].detector.excuse(delay - earlier)
      duration -= delay - earlier
      if duration < limit { return }
    }
    if ThreadState.activity(of: thread).0 == .stopped { return watched[index].detector.startAgain(at: now) }
    if let lastReport, now - lastReport < Self.leastPause {
      unreported += 1
      return watched[index].detector.confirm()
    }
    let recorder = watched[index].recorder
    let (beat, callouts) = CalloutsUnderWay.read(recorder)
    // Its callout has ended since.
    guard beat == sight.callouts else { return }
    unsafe rondo_record_watch_end(recorder.record, beat)
    let sample = ThreadSampler.sample(of: thread)
    // The stack of something else says nothing of this.
    let isStill = unsafe rondo_record_beat(recorder.record) == beat
    let stall = Stall(
      loop: loop.name, thread: thread, threadName: ThreadState.name(of: thread) ?? "", phase: heartbeat.phase,
      depth: heartbeat.depth, callouts: callouts, duration: .nanoseconds(duration), isOver: false,
      activity: sample.activity, trace: isStill ? sample.stack : StackTrace([]), unreported: unreported)
    watched[index].detector.confirm()
    watched[index].reported = (stall, beat)
    unreported = 0
    lastReport = now
    found.append(stall)
  }

  private func reportEnd(_ index: Int, _ duration: Int64) {
    guard let (stall, beat) = watched[index].reported else { return }
    watched[index].reported = nil
    let ended = unsafe rondo_record_ended(watched[index].recorder.record, beat)
    // The record knows better than the look after it.
    let late = ended > 0 ? max(0, rondo_monotonic_now() - ended) : 0
    found.append(
      Stall(
        loop: stall.loop, thread: stall.thread, threadName: stall.threadName, phase: stall.phase, depth: stall.depth,
        callouts: stall.callouts, duration: max(stall.duration, .nanoseconds(duration - late)), isOver: true,
        activity: stall.activity, trace: StackTrace([]), unreported: 0))
  }
}

/// What a record says of the callouts under way.
enum CalloutsUnderWay {
  static func read(_ recorder: Recorder) -> (beat: UInt64, callouts: [Stall.Callout]) {
    var beat: UInt64 = 0
    let entries = unsafe [rondo_callout](unsafeUninitializedCapacity: rondo_callout_depth) { buffer, count in
      count = unsafe Int(max(0, rondo_record_callouts(recorder.record, buffer.baseAddress!, &beat)))
    }
    return (
      beat,
      entries.map { entry in
        let kind = Names.text(ofKind: entry.kind)
        return Stall.Callout(
          kind: kind, label: Label(word: entry.label),
          descriptor: kind == "descriptor" ? CInt(truncatingIfNeeded: entry.detail) : nil)
      }
    )
  }
}
