import Synchronization

/// Membership: items in modes, from any thread.
extension Loop {
  /// Puts an item into a mode, or with `.common` into the common set and every mode that is common now. Any thread.
  ///
  /// The loop keeps the item until it is invalidated or removed. Adding twice, or an invalid item, changes nothing. A
  /// timer, observer or descriptor source can be in one loop at a time; one that is moved in its own callout may be
  /// called by its new loop before that callout has returned. From another thread it wakes the loop. O(log n) for a
  /// timer, O(1) otherwise, but O(n) for an observer that goes before others.
  ///
  /// - Returns: Whether the item is a member afterwards: false if it is invalid, in another loop, or the loop is gone.
  @discardableResult
  public func add(_ item: Item, to mode: Mode = .default) -> Bool {
    checkProcess()
    if item.kind != .source {
      let admission = admit(item, mode)
      settle(admission, item)
      // Whoever invalidated it at this moment may have found it in this loop.
      if !admission.isMember, item.kind == .descriptor { downcast(item, to: DescriptorSource.self).closeIfFree() }
      return admission.isMember
    }
    let source = downcast(item, to: Source.self)
    source.holdHandlers()
    defer { source.unholdHandlers() }
    let (attachment, admission) = source.admitted(to: self) { admit($0, mode) }
    settle(admission, attachment)
    if admission.joined != 0 { source.tellSchedule(self, names(of: admission.joined)) }
    return admission.isMember
  }

  /// Takes an item out of a mode, or with `.common` out of the common set and every common mode. Any thread.
  ///
  /// It holds at once: the item is not called in that mode again. From another thread it wakes the loop, and the item
  /// is free for another loop once the loop's thread has looked. O(1), O(log n) for an observer.
  public func remove(_ item: Item, from mode: Mode = .default) {
    checkProcess()
    if item.kind != .source {
      leave(item, mode)
    } else {
      let source = downcast(item, to: Source.self)
      source.holdHandlers()
      defer { source.unholdHandlers() }
      guard let attachment = source.attachment(in: self) else { return }
      let left = leave(attachment, mode)
      if left != 0 { source.tellCancel(self, names(of: left)) }
    }
  }

  /// Whether an item is in a mode; with `.common`, whether it is in the common set. Any thread.
  public func contains(_ item: Item, in mode: Mode = .default) -> Bool {
    let member: Item?
    if item.kind == .source {
      member = downcast(item, to: Source.self).attachment(in: self)
    } else {
      member = item
    }
    guard let member else { return false }
    return mailbox.withLock { state in
      guard member.withOwner({ $0 === self }) else { return false }
      if mode == .common { return member.isCommon }
      guard let index = state.modes.index(of: mode) else { return false }
      return member.belongs(to: 1 << UInt64(index))
    }
  }

  /// Makes the item a member, as far as other threads can see. Calls nothing of the user's.
  private func admit(_ item: Item, _ mode: Mode) -> Admission {
    let isOwn = isCurrent
    return mailbox.withLock { state -> Admission in
      if mailbox.life != .open { return .refused }
      guard let wasFree = item.bind(to: self) else { return .refused }
      guard item.canJoin else {
        // One that is on its way out of this loop is freed when the loop's thread has let go of it.
        if wasFree { item.unbindIfHomeless() }
        return .refused
      }
      let wanted: UInt64
      if mode == .default {
        wanted = 1
      } else if mode == .common {
        if !item.isCommon {
          item.isCommon = true
          state.commonItemCount += 1
        }
        state.modes.makeAwaitedModes()
        wanted = state.modes.common
      } else {
        wanted = 1 << UInt64(state.modes.makeIndex(of: mode))
      }
      let joined = wanted & ~item.modes.load(ordering: .relaxed)
      item.modes.bitwiseOr(joined, ordering: .sequentiallyConsistent)
      if isOwn { return Admission(isMember: true, joined: joined, mail: state.takeMail()) }
      if joined != 0 { state.mailMembership(of: item, joins: joined) }
      return Admission(isMember: true, joined: joined)
    }
  }

  /// Brings the structures of the loop's thread in line with an admission, or has that thread do so. Calls out.
  private func settle(_ admission: Admission, _ item: Item) {
    if isCurrent {
      core.apply(admission.mail)
      // Taken out again by another thread, it may have been freed by the mail, and have gone elsewhere.
      if admission.joined != 0, admission.mail == nil || core.isOwner(of: item) {
        core.install(item, in: admission.joined)
      }
      core.callOutAfterMail()
    } else if admission.joined != 0 {
      wakeup.post([.mail, .wake])
    }
  }

  /// - Returns: The modes the item left.
  @discardableResult
  private func leave(_ item: Item, _ mode: Mode) -> UInt64 {
    uproot(item) { state in
      if mode == .default { return 1 }
      if mode == .common {
        guard item.isCommon else { return nil }
        item.isCommon = false
        state.commonItemCount -= 1
        return state.modes.common
      }
      return state.modes.index(of: mode).map { 1 << UInt64($0) }
    }
  }

  /// An invalid item leaves every mode and the common set.
  func expel(_ item: Item) {
    checkProcess()
    let left = uproot(item) { state in
      if item.isCommon {
        item.isCommon = false
        state.commonItemCount -= 1
      }
      return .max
    }
    if item.kind == .attachment, left != 0 {
      downcast(item, to: SourceAttachment.self).source.tellCancel(self, names(of: left))
    }
  }

