import Synchronization

/// Membership: items in modes, from any thread.
extension Loop {
  /// Adds an item to a mode of the loop, until it is invalidated. Any thread.
  ///
  /// With `.common`, the item joins the common set, and every mode that is common now or later.
  ///
  /// The loop keeps the item and the captures of its handler until you invalidate the item or remove it from every
  /// mode. Adding an item twice changes nothing, and so does adding an invalid item. A timer, observer or descriptor
  /// source can be in one loop at a time. If you move it in its own callout, the new loop may call it before that
  /// callout has returned. From another thread, the call wakes the loop. O(log n) for a timer, O(n) for an observer
  /// that is placed before others, O(1) otherwise.
  ///
  /// - Returns: Whether the item is a member afterwards: false if it is invalid, in another loop, or the loop has
  ///   ended; ``refusal(of:)`` returns the reason.
  @discardableResult
  public func add(_ item: Item, to mode: Mode = .default) -> Bool {
    checkProcess()
    let isMember = item.enter(self, mode)
    if Hint.isOn { item.noteAdded(to: self, isMember) }
    return isMember
  }

  /// Removes an item from a mode of the loop. Any thread.
  ///
  /// With `.common`, the item leaves the common set, and every common mode. The loop does not call the item in that
  /// mode again. From another thread, the call wakes the loop, and another loop can take the item once the loop's
  /// thread has applied the change. O(log n) for a timer or an observer, amortised O(1) otherwise. In a forked child, an
  /// item of the parent's stays as it is.
  public func remove(_ item: Item, from mode: Mode = .default) {
    if !thread.isOfThisProcess { return }
    item.registration(in: self)?.exit(self, mode)
  }

  /// Whether an item is in a mode. Any thread. With `.common`, whether it is in the common set.
  public func contains(_ item: Item, in mode: Mode = .default) -> Bool {
    guard let item = item.registration(in: self) else { return false }
    if mode == .common { return item.whileIn(self) { item.isCommon } ?? false }
    return mailbox.withLock { state in
      guard let index = state.modes.index(of: mode) else { return false }
      return item.whileIn(self) { item.belongs(to: 1 << UInt64(index)) } ?? false
    }
  }

  /// Makes the item a member, as far as other threads can see; `settle(_:_:isOwn:)` has to follow. Calls nothing of the user's.
  ///
  /// - Returns: The modes it has newly joined; nil if it is no member.
  @inline(__always)
  func enroll(_ item: Item, _ mode: Mode, isOwn: Bool) -> UInt64? {
    if isOwn {
      // What other threads mailed before is applied before.
      core.applyMailQuietly()
      guard mailbox.life == .open else { return nil }
      if mode == .default { return item.join(self, .default, isOwn: true) { _ in } }
      guard item.mayJoin(self) else { return nil }
      core.makeRoom(for: mode)
      return item.join(self, mailbox.withLock { $0.makeSeats(mode) }, isOwn: true) { _ in }
    }
    return enrollFromElsewhere(item, mode)
  }

  private func enrollFromElsewhere(_ item: Item, _ mode: Mode) -> UInt64? {
    mailbox.withLock { state in
      guard mailbox.life == .open, item.mayJoin(self) else { return nil }
      let seats = state.makeSeats(mode)
      state.modes.pin(seats.modes)
      return item.join(self, seats, isOwn: false) { joined in
        if joined != 0 { state.mail.changes.append(item, joins: joined) }
      }
    }
  }

  /// Adds a timer for a caller that may hold a lock: calls nothing of the user's. Any thread.
  ///
  /// What the loop's mail has found to call waits for the loop's next look at it.
  package func addQuietly(_ timer: Timer, to mode: Mode) {
    checkProcess()
    let isOwn = isCurrent
    let joined = enroll(timer, mode, isOwn: isOwn)
    settle(timer, joined ?? 0, isOwn: isOwn, isQuiet: true)
    if Hint.isOn { timer.noteAdded(to: self, joined != nil) }
  }

