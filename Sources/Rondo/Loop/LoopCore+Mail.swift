import Synchronization

/// Applying what other threads have left.
extension LoopCore {
  /// 1. apply mail: makes every structural change that has been posted, and takes over the posted blocks. Calls out.
  ///
  /// Costs one relaxed load when there is none. Nothing is called before all the mail has been applied: what user code
  /// does then is later than all of it.
  ///
  /// - Returns: Whether there was any.
  @inline(__always)
  @discardableResult
  func applyMail() -> Bool {
    assertOwnThread()
    if !wakeup.has([.mail, .signals]) { return false }
    applyPendingMail()
    return true
  }

  @inline(never)
  private func applyPendingMail() {
    assertOwnThread()
    // The bits go before the mail is taken: a poster that finds the mailbox empty afterwards sets it again.
    applyMail(of: wakeup.take([.mail, .signals]))
  }

  /// Calls what applying mail has found to call, and lets go of what has left. Calls out.
  @inline(__always)
  func callOutAfterMail() {
    if !afterMail.isEmpty { callOutAfterMailPresent() }
  }

  @inline(never)
  private func callOutAfterMailPresent() {
    assertOwnThread()
    var due: [AfterMail] = []
    swap(&due, &afterMail)
    for callout in due {
      switch callout {
      case .tellSchedule(let attachment, let mode):
        let source = attachment.source
        source.holdHandlers()
        defer { source.unholdHandlers() }
        // Even if it has left since: whoever took it out tells that it left.
        source.tellSchedule(loop, loop.names(of: 1 << UInt64(mode)))
      case .letGo(let item):
        letGo(ofEvicted: item)
      }
    }
  }

  @inline(__always)
  private func applyMail(of bits: WakeProtocol.Bits) {
    assertOwnThread()
    if bits.contains(.mail) { takeAndApplyMail() }
    // A source is installed before its signals count, and asks for them when it is.
    if bits.contains(.signals) { takeSignals() }
    callOutAfterMail()
  }

  func takeSignals() {
    assertOwnThread()
    mailbox.signals.takeAll { noteSignal(of: $0) }
  }

  private func takeAndApplyMail() {
    assertOwnThread()
    // Two lots of arrays change places, so that mail costs no allocation. Applying may open the box again, and then
    // finds new ones.
    var mail = Mail()
    swap(&mail, &spareMail)
    mailbox.withLock { $0.exchangeMail(&mail) }
    apply(&mail)
    swap(&mail, &spareMail)
  }

  /// Applies mail that a change of the loop's own thread has found in the box; `callOutAfterMail()` comes after that
  /// change.
  @inline(__always)
  func apply(_ mail: Mail?) {
    assertOwnThread()
    if var mail { apply(&mail) }
  }

  /// Makes the changes of `mail`, takes over its jobs and blocks, and empties it. Nobody else can reach it.
  private func apply(_ mail: inout Mail) {
    assertOwnThread()
    if !mail.jobs.isEmpty {
      for job in mail.jobs { enqueue(job) }
      mail.jobs.removeAll(keepingCapacity: true)
    }
    if !mail.changes.isEmpty {
      mail.changes.forEach(apply)
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

  /// Makes one change. Calls nothing of the user's.
  private func apply(_ change: Change) {
    assertOwnThread()
    switch change {
    case .membership(let item, let leaves, let joins):
      applyMembership(of: item, leaves: leaves, joins: joins)
    case .joinCommon(let mode): joinCommon(mode)
    case .rescheduled(let timer):
      // Taken before the date is looked at: whoever sets another from here on mails again.
      let notes = timer.notes.bitwiseAnd(~(Note.rescheduled | Note.mayBeSooner), ordering: .sequentiallyConsistent)
      let mayBeSooner = notes.oldValue & Note.mayBeSooner != 0
      if isOwner(of: timer) {
        reschedule(timer, mayBeSooner: mayBeSooner)
      } else {
        // It has moved, and the setter may have seen this mail under way when it was another loop's to hear.
        timer.withOwner { $0 }?.noteReschedule(of: timer, mayBeSooner: mayBeSooner)
      }
    case .interestChanged(let source):
      source.notes.bitwiseAnd(~Note.interest, ordering: .sequentiallyConsistent)
      if isOwner(of: source) {
        if let token = slots.token(of: source) { markDirty(token) }
      } else {
        source.withOwner { $0 }?.noteInterest(of: source)
      }
    }
  }

  private typealias Note = Loop.Item.Note

  private func applyMembership(of item: Loop.Item, leaves: UInt64, joins: UInt64) {
    assertOwnThread()
    // Whoever took it out a second time mailed that as well; the first mail may have freed it for another loop.
    guard isOwner(of: item) else { return }
    // It left modes, or the common set, before it joined any: whether it stays is for what it is in now to say.
    if leaves != 0 || joins == 0 {
      let isCommon = mailbox.withLock { _ in item.isCommon }
      if let item = uninstall(item, from: leaves, isCommon: isCommon) { afterMail.append(.letGo(item)) }
    }
    // Another thread may have taken it out meanwhile, so that it was freed.
    if joins != 0, isOwner(of: item) { install(item, in: joins) }
  }

  /// Takes wakeups and stops that came from elsewhere to memory.
  @inline(__always)
  func absorbPosts() {
    assertOwnThread()
    if wakeup.has([.wake, .stop]) { wakes.absorb(wakeup.take([.wake, .stop]), at: phaseTime) }
  }

  /// First thing after a sleep: everything that was posted, for one atomic operation.
  @inline(__always)
  func absorbAfterSleep() {
    assertOwnThread()
    let bits = wakeup.wokeTaking([.mail, .signals, .wake, .stop])
    applyMail(of: bits)
    if !bits.isDisjoint(with: [.wake, .stop]) { wakes.absorb(bits, at: phaseTime) }
  }

  /// A wakeup asked for on the loop's own thread.
  @inline(__always)
  func wakeFromOwnThread() {
    assertOwnThread()
    wakes.wake(at: arrivalTime)
  }

  /// Whether the innermost run shall end with its turn.
  @inline(__always)
  var isStopped: Bool { wakes.isStopped || wakeup.has(.stopRequest) }
}
