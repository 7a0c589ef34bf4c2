import Synchronization

/// The modes of a loop, from any thread.
extension Loop {
  /// The mode of the innermost run; nil when the loop is not running. Any thread. See CFRunLoopCopyCurrentMode.
  public var currentMode: Mode? {
    let index = core.runningMode.load(ordering: .relaxed)
    return index < 0 ? nil : mailbox.withLock { $0.modes.names[index] }
  }

  /// The modes that exist, the default mode first. Any thread. See CFRunLoopCopyAllModes.
  ///
  /// A mode exists once an item, a block or an executor was added to it, or once it became common while the loop had
  /// common items. A loop with 64 modes forgets those that have nothing when it needs another.
  public var modes: [Mode] {
    mailbox.withLock { $0.modes.names.compactMap { $0 } }
  }

  /// Makes `mode` common permanently: every common item joins it, now and later. Any thread.
  ///
  /// `.common` itself traps. See CFRunLoopAddCommonMode.
  public func addCommonMode(_ mode: Mode) {
    checkProcess()
    require(mode != .common, "'.common' stands for the common modes and cannot be one. Name the mode to add.")
    _ = addCommonMode(mode, onlyIfRoom: false)
  }

  /// The same for a mode that is not `.common`.
  ///
  /// - Returns: False if the loop had no room for it, and that was to be told.
  package func addCommonMode(_ mode: Mode, onlyIfRoom: Bool) -> Bool {
    let isOwn = isCurrent
    var hasRoom = true
    let (index, mail) = mailbox.withLock { state -> (Int?, Mail?) in
      guard mailbox.life == .open else { return (nil, nil) }
      hasRoom = !onlyIfRoom || state.modes.hasRoom(for: mode)
      guard hasRoom else { return (nil, nil) }
      let index = state.modes.makeCommon(mode, creates: mailbox.commonItemCount.load(ordering: .relaxed) > 0)
      if let index, !isOwn { state.mail.changes.append(joinCommon: index) }
      return (index, isOwn ? state.takeMail() : nil)
    }
    if isOwn {
      core.cancelHostSleep()
      core.apply(mail)
      if let index { core.joinCommon(index) }
      core.callOutAfterMail()
    } else if index != nil {
      wakeup.post([.mail, .wake])
    }
    return hasRoom
  }

  /// Makes a mode exist, unless the loop has no room for another one. Any thread.
  ///
  /// A loop has 64 modes. To name one more, where you add, post or run, ends the process: ask here first where modes have
  /// names that a program does not know. A mode that another thread makes stays for as long as the loop lives. The
  /// loop forgets one that its own thread makes if nothing is in it and the place is needed.
  ///
  /// - Returns: Whether it exists; true for the common modes.
  public func admit(_ mode: Mode) -> Bool {
    if mode == .default || mode == .common { return true }
    let isOwn = isCurrent
    if isOwn { core.makeRoom(for: mode) }
    return mailbox.withLock { state in
      guard state.modes.hasRoom(for: mode) else { return false }
      let index = state.modes.makeIndex(of: mode)
      if !isOwn { state.modes.pin(1 << UInt64(index)) }
      return true
    }
  }

  /// The date of the mode's next timer; nil if it has none. Any thread. See CFRunLoopGetNextTimerFireDate.
  ///
  /// It is exact on the loop's own thread. On another thread it is the date of the loop's last sleep.
  public func nextFireDate(in mode: Mode = .default) -> SuspendingClock.Instant? {
    checkProcess()
    let isOwn = isCurrent
    if isOwn { core.applyMail() }
    let (index, published) = mailbox.withLock { state -> (Int?, Instant) in
      guard let index = state.modes.index(of: mode) else { return (nil, .distantFuture) }
      let isKnown = index < state.states.count
      let date = isKnown ? state.states[index].publishedFireDate.load(ordering: .relaxed) : .max
      return (index, Instant(nanoseconds: date))
    }
    guard let index else { return nil }
    let date = isOwn ? core.nextFireDate(in: core.modeState(index)) : published
    return date == .distantFuture ? nil : date.suspending
  }

  func names(of mask: UInt64) -> [Mode] {
    mailbox.withLock { state in
      state.modes.names.indices.filter { mask & (1 << UInt64($0)) != 0 }.compactMap { state.modes.names[$0] }
    }
  }
}

/// What products above the core ask of modes.
extension Loop {
  /// Makes the mode, if the loop does not know it, and has it stay. The loop's own thread.
  package func makeMode(_ mode: Mode) {
    core.makeRoom(for: mode)
    mailbox.withLock { state in state.modes.pin(1 << UInt64(state.modes.makeIndex(of: mode))) }
  }

  /// Whether a run of `mode` would return at once, because nothing is in it. The loop's own thread.
  package func isFinished(_ mode: Mode) -> Bool {
    core.applyMail()
    guard let index = core.index(of: mode) else { return true }
    return core.isEmpty(core.modeState(index))
  }
}
