internal import CLinux
internal import CRondoInspect
internal import Rondo
import Synchronization

/// Keeps the record of one loop: its callouts under way, why it woke, and, while it is measured, what takes how long.
///
/// The loop itself writes down which callouts are under way; the rest is here. The functions are called on the loop's
/// thread, in the turn, but for those that say otherwise. They take no lock.
@safe final class Recorder: LoopDelegate, @unchecked Sendable {
  /// *constant* What other threads, debuggers and core files read. It has the listeners: turns are kept once a caller
  /// has asked for them, callouts are timed while the loop is measured.
  let record: UnsafeMutablePointer<rondo_loop_record>
  /// *atomic* The loop's statistics by kind and place, once it was measured; they stay.
  let measures = unsafe Atomic<OpaquePointer?>(nil)
  /// The names that are measured; empty for all.
  private let filter = Guarded<[String]>([])
  /// *loop thread* The number of the newest turn that is kept, and its place.
  @safe @exclusivity(unchecked) private var turn = UInt64.max
  @safe @exclusivity(unchecked) private var newest: UnsafeMutablePointer<rondo_turn>?
  /// *loop thread* When the last sleep began.
  @safe @exclusivity(unchecked) private var asleepSince: Int64 = 0
  /// *loop thread* When the last sleep ended.
  @safe @exclusivity(unchecked) private var awakeSince: Int64 = 0
  /// *loop thread* When the callout under way began, if it is timed, and the loop's phase then.
  @safe @exclusivity(unchecked) private var began: Int64 = 0
  @safe @exclusivity(unchecked) private var phase = UInt64.max
  /// *loop thread* When it ended; 0 if it has not, or the loop has slept since.
  @safe @exclusivity(unchecked) private var lastEnd: Int64 = 0
  /// *loop thread* What it reads the time by.
  @safe @exclusivity(unchecked) private var ticks = rondo_ticks()
  /// *atomic* Sleeps that ended for nothing that concerned the loop, since turns are kept.
  let needlessWakeups = Atomic<UInt64>(0)

  /// *constant* What calls the watcher while it is parked.
  private let alarm = StallAlarm()
  /// *constant* The loop, if it is in virtual time: its clock is then the only one.
  private unowned let virtual: Loop?
  /// *constant* The same, without a look at the loop.
  private let isVirtual: Bool

  /// What the list of all records in CRondoInspect is changed under.
  private static let list = PerProcess(())

  init(of loop: Loop) {
    isVirtual = loop.isVirtual
    virtual = loop.isVirtual ? loop : nil
    guard let record = unsafe Self.list.withLock({ _ in unsafe rondo_record_make() }) else {
      fatalError("There is no memory for the record of a loop.")
    }
    unsafe self.record = record
  }

  /// Notes whose record it is, for a reader that has nothing but the memory.
  func describe(_ loop: Loop) {
    Self.list.withLock { _ in unsafe rondo_record_name(record, loop.name, loop.threadNumber) }
  }

  deinit {
    Self.list.withLock { _ in unsafe rondo_record_free(record) }
    if let measures = unsafe measures.load(ordering: .acquiring) { unsafe rondo_measures_free(measures) }
  }

  var recordAddress: UInt { unsafe UInt(bitPattern: record) }

  /// Turns a listener on or off. Any thread.
  ///
  /// - Returns: Whether that is new.
  @discardableResult
  func setListening(_ listener: rondo_listener, _ isOn: Bool) -> Bool {
    unsafe rondo_record_set_listener(record, listener.rawValue, isOn ? 1 : 0) != 0
  }

  /// Any thread.
  @inline(__always)
  private var listeners: UInt32 { unsafe rondo_record_listeners(record) }

  /// Any thread.
  @inline(__always)
  func isHeard(by listener: rondo_listener) -> Bool { listeners & listener.rawValue != 0 }

  /// The loop's clock, in nanoseconds, read on its thread.
  @inline(__always)
  private var ownNow: Int64 { isVirtual ? now : unsafe rondo_ticks_now(&ticks) }

  /// The loop's clock, in nanoseconds. Any thread.
  @inline(never)
  private var now: Int64 { virtual?.clockNanoseconds ?? rondo_monotonic_now() }

  // MARK: - What the loop tells

  func calloutBegins(_ callout: borrowing LoopCallout) {
    let listeners = self.listeners
    if listeners & (rondo_listener_trace.rawValue | rondo_listener_parked.rawValue) != 0 { tellOthers(of: callout) }
    var isCause = false
    if listeners & rondo_listener_turns.rawValue != 0 { isCause = addToTurn(callout) }
    if listeners & rondo_listener_measures.rawValue != 0 { beginMeasuring(callout, isCause: isCause) }
  }