  /// Takes an item out of the modes that `choose` names, under the lock. Does nothing if it is not this loop's. Calls out.
  ///
  /// The item is free for another loop when this one's thread has let go of it, in the last line of its eviction.
  private func uproot(_ item: Item, _ choose: (inout MailboxState) -> UInt64?) -> UInt64 {
    let isOwn = isCurrent
    let departure = mailbox.withLock { state -> Departure? in
      let left = item.withOwner { owner -> UInt64? in
        guard owner === self, let mask = choose(&state) else { return nil }
        let old = item.modes.load(ordering: .relaxed)
        item.modes.store(old & ~mask, ordering: .sequentiallyConsistent)
        // Nobody is left to let go of it.
        if mailbox.life == .ended, item.isHomeless { owner = nil }
        return old & mask
      }
      guard let left else { return nil }
      if isOwn { return Departure(left: left, isCommon: item.isCommon, mail: state.takeMail()) }
      if mailbox.life != .ended { state.mailMembership(of: item, leaves: left) }
      return Departure(left: left, isCommon: item.isCommon)
    }
    guard let departure else { return 0 }
    if isOwn {
      core.apply(departure.mail)
      // The mail may have evicted it already, and another loop may have it by now.
      let isOurs = departure.mail == nil || core.isOwner(of: item)
      if isOurs, let item = core.uninstall(item, from: departure.left, isCommon: departure.isCommon) {
        core.letGo(ofEvicted: item)
      }
      core.callOutAfterMail()
    } else {
      wakeup.post([.mail, .wake])
    }
    return departure.left
  }

  // MARK: - Notes from items

  func noteSignal(of attachment: SourceAttachment, isNew: Bool, waking: Bool) {
    if isCurrent {
      if isNew { core.noteSignal(of: attachment) }
      if waking, isHome(of: attachment) { core.wakeFromOwnThread() }
    } else {
      checkProcess()
      if isNew { mailbox.signals.push(attachment) }
      let isAccepted = wakeup.post(isNew ? (waking ? [.signals, .wake] : .signals) : .wake)
      // Nobody else will take it off.
      if !isAccepted { mailbox.signals.takeAll { _ in } }
    }
  }

  /// Whether the source is in the loop: an attachment that left in a callout stays until nobody can be in that callout.
  @inline(__always)
  private func isHome(of attachment: SourceAttachment) -> Bool {
    attachment.modes.load(ordering: .relaxed) != 0 || mailbox.withLock { _ in !attachment.isHomeless }
  }

  func noteReschedule(of timer: Timer, mayBeSooner: Bool) {
    if isCurrent {
      // The mail may take it out, and its next loop looks at its date by itself.
      if core.applyMail(), !core.isOwner(of: timer) { return }
      core.reschedule(timer, mayBeSooner: mayBeSooner)
    } else {
      checkProcess()
      let notes = mayBeSooner ? Item.Note.rescheduled | Item.Note.mayBeSooner : Item.Note.rescheduled
      mail(.rescheduled(timer), of: timer, notes, announcing: Item.Note.rescheduled)
    }
  }

  func noteInterest(of source: DescriptorSource) {
    if isCurrent {
      if let token = core.slots.token(of: source) { core.markDirty(token) }
    } else {
      checkProcess()
      mail(.interestChanged(source), of: source, Item.Note.interest, announcing: Item.Note.interest)
    }
  }

  /// Mails a change from another thread, unless mail that says the same is under way: it is looked at after this.
  private func mail(_ change: Change, of item: Item, _ notes: UInt8, announcing bit: UInt8) {
    guard item.notes.bitwiseOr(notes, ordering: .sequentiallyConsistent).oldValue & bit == 0 else { return }
    let isAccepted = mailbox.withLock { state in
      if mailbox.life == .open { state.mail.changes.append(change) }
      return mailbox.life == .open
    }
    if isAccepted {
      wakeup.post([.mail, .wake])
    } else {
      item.notes.bitwiseAnd(~notes, ordering: .sequentiallyConsistent)
      // Somebody else may have relied on this mail, for an item that has moved to another loop meanwhile.
      if let owner = item.withOwner({ $0 }), owner !== self {
        owner.mail(change, of: item, notes, announcing: bit)
      }
    }
  }
}

/// What came of an item's leaving modes.
private struct Departure {
  /// The modes it left.
  var left: UInt64
  /// Whether it stays in the common set.
  var isCommon: Bool
  /// Mail that has to be applied before the item leaves the structures; on the loop's thread only.
  var mail: Mail?
}

/// What came of an item's wish to join modes.
struct Admission {
  /// Whether it is a member now.
  var isMember: Bool
  /// The modes it has newly joined.
  var joined: UInt64
  /// Mail that has to be applied before the item is installed; on the loop's thread only.
  var mail: Mail?

  static var refused: Admission { Admission(isMember: false, joined: 0) }
}

extension Loop.Item {
  /// Whether the item, or the source it attaches, is still valid.
  fileprivate var canJoin: Bool {
    kind == .attachment ? downcast(self, to: SourceAttachment.self).source.isValid : isValid
  }

  /// Makes the loop the item's owner. Inside the loop's mailbox lock.
  ///
  /// - Returns: Whether it had no owner before; nil if it has another one.
  fileprivate func bind(to loop: Loop) -> Bool? {
    withOwner { owner in
      if owner != nil { return owner === loop ? false : nil }
      owner = loop
      mailed = .none
      return true
    }
  }

  /// Whether it is in no mode and not in the common set. Inside the mailbox lock.
  var isHomeless: Bool {
    modes.load(ordering: .relaxed) == 0 && !isCommon
  }

  /// Frees a homeless item for another loop. Inside the mailbox lock.
  func unbindIfHomeless() {
    if isHomeless { withOwner { $0 = nil } }
  }
}
