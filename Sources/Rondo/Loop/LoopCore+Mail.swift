/// Applying what other threads have left.
extension LoopCore {
  /// 1. apply mail: makes every structural change that has been posted, and takes over the posted blocks.
  ///
  /// Costs one relaxed load when there is none.
  @inline(__always)
  func applyMail() {
    if wakeup.has([.mail, .signals]) { applyPendingMail() }
  }

  @inline(never)
  private func applyPendingMail() {
    // The bits go before the mail is taken: a poster that finds the mailbox empty afterwards sets it again.
    applyMail(of: wakeup.take([.mail, .signals]))
  }

  @inline(__always)
  private func applyMail(of bits: WakeProtocol.Bits) {
    if bits.contains(.mail) { takeAndApplyMail() }
    // A source is installed before its signals count, and asks for them when it is.
    if bits.contains(.signals) { takeSignals() }
  }

  func takeSignals() {
    mailbox.signals.takeAll { enqueueSignal(of: $0) }
  }

  private func takeAndApplyMail() {
    // Two lots of arrays change places, so that mail costs no allocation. Applying may open the box again, and then
    // finds new ones.
    var mail = Mail()
    swap(&mail, &spareMail)
    mailbox.withLock { swap(&mail, &$0.mail) }
    apply(&mail)
    swap(&mail, &spareMail)
  }

  /// Applies mail that a change of the loop's own thread has found in the box.
  @inline(__always)
  func apply(_ mail: Mail?) {
    if var mail { apply(&mail) }
  }

  /// Makes the changes of `mail`, takes over its jobs and blocks, and empties it. Nobody else can reach it.
  private func apply(_ mail: inout Mail) {
    if !mail.jobs.isEmpty {
      for job in mail.jobs { enqueue(job) }
      mail.jobs.removeAll(keepingCapacity: true)
    }
    if !mail.changes.isEmpty {
      for change in mail.changes { apply(change) }
      mail.changes.empty()
    }
    if mail.blocks.isEmpty { return }
    if blocks.isEmpty {
      swap(&blocks, &mail.blocks)
    } else {
      blocks.append(contentsOf: mail.blocks)
      mail.blocks.removeAll(keepingCapacity: true)
    }
  }

  func apply(_ change: Change) {
    switch change {
    case .install(let item, let modes): install(item, in: modes)
    case .uninstall(let item, let modes, let isCommon):
      uninstall(item, from: modes, isCommon: isCommon, unbinds: true)
    case .joinCommon(let mode): joinCommon(mode)
    case .rescheduled(let timer, let mayBeSooner):
      if isOwner(of: timer) { reschedule(timer, mayBeSooner: mayBeSooner) }
    case .interestChanged(let source):
      if isOwner(of: source) { markDirty(source) }
    }
  }

  /// Whether the item is still this loop's: a change may have been meant for the loop it was in before.
  private func isOwner(of item: Loop.Item) -> Bool {
    item.withOwner { $0 === loop }
  }

  /// Hands a wakeup or stop that came from elsewhere to the runs it concerns.
  ///
  /// - Parameter keeping: Whether this run's next wait shall return at once; false where the run goes round anyway.
  @inline(__always)
  func absorbPosts(_ frame: RunFrame, keepingWake keeping: Bool) {
    if wakeup.has([.wake, .stop]) { absorb(wakeup.take([.wake, .stop]), frame, keepingWake: keeping) }
  }

  /// First thing after a sleep: everything that was posted, for one atomic operation.
  @inline(__always)
  func absorbAfterSleep(_ frame: RunFrame) {
    let bits = wakeup.wokeTaking([.mail, .signals, .wake, .stop])
    applyMail(of: bits)
    absorb(bits, frame, keepingWake: true)
  }

  @inline(__always)
  private func absorb(_ bits: WakeProtocol.Bits, _ frame: RunFrame, keepingWake keeping: Bool) {
    if bits.contains(.stop) {
      // It concerns this run alone.
      frame.isStopped = true
      if keeping { frame.noteWake(at: phaseTime) }
    }
    guard bits.contains(.wake) else { return }
    if depth > 1 { for outer in frames.dropLast() { outer.noteWake(at: phaseTime) } }
    if keeping { frame.noteWake(at: phaseTime) }
  }

  /// A wakeup asked for on the loop's own thread.
  @inline(__always)
  func wakeFromOwnThread() {
    let time = arrivalTime
    for level in 0..<depth { frames[level].noteWake(at: time) }
  }

  /// When a wakeup arrives, as far as it matters: only for serving one event a turn.
  var arrivalTime: Instant {
    servesOneEventPerTurn ? wait.now : .distantPast
  }

  /// Likewise for one that came from elsewhere, before this phase.
  private var phaseTime: Instant {
    servesOneEventPerTurn ? now : .distantPast
  }
}
