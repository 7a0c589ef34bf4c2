import Synchronization

/// Who is told what a loop does. Made by a floor above; a loop without one asks a relaxed load before each callout.
///
/// Every function is called on the loop's thread, in the middle of a turn, unless it says otherwise. None may call out.
package protocol LoopProbe: AnyObject, Sendable {
  /// A callout is about to begin.
  func calloutBegins(_ callout: borrowing ProbedCallout)

  /// The callout that began last, and has not ended, has returned.
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
  func sourceSignalled(_ ticket: UInt64)

  /// Any thread. A job was handed to the loop.
  func jobEnqueued(_ job: UInt)
}

/// A probe as a loop keeps it: one word.
final class ProbeBox: Sendable {
  let probe: any LoopProbe

  init(_ probe: any LoopProbe) {
    self.probe = probe
  }
}

/// A callout as a probe hears of it.
package struct ProbedCallout {
  package let kind: CalloutKind
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
  /// Whether somebody is told. A relaxed load.
  @inline(__always)
  var isProbed: Bool { unsafe probe.load(ordering: .relaxed) != nil }

  // Each makes a callout for a phase of the turn, and tells of its beginning and its end.

  /// Calls out.
  @inline(never)
  func probedObserver(_ observer: Loop.Observer, _ activity: Loop.Activity) {
    probeItem(.observer, observer, detail: Int64(activity.rawValue))
    callOutObserver(observer, activity)
    probeCalloutEnd()
  }

  /// Calls out. The source that its user made tells what it is called, not what stands for it in this loop.
  @inline(never)
  func probedSource(_ source: Loop.Source, _ ticket: UInt64) {
    probeItem(.source, source.principal, detail: Int64(truncatingIfNeeded: ticket))
    callOutSource(source)
    probeCalloutEnd()
  }

  /// Calls out.
  @inline(never)
  func probedDescriptor(_ source: Loop.DescriptorSource, _ readiness: Loop.DescriptorSource.Readiness) {
    probeItem(.descriptor, source, detail: Int64(source.descriptor))
    callOutDescriptorSource(source, readiness)
    probeCalloutEnd()
  }

  /// Calls out.
  @inline(never)
  func probedTimer(_ timer: Loop.Timer, _ date: Instant, _ limit: Instant, _ missed: UInt32) {
    let schedule = timer.schedule
    var callout = ProbedCallout(kind: .timer, label: timer.label, item: Self.address(timer))
    callout.due = date.nanoseconds
    callout.interval = schedule.interval
    callout.tolerance = schedule.effectiveTolerance
    callout.missed = missed
    probeCallout(callout)
    callOutTimer(
      timer, Loop.Timer.Tick(timer: timer, scheduledAt: date, firedAt: max(date, limit), missed: Int(missed)))
    probeCalloutEnd()
  }

  /// Calls out. A timeout has no name but that of its code, either.
  @inline(never)
  func probedTimeout(_ slot: UInt32, _ date: Instant, _ handler: TimeoutHandler) {
    var callout = ProbedCallout(kind: .timeout, label: Label(codeOf: handler), item: UInt(slot) + 1)
    callout.due = date.nanoseconds
    callout.tolerance = timeouts[slot].tolerance
    probeCallout(callout)
    callOutTimeout(handler)
    probeCalloutEnd()
  }

  /// Calls out. A block has no name but that of its code.
  @inline(never)
  func probedBlock(_ body: @escaping () -> Void) {
    probeCallout(ProbedCallout(kind: .block, label: Label(codeOf: body), item: 0))
    callOutBlock(body)
    probeCalloutEnd()
  }

  /// Calls out.
  @inline(never)
  func probedMainQueue() {
    probeCallout(ProbedCallout(kind: .mainQueue, label: .none, item: 0))
    callOutMainQueue()
    probeCalloutEnd()
  }

  /// Calls out.
  @inline(never)
  func probedJob(_ job: QueuedJob) {
    let place = unsafe unsafeBitCast(job.job, to: UInt.self)
    probeCallout(ProbedCallout(kind: .job, label: Label(codeOf: job.job), item: place))
    callOutJob(job)
    probeCalloutEnd()
  }

  private func probeItem(_ kind: CalloutKind, _ item: Loop.Item, detail: Int64) {
    var callout = ProbedCallout(kind: kind, label: item.label, item: Self.address(item))
    callout.detail = detail
    probeCallout(callout)
  }

  private func probeCallout(_ callout: consuming ProbedCallout) {
    callout.turn = counters.turns.load(ordering: .relaxed)
    unsafe probe.load(ordering: .acquiring)?._withUnsafeGuaranteedRef { $0.probe.calloutBegins(callout) }
  }

  private func probeCalloutEnd() {
    unsafe probe.load(ordering: .acquiring)?._withUnsafeGuaranteedRef { $0.probe.calloutEnded() }
  }

  @inline(never)
  func probeSleep(until date: Instant) {
    unsafe probe.load(ordering: .acquiring)?._withUnsafeGuaranteedRef { $0.probe.sleepBegins(until: date.nanoseconds) }
  }

  /// A sleep is over, and what was posted meanwhile has yet to be taken in.
  @inline(never)
  func probeWake(_ frame: RunFrame, _ alarm: Instant) {
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
    guard let probe = unsafe probe.load(ordering: .acquiring) else { return block }
    let call = block.call
    guard let other = unsafe probe._withUnsafeGuaranteedRef({ $0.probe.blockPosted(call) }) else { return block }
    return Block(other, modes: block.modes)
  }

  /// Any thread.
  @inline(never)
  func probeSignal(_ ticket: UInt64) {
    unsafe probe.load(ordering: .acquiring)?._withUnsafeGuaranteedRef { $0.probe.sourceSignalled(ticket) }
  }

  /// Any thread.
  @inline(never)
  func probeJobEnqueued(_ job: UnownedJob) {
    let address = unsafe unsafeBitCast(job, to: UInt.self)
    unsafe probe.load(ordering: .acquiring)?._withUnsafeGuaranteedRef { $0.probe.jobEnqueued(address) }
  }

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
    // A job is an object (16 bytes), two words for its executor, flags and number, two words more, and then that.
    let place = unsafe UnsafePointer<UInt>(bitPattern: unsafeBitCast(job, to: UInt.self) + 56)
    self.init(code: unsafe place?.pointee ?? 0)
  }
}

/// A structure around it: generic code takes a bare function in a form of its own.
private struct BareFunction {
  let call: () -> Void
}