  @inline(never)
  private func tellOthers(of callout: borrowing LoopCallout) {
    if isHeard(by: rondo_listener_trace) { traceBeginning(of: callout) }
    if isHeard(by: rondo_listener_parked), !alarm.isArmed { armAlarm() }
  }

  @inline(never)
  private func tellOthersOfEnd() {
    if isHeard(by: rondo_listener_end) { unsafe rondo_record_note_end(record) }
    if isHeard(by: rondo_listener_trace) { trace(rondo_callout_ends) }
  }

  func calloutEnded() {
    let listeners = self.listeners
    if listeners & (rondo_listener_trace.rawValue | rondo_listener_end.rawValue) != 0 { tellOthersOfEnd() }
    guard listeners & rondo_listener_measures.rawValue != 0 else { return }
    let time = ownNow
    (began, lastEnd) = (0, time)
    unsafe rondo_measures_end(measures.load(ordering: .relaxed), rondo_record_depth(record), time)
  }

  /// While it is measured, what the loop itself does between its last callout and its sleep counts as asleep: that
  /// saves a reading of the clock.
  func sleepBegins() {
    if isHeard(by: rondo_listener_trace) { trace(rondo_sleep_begins) }
    alarm.disarm()
    asleepSince = lastEnd > 0 ? lastEnd : ownNow
  }

