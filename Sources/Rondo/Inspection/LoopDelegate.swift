internal import CLinux
import Synchronization

/// What a product above does with the events of a loop.
///
/// The loop itself writes into the delegate's record which callouts are under way. It tells the delegate of what the
/// record's listeners ask for. Each function is called on the loop's thread, in the middle of a turn, unless it says
/// otherwise. None may call out.
package protocol LoopDelegate: AnyObject, Sendable {
  /// *constant* A `rondo_loop_record`. The delegate frees it, no earlier than when it dies.
  var recordAddress: UInt { get }

  /// A callout is about to begin, and is in the record.
  func calloutBegins(_ callout: borrowing LoopCallout)

  /// The callout that began last, and had not ended, has returned. The record still has it, below its depth.
  func calloutEnded()

  /// The loop is about to sleep.
  func sleepBegins()

  /// A sleep is over.
  ///
  /// - Parameters:
  ///   - reason: Nil if the loop sleeps on, because nothing that concerns it has come.
  ///   - turn: The number of the turn, among all those of the loop.
  func sleepEnded(by reason: WakeReason?, turn: UInt64)

  /// Any thread. A block is handed to the loop.
  ///
  /// - Returns: What is to run in its place; nil to leave it as it is.
  func blockPosted(_ call: @escaping () -> Void) -> (() -> Void)?

  /// Any thread. A source of the loop was signalled that was not before.
  ///
  /// - Parameter isOwn: This is the loop's own thread.
  func sourceSignalled(_ ticket: UInt64, isOwn: Bool)

  /// Any thread. A job was handed to the loop.
  func jobEnqueued(_ job: UInt)
}

/// A callout that begins.
package struct LoopCallout {
  package let kind: CalloutKind
  /// The kind's number.
  package let code: UInt8
  package let label: Label
  /// Tells items that live at the same time apart; of a job its address; 0 for what has none.
  package let item: UInt
  /// A descriptor, an observer's activities, the ticket of a signal, the nanoseconds of a timer's interval.
  package let detail: Int64
  /// When a timer or timeout was due, in nanoseconds of the loop's clock.
  package let due: Int64
  /// Of a timer: grid points that passed without a fire.
  package let missed: UInt32
  /// The number of the turn, among all those of the loop.
  package let turn: UInt64
  /// Differs from that of the last callout if the loop has done more since than to take the next of a list.
  package let phase: UInt64
}

/// What kinds of callouts there are.
package enum CalloutKind: UInt8, CaseIterable, Sendable {
  case observer, timer, timeout, source, descriptor, block, mainQueue, job
}

/// What ends a sleep.
package enum WakeReason: UInt8, CaseIterable, Sendable {
  case descriptor, mainQueue, post, timer
  /// The end of the run's time.
  case timeout
}

/// A delegate as a loop keeps it: one word.
@safe final class DelegateBox: @unchecked Sendable {
  /// *constant*
  let delegate: any LoopDelegate
  /// *constant* The delegate's.
  let record: UnsafeMutablePointer<rondo_loop_record>

  init(_ delegate: any LoopDelegate) {
    guard let record = unsafe UnsafeMutablePointer<rondo_loop_record>(bitPattern: delegate.recordAddress) else {
      preconditionFailure("A delegate has a record.")
    }
    self.delegate = delegate
    unsafe self.record = record
  }

  /// Has debuggers find the items of a loop by its record; of none in the end.
  func showItems(of core: LoopCore?) {
    unsafe record.pointee.timers = core.map { UInt64(UInt(bitPattern: ObjectIdentifier($0.timers))) } ?? 0
    unsafe record.pointee.items = core.map { UInt64(UInt(bitPattern: ObjectIdentifier($0.slots))) } ?? 0
  }
}

extension LoopCore {
  /// Whether there is a delegate. A relaxed load.
  @inline(__always)
  var hasDelegate: Bool { unsafe delegate.load(ordering: .relaxed) != nil }

  /// Whether the delegate is to hear of what is handed to the loop. Any thread.
  @inline(__always)
  var hasMailListener: Bool { hasListener(rondo_listener_measures.rawValue | rondo_listener_trace.rawValue) }

  @inline(__always)
  private func hasListener(_ listeners: UInt32) -> Bool {
    guard let box = unsafe delegate.load(ordering: .acquiring) else { return false }
    return unsafe box._withUnsafeGuaranteedRef { unsafe rondo_record_listeners($0.record) } & listeners != 0
  }

  // MARK: - Callouts with a delegate

  // Each is the callout of its kind between the two notes in the record.

  /// Calls out.
  @inline(never)
  func callOutRecorded(_ observer: Loop.Observer, _ activity: Loop.Activity) {
    record(.observer, observer.label, Self.address(observer), Int64(activity.rawValue)) {
      callOutObserver(observer, activity)
    }
  }

  /// Calls out. In the record is the source that its user made, not what stands for it in this loop.
  @inline(never)
  func callOutRecorded(_ source: Loop.Source, _ ticket: UInt64) {
    let (label, item) = source.identity
    record(.source, label, item, Int64(truncatingIfNeeded: ticket)) { callOutSource(source) }
  }

  /// Calls out.
  @inline(never)
  func callOutRecorded(_ source: Loop.DescriptorSource, _ readiness: Loop.DescriptorSource.Readiness) {
    record(.descriptor, source.label, Self.address(source), Int64(source.descriptor)) {
      callOutDescriptorSource(source, readiness)
    }
  }

