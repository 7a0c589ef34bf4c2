internal import CInspect
internal import CLinux
internal import Rondo
import Synchronization

/// Keeps the record of one loop: its callouts under way, why it woke, and, while somebody measures, what takes how long.
///
/// Its functions are called on the loop's thread, in the turn, but for those that say otherwise. They take no lock.
@safe final class Recorder: LoopProbe, @unchecked Sendable {
  /// *constant* What other threads, debuggers and core files read.
  let record: OpaquePointer
  /// *atomic* The loop's statistics by kind and place, once somebody has measured; they stay.
  let measures = unsafe Atomic<OpaquePointer?>(nil)
  /// *atomic* Whether callouts are timed.
  let isMeasuring = Atomic<Bool>(false)
  /// *atomic* Whether turns are kept, with their times. A stall monitor has no use for them.
  let keepsTurns = Atomic<Bool>(false)
  /// *atomic* Somebody who watches is asleep because the loop was, and wants to be called.
  let isParked = Atomic<Bool>(false)
  /// The names that are measured; empty for all.
  private let filter = Guarded<[String]>([])
  /// *loop thread* The newest entry of the ring.
  @safe @exclusivity(unchecked) private var turn = rondo_turn()
  /// When the last sleep began.
  @safe @exclusivity(unchecked) private var asleepSince: Int64 = 0
  /// When the last sleep ended.
  @safe @exclusivity(unchecked) private var awakeSince: Int64 = 0
  /// *atomic* Sleeps that ended for nothing that concerned the loop.
  let needlessWakeups = Atomic<UInt64>(0)

  /// *constant* The loop, if it is in virtual time: its clock is then the only one.
  private unowned let virtual: Loop?

  init(of loop: Loop) {
    virtual = loop.isVirtual ? loop : nil
    guard let record = unsafe rondo_record_make() else { fatalError("There is no memory for the record of a loop.") }
    unsafe self.record = record
    turn.kind = 255
  }

  /// Notes whose record it is, for whoever has nothing but the memory.
  func describe(_ loop: Loop) {
    unsafe rondo_record_name(record, loop.name, loop.threadNumber)
  }

  deinit {
    unsafe rondo_record_free(record)
    if let measures = unsafe measures.load(ordering: .acquiring) { unsafe rondo_measures_free(measures) }
  }

  /// The loop's clock, in nanoseconds.
  @inline(__always)
  private var now: Int64 { virtual?.clockNanoseconds ?? rondo_monotonic_now() }

  // MARK: - What the loop tells

  func calloutBegins(_ callout: borrowing ProbedCallout) {
    if keepsTurns.load(ordering: .relaxed) { note(callout) }
    var entry = rondo_callout(
      label: callout.label.word, item: UInt64(callout.item), detail: callout.detail, began: 0,
      kind: UInt64(callout.kind.rawValue))
    if isMeasuring.load(ordering: .relaxed) {
      entry.began = now
      // A block says itself which one it is.
      if callout.kind != .block { measure(callout, at: entry.began, depth: unsafe rondo_record_depth(record)) }
    }
    unsafe rondo_record_begin(record, &entry)
    if isTracing.load(ordering: .relaxed) { traceBeginning(of: callout) }
    if isParked.load(ordering: .relaxed) { leavePark() }
  }

  func calloutEnded() {
    if isTracing.load(ordering: .relaxed) { trace(rondo_callout_ends) }
    let ended = unsafe rondo_record_end(record)
    guard ended.began > 0, isMeasuring.load(ordering: .relaxed) else { return }
    unsafe rondo_measures_end(
      measures.load(ordering: .relaxed), rondo_record_depth(record), now - ended.began)
  }

  func sleepBegins(until date: Int64) {
    if keepsTurns.load(ordering: .relaxed) { asleepSince = now }
    if isTracing.load(ordering: .relaxed) { trace(rondo_sleep_begins) }
  }