  /// Has the structures of the loop's thread hold the item in the modes it has newly joined. Calls out unless quiet.
  @inline(__always)
  func settle(_ item: Item, _ joined: UInt64, isOwn: Bool, isQuiet: Bool = false) {
    if isOwn {
      if joined != 0 { core.install(item, in: joined, isHeld: true) }
      if isQuiet { core.callOutLater() } else { core.callOutAfterMail() }
    } else if joined != 0 {
      wakeup.post([.mail, .wake])
    }
  }

  /// Takes the item, which is or was in the loop, out of a mode. Calls out.
  ///
  /// - Returns: The modes it left.
  func removeAndReport(_ item: Item, from mode: Mode) -> UInt64 {
    let departure = removeFromModes(item, from: mode)
    departure.evicted?.unholdHandlers()
    return departure.left
  }

  /// Ends an item of the loop that is no source, on the loop's thread: under one hold of its lock it becomes invalid, and
  /// leaves every mode and its slot. Calls out.
  ///
  /// - Parameter note: Called under the lock.
  /// - Returns: False if it was invalid.
  func end(_ item: Item, because note: () -> Void) -> Bool {
    // Without its mail: what others did to an invalid item no longer counts, and applying it could let go of an item that
    // the turn has borrowed.
    core.cancelHostSleep()
    guard item.membership.change({ $0.lockToEnd() }) else { return false }
    note()
    _ = item.leave(self, .all)
    // Kept until the end: the slot may have had the last reference.
    let evicted = core.uninstall(item, from: .max).evicted
    let isLast = item.membership.amend {
      $0.unlock()
      return evicted == nil ? $0.releaseIfFree() : $0.unhold()
    }
    item.didLeaveLoop()
    core.callOutAfterMail()
    item.wasInvalidated()
    if isLast { item.releaseHandlers() }
    return true
  }

  /// An invalid item leaves every mode and the common set. Calls out.
  ///
  /// On the loop's thread the item is evicted here or was before, so its last reference here is the caller's.
  func removeFromAllModes(_ item: Item) -> Departure {
    checkProcess()
    guard isCurrent else { return removeFromElsewhere(item, from: nil) }
    // Without its mail: what others did to an invalid item no longer counts, and applying it could let go of an item that
    // the turn has borrowed.
    core.cancelHostSleep()
    return finish(core.releaseSlot(item, from: self), of: item)
  }

  /// Takes an item out of modes, for other threads to see and out of the structures of the loop's thread. Calls out.
  ///
  /// The item is free for another loop when this one's thread has evicted it.
  ///
  /// The caller has a reference to the item: the mail that is applied may let go of the loop's.
  private func removeFromModes(_ item: Item, from mode: Mode) -> Departure {
    guard isCurrent else { return removeFromElsewhere(item, from: mode) }
    core.applyMailQuietly()
    // No mail is applied from here on, so that no mode becomes common that is not among these.
    let seats = mode == .default ? .default : mailbox.withLock { $0.seats(mode) }
    let departure = seats.flatMap { seats in
      item.whileIn(self) { item.leave(self, seats).map { core.uninstall(item, from: $0) } } ?? nil
    }
    return finish(departure, of: item)
  }

  /// Tells of a departure, with no lock held. Calls out.
  @inline(__always)
  private func finish(_ departure: Departure?, of item: Item) -> Departure {
    if departure != nil { item.didLeaveLoop() }
    core.callOutAfterMail()
    return departure ?? Departure()
  }

  /// The same from another thread.
  private func removeFromElsewhere(_ item: Item, from mode: Mode?) -> Departure {
    let left = mailbox.withLock { state -> UInt64? in
      guard let seats = state.seats(mode) else { return nil }
      if mode != nil { state.modes.pin(seats.modes) }
      return item.whileIn(self) { () -> UInt64? in
        guard let left = item.leave(self, seats) else { return nil }
        if mailbox.life != .ended {
          state.mail.changes.append(item, leaves: left)
        } else {
          // The loop has ended and reads no more mail: this thread frees the item.
          item.leaveLoopIfUnregistered()
        }
        return left
      } ?? nil
    }
    guard let left else { return Departure() }
    wakeup.post([.mail, .wake])
    return Departure(left: left)
  }

