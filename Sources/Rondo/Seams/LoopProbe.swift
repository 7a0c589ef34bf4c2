internal import CLinux
import Synchronization

/// Who keeps a record of what a loop does. Made by a floor above; a loop without one asks a relaxed load before each
/// callout.
///
/// The loop writes into the record which callouts are under way. The rest is told to the probe, and only if somebody
/// listens, as the record says. Every function is called on the loop's thread, in the middle of a turn, unless it says
/// otherwise. None may call out.
package protocol LoopProbe: AnyObject, Sendable {
  /// *constant* A `rondo_loop_record`. The probe frees it, no earlier than when it dies.
  var recordAddress: UInt { get }

  /// A callout is about to begin, and stands in the record.
  func calloutBegins(_ callout: borrowing ProbedCallout)

  /// The callout that began last, and had not ended, has returned. The record still has it, below its depth.
  func calloutEnded()

  /// The loop is about to sleep, at the latest until a date.
  func sleepBegins(until date: Int64)

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

/// A probe as a loop keeps it: one word.
@safe final class ProbeBox: @unchecked Sendable {
  /// *constant*
  let probe: any LoopProbe
  /// *constant* The probe's.
  let record: UnsafeMutablePointer<rondo_loop_record>

  init(_ probe: any LoopProbe) {
    guard let record = unsafe UnsafeMutablePointer<rondo_loop_record>(bitPattern: probe.recordAddress) else {
      preconditionFailure("A probe has a record.")
    }
    self.probe = probe
    unsafe self.record = record
  }

  /// Has debuggers find the loop's items by its record.
  func showItems(of core: LoopCore) {
    unsafe record.pointee.timers = UInt64(UInt(bitPattern: Unmanaged.passUnretained(core.timers).toOpaque()))
    unsafe record.pointee.items = UInt64(UInt(bitPattern: Unmanaged.passUnretained(core.slots).toOpaque()))
  }

  func hideItems() {
    unsafe record.pointee.items = 0
    unsafe record.pointee.timers = 0
  }
}

/// A callout as a probe hears of it.
package struct ProbedCallout {
  package let kind: CalloutKind
  /// The kind's number.
  package let code: UInt8
  package let label: Label
  /// Tells items that live at the same time apart; of a job its address; 0 for what has none.
  package let item: UInt
  /// When it was due, in nanoseconds of the loop's clock; 0 if that is when the sleep ended.
  package var due: Int64 = 0
  /// A descriptor, an observer's activities, the ticket of a signal.
  package var detail: Int64 = 0
  /// Of a timer, in nanoseconds; 0 for a one-shot.
  package var interval: Int64 = 0
  package var tolerance: Int64 = 0
  /// Of a timer: grid points that passed without a fire.
  package var missed: UInt32 = 0
  /// The number of the turn, among all those of the loop.
  package var turn: UInt64 = 0

  package init(kind: CalloutKind, label: Label, item: UInt) {
    self.kind = kind
    code = kind.rawValue
    self.label = label
    self.item = item
  }
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

extension LoopCore {
  /// Whether somebody keeps a record. A relaxed load.
  @inline(__always)
  var isProbed: Bool { unsafe probe.load(ordering: .relaxed) != nil }

  // Each makes a callout for a phase of the turn, and writes down its beginning and its end.

  /// Calls out.
  @inline(never)
  func probedObserver(_ observer: Loop.Observer, _ activity: Loop.Activity) {
    begin(.observer, observer.label, Self.address(observer), detail: Int64(activity.rawValue))
    callOutObserver(observer, activity)
    endProbed()
  }

  /// Calls out. The source that its user made tells what it is called, not what stands for it in this loop.
  @inline(never)
  func probedSource(_ source: Loop.Source, _ ticket: UInt64) {
    let (label, item) = source.identity
    begin(.source, label, item, detail: Int64(truncatingIfNeeded: ticket))
    callOutSource(source)
    endProbed()
  }

  /// Calls out.
  @inline(never)
  func probedDescriptor(_ source: Loop.DescriptorSource, _ readiness: Loop.DescriptorSource.Readiness) {
    begin(.descriptor, source.label, Self.address(source), detail: Int64(source.descriptor))
    callOutDescriptorSource(source, readiness)
    endProbed()
  }

  /// Calls out.
  @inline(never)
  func probedTimer(_ timer: Loop.Timer, _ date: Instant, _ limit: Instant, _ missed: UInt32) {
    begin(.timer, timer.label, Self.address(timer)) { callout in
      let schedule = timer.schedule
      callout.due = date.nanoseconds
      callout.interval = schedule.interval
      callout.tolerance = schedule.effectiveTolerance
      callout.missed = missed
    }
    callOutTimer(
      timer, Loop.Timer.Tick(timer: timer, scheduledAt: date, firedAt: max(date, limit), missed: Int(missed)))
    endProbed()
  }

  /// Calls out. A timeout has no name but that of its code, either.
  @inline(never)
  func probedTimeout(_ slot: UInt32, _ date: Instant, _ handler: TimeoutHandler) {
    begin(.timeout, Label(codeOf: handler), UInt(slot) + 1) { callout in
      callout.due = date.nanoseconds
      callout.tolerance = timers[slot].tolerance
    }
    callOutTimeout(handler)
    endProbed()
  }

  /// Calls out. A block has no name but that of its code.
  @inline(never)
  func probedBlock(_ body: @escaping () -> Void) {
    begin(.block, Label(codeOf: body), 0)
    callOutBlock(body)
    endProbed()
  }

  /// Calls out.
  @inline(never)
  func probedMainQueue() {
    begin(.mainQueue, .none, 0)
    callOutMainQueue()
    endProbed()
  }

  /// Calls out.
  @inline(never)
  func probedJob(_ job: QueuedJob) {
    begin(.job, Label(codeOf: job.job), unsafe unsafeBitCast(job.job, to: UInt.self))
    callOutJob(job)
    endProbed()
  }

  /// - Parameter detail: What a probe is told beyond what the record has.
  @inline(__always)
  private func begin(
    _ kind: CalloutKind, _ label: Label, _ item: UInt, detail: Int64 = 0,
    more: (inout ProbedCallout) -> Void = { _ in }
  ) {
    guard let box = unsafe probe.load(ordering: .acquiring) else { return }
    let listeners = unsafe box._withUnsafeGuaranteedRef {
      unsafe rondo_record_begin($0.record, label.word, UInt64(kind.rawValue), UInt64(item), detail)
    }
    guard listeners != 0 else { return }
    var callout = ProbedCallout(kind: kind, label: label, item: item)
    callout.detail = detail
    callout.turn = counters.turns.load(ordering: .relaxed)
    more(&callout)
    unsafe box._withUnsafeGuaranteedRef { $0.probe.calloutBegins(callout) }
  }

  @inline(__always)
  private func endProbed() {
    guard let box = unsafe probe.load(ordering: .acquiring) else { return }
    let listeners = unsafe box._withUnsafeGuaranteedRef { unsafe rondo_record_end($0.record) }
    if listeners != 0 { unsafe box._withUnsafeGuaranteedRef { $0.probe.calloutEnded() } }
  }

  /// Whether somebody hears of this beside the record.
  @inline(__always)
  private func isHeard(by listeners: UInt32) -> Bool {
    guard let box = unsafe probe.load(ordering: .acquiring) else { return false }
    return unsafe box._withUnsafeGuaranteedRef { unsafe rondo_record_listeners($0.record) } & listeners != 0
  }

  @inline(never)
  func probeSleep(until date: Instant) {
    guard isHeard(by: Self.ofSleeps) else { return }
    unsafe probe.load(ordering: .acquiring)?._withUnsafeGuaranteedRef { $0.probe.sleepBegins(until: date.nanoseconds) }
  }

  /// A sleep is over, and what was posted meanwhile has yet to be taken in.
  @inline(never)
  func probeWake(_ frame: RunFrame, _ alarm: Instant) {
    guard isHeard(by: Self.ofSleeps) else { return }
    let turn = counters.turns.load(ordering: .relaxed)
    let reason = endOfSleep(frame, alarm)
    unsafe probe.load(ordering: .acquiring)?._withUnsafeGuaranteedRef { $0.probe.sleepEnded(by: reason, turn: turn) }
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
  func probedPost(_ block: consuming Block) -> Block {
    guard isHeard(by: Self.ofMail), let probe = unsafe probe.load(ordering: .acquiring) else { return block }
    let call = block.call
    guard let other = unsafe probe._withUnsafeGuaranteedRef({ $0.probe.blockPosted(call) }) else { return block }
    return Block(other, modes: block.modes)
  }

  /// Any thread.
  @inline(never)
  func probeSignal(_ ticket: UInt64, in loop: Loop) {
    guard isHeard(by: Self.ofMail) else { return }
    let isOwn = loop.isCurrent
    unsafe probe.load(ordering: .acquiring)?._withUnsafeGuaranteedRef {
      $0.probe.sourceSignalled(ticket, isOwn: isOwn)
    }
  }

  /// Any thread.
  @inline(never)
  func probeJobEnqueued(_ job: UnownedJob) {
    guard isHeard(by: Self.ofMail) else { return }
    let address = unsafe unsafeBitCast(job, to: UInt.self)
    unsafe probe.load(ordering: .acquiring)?._withUnsafeGuaranteedRef { $0.probe.jobEnqueued(address) }
  }

  /// Who hears of sleeps, and of what is handed to the loop.
  @inline(__always)
  private static var ofSleeps: UInt32 {
    rondo_listener_turns.rawValue | rondo_listener_measures.rawValue | rondo_listener_trace.rawValue
      | rondo_listener_parked.rawValue
  }

  @inline(__always)
  private static var ofMail: UInt32 { rondo_listener_measures.rawValue | rondo_listener_trace.rawValue }

  private static func address(_ item: Loop.Item) -> UInt {
    UInt(bitPattern: unsafe Unmanaged.passUnretained(item).toOpaque())
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
