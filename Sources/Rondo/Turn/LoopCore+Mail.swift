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
    Lock.assertNoneHeld()
    if !wakeup.has([.mail, .signals, .outside]) { return false }
    applyMailPresent()
    callOutAfterMail()
    return true
  }

  /// The same before a change of the loop's own thread, after which `callOutAfterMail()` has to follow.
  @inline(__always)
  func applyMailQuietly() {
    assertOwnThread()
    if wakeup.has([.mail, .signals, .outside]) { applyMailPresent() }
  }

  /// Applies mail for a caller that may hold a lock: what it has found to call waits for the loop's next look at its mail.
  ///
  /// - Returns: Whether there was any.
  func applyMailForLater() -> Bool {
    assertOwnThread()
    if !wakeup.has([.mail, .signals, .outside]) { return false }
    applyMailPresent()
    callOutLater()
    return true
  }

  /// Leaves `callOutAfterMail()` to the loop's next look at its mail.
  func callOutLater() {
    if !afterMail.isEmpty { wakeup.post(.mail) }
  }

  /// Calls what applying mail has found to call, and lets go of what has left. Calls out.
  @inline(__always)
  func callOutAfterMail() {
    Lock.assertNoneHeld()
    if agenda.contains(.afterMail) { callOutAfterMailPresent() }
  }

  @inline(never)
  private func callOutAfterMailPresent() {
    assertOwnThread()
    var due: [AfterMail] = []
    swap(&due, &afterMail)
    for callout in due {
      switch callout {
      case .callSchedule(let source, let mode):
        source.holdHandlers()
        defer { source.unholdHandlers() }
        // Even if it has left since: the thread that took it out calls the handler that says so.
        source.callSchedule(loop, loop.names(of: 1 << UInt64(mode)))
      case .left(let item, let departure):
        item.didLeaveLoop()
        departure.evicted?.unholdHandlers()
      case .letGo: break
      case .invalidate(let rejected):
        rejected.source.invalidate(because: rejected.reason)
      }
    }
  }

  @inline(never)
  private func applyMailPresent() {
    assertOwnThread()
    cancelHostSleep()
    // The bits go before the mail is taken: a poster that finds the mailbox empty afterwards sets it again.
    applyTaken(wakeup.take([.mail, .signals]))
  }

  @inline(__always)
  private func applyTaken(_ bits: WakeProtocol.Bits) {
    assertOwnThread()
    if bits.contains(.mail) { applyMailInBox() }
    // A source is installed before its signals count, and asks for them when it is.
    if bits.contains(.signals) { takeSignals() }
  }

  func takeSignals() {
    assertOwnThread()
    mailbox.signals.takeAll(applySignal)
  }

  /// A poster that signals from here on sends the signal again.
  private func applySignal(of source: Loop.Source) {
    assertOwnThread()
    if source.isIn(loop) {
      if noteSignal(of: source) { return }
    } else if source.isSignalled {
      source.loop?.noteSignal(of: source, isNew: true, waking: true)
    }
    afterMail.append(.letGo(source))
  }

  /// Keeps what mail was about until all of it has been applied, unless a slot does: it may own closures of the user's.
  private func keepUntilApplied(_ item: Loop.Item) {
    assertOwnThread()
    if !item.isIn(loop) || item.slot < 0 { afterMail.append(.letGo(item)) }
  }

  private func applyMailInBox() {
    assertOwnThread()
    // Two lots of arrays change places, so that mail costs no allocation. Applying may open the box again, and then
    // finds new ones.
    var mail = Mail()
    swap(&mail, &spareMail)
    mailbox.withLock { swap(&$0.mail, &mail) }
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

  /// Makes the changes of `mail`, takes over its jobs and blocks, and empties it. No other thread can reach it.
  private func apply(_ mail: inout Mail) {
    assertOwnThread()
    if !mail.jobs.isEmpty {
      for job in mail.jobs { enqueue(job) }
      mail.jobs.empty()
    }
    if !mail.changes.isEmpty {
      mail.changes.forEach(apply)
      mail.changes.empty()
    }
    if mail.blocks.isEmpty { return }
    blocks.append(taking: &mail.blocks)
    agenda.insert(.work)
  }

  /// Makes one change. Calls nothing of the user's.
  private func apply(_ change: Change) {
    assertOwnThread()
    switch change {
    case .membership(let item, let leaves, let joins):
      applyMembership(of: item, leaves: leaves, joins: joins)
    case .joinCommon(let mode): joinCommon(mode)
    case .rescheduled(let timer):
      // Cleared before the date is read: a thread that sets another from here on mails again.
      timer.notes.bitwiseAnd(~Note.rescheduled, ordering: .sequentiallyConsistent)
      keepUntilApplied(timer)
      if timer.isIn(loop) {
        reschedule(timer)
      } else {
        // It has moved, and the setter may have seen this mail under way when it was another loop's to hear.
        timer.loop?.noteReschedule(of: timer)
      }
    case .interestChanged(let source):
      source.notes.bitwiseAnd(~Note.interest, ordering: .sequentiallyConsistent)
      keepUntilApplied(source)
      if source.isIn(loop) {
        if let token = slots.token(of: source) { markDirty(token) }
      } else {
        source.loop?.noteInterest(of: source)
      }
    case .signalled(let source):
      source.notes.bitwiseAnd(~Note.signalled, ordering: .sequentiallyConsistent)
      applySignal(of: source)
    }
  }

  private typealias Note = Loop.Item.Note

  private func applyMembership(of item: Loop.Item, leaves: UInt64, joins: UInt64) {
    assertOwnThread()
    // A second removal is mailed as well, and the first mail may have freed the item for another loop.
    let departure = item.whileIn(loop) { () -> Departure? in
      // The loop's thread may have changed it since: what it is in by now counts. What left and joined again does both.
      let modes = item.modes.load(ordering: .relaxed)
      let left = leaves & (joins | ~modes)
      return leaves != 0 || joins == 0 ? uninstall(item, from: left) : nil
    }
    guard let departure else { return afterMail.append(.letGo(item)) }
    if let departure { afterMail.append(.left(item, departure)) }
    let joined = joins & item.modes.load(ordering: .relaxed)
    // One that has left these modes since may stand in the common set. It needs a slot, for it joins what becomes common
    // next, and the loop has to find it at its end.
    if item.isIn(loop), joined != 0 || item.slot < 0 && item.whileIn(loop, { item.isCommon }) ?? false {
      install(item, in: joined)
    } else if departure == nil {
      keepUntilApplied(item)
    }
  }

  /// Takes wakeups and stops that came from elsewhere to memory.
  @inline(__always)
  func takePosts() {
    assertOwnThread()
    if wakeup.has([.wake, .stop]) { wakes.absorb(wakeup.take([.wake, .stop]), at: phaseTime()) }
  }

  /// Applies mail, and takes wakeups and stops to memory: both asked for in one test. Calls out.
  @inline(__always)
  func applyMailAndTakePosts() {
    assertOwnThread()
    guard wakeup.has([.mail, .signals, .outside, .wake, .stop]) else { return }
    applyMail()
    takePosts()
  }

  /// Applies and remembers everything that was posted during a sleep.
  @inline(never)
  func apply(afterSleep bits: WakeProtocol.Bits) {
    assertOwnThread()
    applyTaken(bits)
    callOutAfterMail()
    if !bits.isDisjoint(with: [.wake, .stop]) { wakes.absorb(bits, at: phaseTime()) }
  }

  /// A wakeup asked for on the loop's own thread.
  @inline(__always)
  func wakeFromOwnThread() {
    assertOwnThread()
    if !wakes.wake(at: arrivalTime()) { postToGuest(.wake) }
  }

  /// A stop asked for on the loop's own thread.
  func stopFromOwnThread() {
    assertOwnThread()
    if !wakes.stop(at: arrivalTime()) { postToGuest(.stop) }
  }

  /// Whether the innermost run shall end with its turn.
  @inline(__always)
  var isStopped: Bool { wakes.isStopped || wakeup.has(.stopRequest) }
}