  // MARK: - Notes from items

  /// A source was signalled.
  ///
  /// - Parameter isNew: Whether no signal of it was waiting.
  func noteSignal(of source: Source, isNew: Bool, waking: Bool) {
    if isCurrent { return noteOwnSignal(of: source, isNew: isNew, waking: waking) }
    if isNew, core.hasMailListener { core.reportSignal(source.ticket, isOwn: false) }
    checkProcess()
    if waking, mailbox.signals.push(source) {
      let isAccepted = wakeup.post([.signals, .wake])
      // The loop has ended and takes no more signals: this thread empties the stack.
      if !isAccepted { mailbox.signals.takeAll { _ in } }
    } else {
      mailSignal(of: source, waking: waking)
    }
  }

  /// The same on the loop's thread.
  @inline(__always)
  func noteOwnSignal(of source: Source, isNew: Bool, waking: Bool) {
    // A forked child has the thread's loop as well.
    checkProcess()
    if isNew, core.hasMailListener { core.reportSignal(source.ticket, isOwn: true) }
    if isNew { core.noteSignal(of: source) }
    if waking, isHome(of: source) { core.wakeFromOwnThread() }
  }

  /// The rarer cases: a signal that does not wake; and one that does while another is under way, whose poster may not
  /// have pushed the source yet, or has pushed it to the loop that the source was in before.
  private func mailSignal(of source: Source, waking: Bool) {
    let isAccepted = mailbox.withLock { state in
      guard mailbox.life == .open else { return false }
      let (old, _) = source.notes.bitwiseOr(Item.Note.signalled, ordering: .sequentiallyConsistent)
      if old & Item.Note.signalled == 0 { state.mail.changes.append(.signalled(source)) }
      return true
    }
    if isAccepted { wakeup.post(waking ? [.mail, .wake] : .mail) }
  }

  /// Whether the source is in the loop: one that left in a callout stays until no run can be in that callout.
  @inline(__always)
  private func isHome(of source: Source) -> Bool {
    source.modes.load(ordering: .relaxed) != 0 || source.whileIn(self) { !source.isUnregistered } ?? false
  }

  /// The loop's thread has set the timer's date. Calls out unless quiet.
  @inline(__always)
  func noteDate(of timer: Timer, isQuiet: Bool) {
    // A forked child has the thread's loop as well.
    checkProcess()
    // The mail may take it out, and its next loop reads its date by itself.
    if isQuiet ? core.applyMailForLater() : core.applyMail(), !timer.isIn(self) { return }
    // Another thread, or what the mail has called, may have set a date since: the one that was set last counts.
    core.reschedule(timer, at: timer.date)
  }

  func noteReschedule(of timer: Timer) {
    if isCurrent {
      // The mail may take it out, and its next loop reads its date by itself.
      if core.applyMail(), !timer.isIn(self) { return }
      core.reschedule(timer)
    } else {
      checkProcess()
      mail(.rescheduled(timer), of: timer, Item.Note.rescheduled)
    }
  }

  func noteInterest(of source: DescriptorSource) {
    if isCurrent {
      if let token = core.slots.token(of: source) { core.markDirty(token) }
    } else {
      checkProcess()
      mail(.interestChanged(source), of: source, Item.Note.interest)
    }
  }

  /// Mails a change from another thread, unless mail of its kind is under way: then the loop reads the item after this.
  private func mail(_ change: Change, of item: Item, _ note: UInt8) {
    guard item.notes.bitwiseOr(note, ordering: .sequentiallyConsistent).oldValue & note == 0 else { return }
    let isAccepted = mailbox.withLock { state in
      if mailbox.life == .open { state.mail.changes.append(change) }
      return mailbox.life == .open
    }
    if isAccepted {
      wakeup.post([.mail, .wake])
    } else {
      item.notes.bitwiseAnd(~note, ordering: .sequentiallyConsistent)
      // Another poster may have relied on this mail, for an item that has moved to another loop since.
      if let owner = item.loop, owner !== self { owner.mail(change, of: item, note) }
    }
  }
}