  func sleepEnded(by reason: WakeReason?, turn number: UInt64) {
    let listeners = self.listeners
    guard let reason else {
      needlessWakeups.store(needlessWakeups.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
      if listeners & rondo_listener_trace.rawValue != 0 { trace(rondo_sleep_ends) }
      return
    }
    if listeners & rondo_listener_parked.rawValue != 0 { armAlarm() }
    if listeners & rondo_listener_trace.rawValue != 0 { trace(rondo_sleep_ends, reason: reason.rawValue) }
    guard listeners & (rondo_listener_turns.rawValue | rondo_listener_measures.rawValue) != 0 else { return }
    awakeSince = ownNow
    lastEnd = 0
    turn = number
    unsafe newest = rondo_turn_begin(
      record, number, awakeSince, asleepSince > 0 ? max(0, awakeSince - asleepSince) : 0, reason.rawValue)
  }

  /// - Returns: Whether it is the first callout after a sleep.
  @inline(__always)
  private func addToTurn(_ callout: borrowing LoopCallout) -> Bool {
    if turn != callout.turn {
      turn = callout.turn
      unsafe newest = rondo_turn_begin(record, turn, 0, -1, 255)
    }
    guard let newest else { return false }
    // Observers hear of every turn, and are the cause of none.
    if unsafe newest.pointee.kind == 255 {
      switch callout.kind {
      case .observer: break
      default:
        unsafe rondo_turn_set_cause(newest, callout.code, callout.label.word, UInt64(callout.item), callout.detail)
      }
    }
    return unsafe rondo_turn_add_callout(newest) == 1 && newest.pointee.asleep >= 0
  }

  @inline(never)
  private func armAlarm() {
    if !alarm.arm(at: rondo_monotonic_now()) { leavePark() }
  }

  /// The loop is awake, and has to be looked at. Any thread.
  private func leavePark() {
    if setListening(rondo_listener_parked, false) { Watcher.present?.unpark() }
  }

  /// Has the watcher called when the loop stays awake for so many nanoseconds. *watcher's thread*
  func park(delay: Int64) {
    alarm.park(delay: delay, isFirst: !isHeard(by: rondo_listener_parked)) { [weak self] in self?.leavePark() }
    setListening(rondo_listener_parked, true)
  }

  /// A monitor that may have parked here has ended. *watcher's thread*
  func unpark() { leavePark() }

  // MARK: - Questions

  /// *atomic* The loop was asked for its inventory, and has not answered.
  private let isAsked = Atomic<Bool>(false)

  /// - Returns: False if the loop owes an answer already.
  func beginInquiry() -> Bool { !isAsked.exchange(true, ordering: .acquiringAndReleasing) }

  func endInquiry() { isAsked.store(false, ordering: .releasing) }

  // MARK: - What waits, and how long

  func blockPosted(_ call: @escaping () -> Void) -> (() -> Void)? {
    let isTraced = isHeard(by: rondo_listener_trace)
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
    var isCause = false
    if let newest, unsafe newest.pointee.callouts == 1 {
      unsafe rondo_turn_relabel(newest, label.word)
      isCause = unsafe newest.pointee.asleep >= 0
    }
    if isHeard(by: rondo_listener_trace) { trace(rondo_flow_ends, label: label, flow: flow) }
    guard isHeard(by: rondo_listener_measures), let measures = unsafe measures.load(ordering: .acquiring)
    else { return }
    // Its callout has just begun, but measuring may have begun since.
    if began == 0 { began = ownNow }
    unsafe measure(CalloutKind.block.rawValue, label, due: due, measures)
    if isCause { unsafe rondo_measures_add(measures, depth, 1, 0) }
  }

  func sourceSignalled(_ ticket: UInt64, isOwn: Bool) {
    let listeners = self.listeners
    if listeners & rondo_listener_measures.rawValue != 0 { noteReady(ticket, at: isOwn ? ownNow : now) }
    if listeners & rondo_listener_trace.rawValue != 0 { trace(rondo_posted, flow: Flows.signal(ticket)) }
  }

  func jobEnqueued(_ job: UInt) {
    if isHeard(by: rondo_listener_measures) { noteReady(UInt64(job), at: now) }
    if isHeard(by: rondo_listener_trace) { trace(rondo_posted, flow: Flows.job(job)) }
  }

  @inline(__always)
  private func noteReady(_ key: UInt64, at time: Int64) {
    unsafe rondo_measures_note(measures.load(ordering: .acquiring), key, time)
  }

  /// A callout that follows another one at once begins when that one has ended.
  ///
  /// - Parameter isCause: It is the first callout after a sleep.
  @inline(__always)
  private func beginMeasuring(_ callout: borrowing LoopCallout, isCause: Bool) {
    began = callout.phase == phase && lastEnd > 0 ? lastEnd : ownNow
    phase = callout.phase
    lastEnd = 0
    guard let measures = unsafe measures.load(ordering: .acquiring) else { return }
    let due: Int64 =
      switch callout.kind {
      case .timer, .timeout: callout.due
      case .source: unsafe rondo_measures_noted(measures, UInt64(bitPattern: callout.detail))
      case .job: unsafe rondo_measures_noted(measures, UInt64(callout.item))
      case .descriptor, .mainQueue: awakeSince
      case .observer, .block: 0
      }
    // A block says itself which one it is.
    if case .block = callout.kind { return unsafe rondo_measures_skip(measures, depth) }
    unsafe measure(callout.code, callout.label, due: due, measures)
    let missed = callout.missed
    if isCause || missed > 0 { unsafe rondo_measures_add(measures, depth, isCause ? 1 : 0, missed) }
  }

  /// - Parameter due: 0 if it is not known.
  @inline(__always)
  private func measure(_ kind: UInt8, _ label: Label, due: Int64, _ measures: OpaquePointer) {
    if unsafe rondo_measures_begin(measures, depth, label.word, UInt64(kind), began, due) == 0 { return }
    unsafe choose(label, measures)
    _ = unsafe rondo_measures_begin(measures, depth, label.word, UInt64(kind), began, due)
  }

  /// Of the callout that began last.
  @inline(__always)
  private var depth: UInt32 { unsafe rondo_record_depth(record) &- 1 }

  /// A place is met for the first time since the names that are measured were set.
  @inline(never)
  private func choose(_ label: Label, _ measures: OpaquePointer) {
    let names = filter.withLock { $0 }
    let name = Names.text(of: label, isBrief: true)
    let isWanted = names.isEmpty || names.contains { name.has($0) }
    unsafe rondo_measures_choose(measures, depth, isWanted ? 1 : 0)
  }

  /// Begins to measure, or ends it; what was measured stays. Any thread.
  ///
  /// - Parameter names: Parts of the names of what is measured; empty for all.
  func measure(_ isOn: Bool, names: [String] = []) {
    guard isOn else {
      setListening(rondo_listener_measures, false)
      return
    }
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
    setListening(rondo_listener_measures, true)
  }

  // MARK: - Traces

  /// *atomic* The loop's place in the trace.
  private let traceNumber = Atomic<UInt8>(0)

  /// Any thread.
  func setTracing(_ isOn: Bool, as number: UInt8) {
    traceNumber.store(number, ordering: .relaxed)
    setListening(rondo_listener_trace, isOn)
  }

  private func traceBeginning(of callout: borrowing LoopCallout) {
    let flow =
      switch callout.kind {
      case .source: Flows.signal(UInt64(bitPattern: callout.detail))
      case .job: Flows.job(callout.item)
      default: UInt64(0)
      }
    trace(rondo_callout_begins, label: callout.label, flow: flow, kind: callout.code, turn: callout.turn)
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