  /// Calls out.
  @inline(never)
  func callOutRecorded(_ timer: Loop.Timer, _ date: Instant, _ limit: Instant, _ missed: UInt32) {
    record(.timer, timer.label, Self.address(timer), timer.schedule.interval, due: date, missed: missed) {
      callOutTimer(
        timer, Loop.Timer.Tick(timer: timer, scheduledAt: date, firedAt: max(date, limit), missed: Int(missed)))
    }
  }

  /// Calls out. A timeout has no name but that of its code.
  @inline(never)
  func callOutRecorded(_ slot: UInt32, _ date: Instant, _ handler: TimeoutHandler) {
    record(.timeout, Label(codeOf: handler), UInt(slot) + 1, due: date) { callOutTimeout(handler) }
  }

  /// Calls out. A block has no name but that of its code.
  @inline(never)
  func callOutRecorded(_ body: @escaping () -> Void) {
    record(.block, Label(codeOf: body)) { callOutBlock(body) }
  }

  /// Calls out.
  @inline(never)
  func callOutMainQueueRecorded() {
    record(.mainQueue, .none) { callOutMainQueue() }
  }

  /// Calls out.
  @inline(never)
  func callOutRecorded(_ job: QueuedJob) {
    record(.job, Label(codeOf: job.job), unsafe unsafeBitCast(job.job, to: UInt.self)) { callOutJob(job) }
  }

  /// Calls out.
  @inline(__always)
  private func record(
    _ kind: CalloutKind, _ label: Label, _ item: UInt = 0, _ detail: Int64 = 0, due: Instant = .distantPast,
    missed: UInt32 = 0, _ callOut: () -> Void
  ) {
    // One that is there stays.
    guard let box = unsafe delegate.load(ordering: .acquiring) else { return callOut() }
    let record = unsafe box._withUnsafeGuaranteedRef { unsafe $0.record }
    let code = kind.rawValue
    if unsafe rondo_record_begin(record, label.word, UInt64(code), UInt64(item), detail) != 0 {
      unsafe box._withUnsafeGuaranteedRef {
        $0.delegate.calloutBegins(
          LoopCallout(
            kind: kind, code: code, label: label, item: item, detail: detail, due: due.nanoseconds, missed: missed,
            turn: counters.turns.load(ordering: .relaxed), phase: counters.pulse.beats))
      }
    }
    callOut()
    if unsafe rondo_record_end(record) != 0 { unsafe box._withUnsafeGuaranteedRef { $0.delegate.calloutEnded() } }
  }

  private static func address(_ item: Loop.Item) -> UInt {
    UInt(bitPattern: ObjectIdentifier(item))
  }

  // MARK: - Sleeps and mail

  @inline(__always) @discardableResult
  private func tell<Answer>(_ what: (any LoopDelegate) -> Answer) -> Answer? {
    unsafe delegate.load(ordering: .acquiring)?._withUnsafeGuaranteedRef { what($0.delegate) }
  }

  /// The loop is about to sleep.
  @inline(never)
  func reportSleep() {
    if hasSleepListener { tell { $0.sleepBegins() } }
  }

  /// A sleep is over, and what was posted during it has not been applied yet.
  @inline(never)
  func reportWake(_ frame: RunFrame, _ alarm: Instant) {
    guard hasSleepListener else { return }
    let (reason, turn) = (endOfSleep(frame, alarm), counters.turns.load(ordering: .relaxed))
    tell { $0.sleepEnded(by: reason, turn: turn) }
  }

  private var hasSleepListener: Bool {
    hasListener(
      rondo_listener_turns.rawValue | rondo_listener_measures.rawValue | rondo_listener_trace.rawValue
        | rondo_listener_parked.rawValue)
  }

  private func endOfSleep(_ frame: RunFrame, _ alarm: Instant) -> WakeReason? {
    if !frame.ready.isEmpty { return .descriptor }
    if frame.turn.isMainQueueReady { return .mainQueue }
    if wakeup.has([.wake, .stop, .stopRequest]) || wakes.isWoken { return .post }
    guard alarm != .distantFuture, alarm <= wait.now else { return nil }
    return alarm == frame.run.deadline ? .timeout : .timer
  }

  /// Any thread.
  @inline(never)
  func reportPost(_ block: consuming Block) -> Block {
    let call = block.call
    guard let other = tell({ $0.blockPosted(call) }) ?? nil else { return block }
    return Block(other, modes: block.modes)
  }

  /// Any thread.
  @inline(never)
  func reportSignal(_ ticket: UInt64, isOwn: Bool) {
    tell { $0.sourceSignalled(ticket, isOwn: isOwn) }
  }

  /// Any thread.
  @inline(never)
  func reportJob(_ job: UnownedJob) {
    let address = unsafe unsafeBitCast(job, to: UInt.self)
    tell { $0.jobEnqueued(address) }
  }
}

extension Label {
  /// The code of a closure, or of what stands before it.
  package init(codeOf body: @escaping () -> Void) {
    self.init(code: unsafe unsafeBitCast(BareFunction(call: body), to: (UInt, UInt).self).0)
  }

  /// The code of a timeout's handler: its line is full, and has no room for where it was made.
  init(codeOf handler: TimeoutHandler) {
    switch handler {
    case .closure(let body): self.init(codeOf: body)
    case .function(let function, _): self.init(code: unsafe unsafeBitCast(function, to: UInt.self))
    }
  }

  /// The code at which a job goes on.
  init(codeOf job: UnownedJob) {
    self.init(code: RuntimeInsides.code(of: job))
  }
}

/// A structure around it: generic code takes a bare function in a form of its own.
private struct BareFunction {
  let call: () -> Void
}