  func sleepEnded(by reason: WakeReason?, turn number: UInt64) {
    guard let reason else {
      needlessWakeups.store(needlessWakeups.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
      if isTracing.load(ordering: .relaxed) { trace(rondo_sleep_ends) }
      return
    }
    if isParked.load(ordering: .relaxed) { leavePark() }
    if isTracing.load(ordering: .relaxed) { trace(rondo_sleep_ends, reason: reason.rawValue) }
    guard keepsTurns.load(ordering: .relaxed) else { return }
    finishTurn()
    awakeSince = now
    turn = rondo_turn(
      number: number, woke: awakeSince, asleep: asleepSince > 0 ? awakeSince - asleepSince : 0, label: 0, item: 0,
      detail: 0, callouts: 0, reason: reason.rawValue, kind: 255)
    unsafe rondo_record_turn(record, &turn)
  }

  /// Counts the callout to its turn.
  private func note(_ callout: borrowing ProbedCallout) {
    if turn.number != callout.turn {
      finishTurn()
      turn = rondo_turn(
        number: callout.turn, woke: 0, asleep: -1, label: 0, item: 0, detail: 0, callouts: 0, reason: 255, kind: 255)
      unsafe rondo_record_turn(record, &turn)
    }
    turn.callouts += 1
    // Observers hear of every turn, and are the cause of none.
    guard turn.kind == 255, callout.kind != .observer else { return }
    turn.kind = callout.kind.rawValue
    turn.label = callout.label.word
    turn.item = UInt64(callout.item)
    turn.detail = callout.kind == .timer ? callout.interval : callout.detail
    unsafe rondo_record_amend(record, &turn)
  }

  private func finishTurn() {
    if turn.callouts > 1 { unsafe rondo_record_amend(record, &turn) }
  }

  @inline(never)
  private func leavePark() {
    if isParked.exchange(false, ordering: .acquiringAndReleasing) { Watcher.present?.unpark() }
  }

  // MARK: - Questions

  /// *atomic* The loop was asked for its inventory, and has not answered.
  private let isAsked = Atomic<Bool>(false)

  /// - Returns: False if the loop owes an answer already.
  func beginInquiry() -> Bool { !isAsked.exchange(true, ordering: .acquiringAndReleasing) }

  func endInquiry() { isAsked.store(false, ordering: .releasing) }

  // MARK: - What waits, and how long

  func blockPosted(_ call: @escaping () -> Void) -> (() -> Void)? {
    let isTraced = isTracing.load(ordering: .relaxed)
    guard isTraced || isMeasuring.load(ordering: .relaxed) else { return nil }
    let (label, due) = (Label(codeOf: call), now)
    let flow = isTraced ? Flows.next() : 0
    if isTraced { trace(rondo_posted, label: label, flow: flow) }
    return { [unowned self] in
      blockBegins(label, postedAt: due, flow)
      call()
    }
  }

  /// The block that was posted then begins, in a callout that was told of already.
  private func blockBegins(_ label: Label, postedAt due: Int64, _ flow: UInt64) {
    unsafe rondo_record_relabel(record, label.word)
    if turn.kind == CalloutKind.block.rawValue, turn.callouts == 1 {
      turn.label = label.word
      unsafe rondo_record_amend(record, &turn)
    }
    if isTracing.load(ordering: .relaxed) { trace(rondo_flow_ends, label: label, flow: flow) }
    guard isMeasuring.load(ordering: .relaxed) else { return }
    var callout = ProbedCallout(kind: .block, label: label, item: 0)
    callout.due = due
    callout.turn = turn.number
    measure(callout, at: now, depth: unsafe rondo_record_depth(record) &- 1)
  }

  func sourceSignalled(_ ticket: UInt64) {
    noteReady(ticket)
    if isTracing.load(ordering: .relaxed) { trace(rondo_posted, flow: Flows.signal(ticket)) }
  }

  func jobEnqueued(_ job: UInt) {
    noteReady(UInt64(job))
    if isTracing.load(ordering: .relaxed) { trace(rondo_posted, flow: Flows.job(job)) }
  }

  private func noteReady(_ key: UInt64) {
    guard isMeasuring.load(ordering: .relaxed) else { return }
    unsafe rondo_measures_note(measures.load(ordering: .acquiring), key, now)
  }

  @inline(never)
  private func measure(_ callout: borrowing ProbedCallout, at time: Int64, depth: UInt32) {
    guard let measures = unsafe measures.load(ordering: .acquiring) else { return }
    let due: Int64 =
      switch callout.kind {
      case .timer, .timeout, .block: callout.due
      case .source: unsafe rondo_measures_noted(measures, UInt64(bitPattern: callout.detail))
      case .job: unsafe rondo_measures_noted(measures, UInt64(callout.item))
      case .descriptor, .mainQueue: awakeSince
      case .observer: 0
      }
    let isCause = turn.callouts == 1 && turn.asleep >= 0
    for _ in 0..<2 {
      let isNew = unsafe rondo_measures_begin(
        measures, depth, callout.label.word, UInt64(callout.kind.rawValue), due > 0 ? max(0, time - due) : -1,
        callout.missed, isCause ? 1 : 0)
      if isNew == 0 { return }
      unsafe choose(callout.label, measures, depth)
    }
  }

  /// A place is met for the first time since the names that are measured were set.
  private func choose(_ label: Label, _ measures: OpaquePointer, _ depth: UInt32) {
    let names = filter.withLock { $0 }
    let name = Names.text(of: label, isBrief: true)
    let isWanted = names.isEmpty || names.contains { name.contains($0) }
    unsafe rondo_measures_choose(measures, depth, isWanted ? 1 : 0)
  }

  /// Begins to measure, or ends it; what was measured stays. Any thread.
  ///
  /// - Parameter names: Parts of the names of what is measured; empty for all.
  func measure(_ isOn: Bool, names: [String] = []) {
    guard isOn else { return isMeasuring.store(false, ordering: .releasing) }
    filter.withLock { $0 = names }
    if let measures = unsafe measures.load(ordering: .acquiring) {
      unsafe rondo_measures_choose_anew(measures)
    } else if let made = unsafe rondo_measures_make() {
      let (isFirst, _) = unsafe measures.compareExchange(
        expected: nil, desired: made, ordering: .acquiringAndReleasing)
      if !isFirst { unsafe rondo_measures_free(made) }
    } else {
      return
    }
    isMeasuring.store(true, ordering: .releasing)
  }

  // MARK: - Traces

  /// *atomic* Whether a trace is taken.
  private let isTracing = Atomic<Bool>(false)
  /// *atomic* The loop's place in the trace.
  private let traceNumber = Atomic<UInt8>(0)

  /// Any thread.
  func setTracing(_ isOn: Bool, as number: UInt8) {
    traceNumber.store(number, ordering: .relaxed)
    isTracing.store(isOn, ordering: .releasing)
  }

  @inline(never)
  private func traceBeginning(of callout: borrowing ProbedCallout) {
    let flow =
      switch callout.kind {
      case .source: Flows.signal(UInt64(bitPattern: callout.detail))
      case .job: Flows.job(callout.item)
      default: UInt64(0)
      }
    trace(rondo_callout_begins, label: callout.label, flow: flow, kind: callout.kind.rawValue, turn: callout.turn)
  }

  /// Any thread.
  @inline(never)
  private func trace(
    _ what: rondo_event_kind, label: Label = .none, flow: UInt64 = 0, kind: UInt8 = 255, reason: UInt8 = 255,
    turn: UInt64 = 0
  ) {
    Trace.add(
      rondo_event(
        time: now, label: label.word, flow: flow, turn: turn, thread: rondo_thread_id(),
        what: UInt8(what.rawValue), kind: kind, reason: reason, loop: traceNumber.load(ordering: .relaxed)))
  }
}

/// What a post and its callout have in common in a trace.
private enum Flows {
  /// *atomic*
  private static let last = Atomic<UInt64>(0)

  static func next() -> UInt64 { last.add(1, ordering: .relaxed).newValue }
  static func signal(_ ticket: UInt64) -> UInt64 { ticket | 1 << 60 }
  static func job(_ place: UInt) -> UInt64 { UInt64(place) | 1 << 61 }
}
