/// Blocks: work handed to the loop's thread.
extension Loop {
  /// Runs `block` once on the loop's thread, in the default mode. Any thread.
  ///
  /// Blocks run in the order in which they were posted. It is ``perform(in:waking:_:)-(Loop.Mode,_,_)`` for the default
  /// mode, without a comparison of names. See CFRunLoopPerformBlock.
  ///
  /// - Parameter waking: False leaves a sleeping loop asleep, as CFRunLoopPerformBlock does.
  /// - Returns: False if the loop's thread has ended. The block is then dropped.
  @discardableResult
  public func perform(waking: Bool = true, _ block: sending @escaping () -> Void) -> Bool {
    checkProcess()
    return post(Block(block, modes: .default), waking: waking)
  }

  /// Runs `block` once on the loop's thread, in a run of `mode`. Any thread.
  ///
  /// Blocks run in the order in which they were posted. `.common` means any common mode. If the loop sleeps, the call
  /// wakes it with one epoll_ctl(2). A block that is posted by a block waits for the next drain. While a block runs the
  /// loop, the rest of its drain waits: stop such a run by a source, a timer or ``requestStop()``, not by a block.
  /// O(1). See CFRunLoopPerformBlock.
  ///
  /// - Parameter waking: False leaves a sleeping loop asleep, as CFRunLoopPerformBlock does.
  /// - Returns: False if the loop's thread has ended. The block is then dropped.
  @discardableResult
  public func perform(in mode: Mode, waking: Bool = true, _ block: sending @escaping () -> Void) -> Bool {
    checkProcess()
    return post(Block(block, modes: mode == .default ? .default : workModes([mode])), waking: waking)
  }

  /// Runs `block` once, in the first of `modes` that is served. Any thread. Without a mode, it never runs.
  @discardableResult
  public func perform(in modes: [Mode], waking: Bool = true, _ block: sending @escaping () -> Void) -> Bool {
    checkProcess()
    return post(Block(block, modes: workModes(modes)), waking: waking)
  }

  private func workModes(_ modes: [Mode]) -> ModeSet {
    let isOwn = isCurrent
    if isOwn { for mode in modes { core.makeRoom(for: mode) } }
    return mailbox.withLock { $0.workModes(modes, stays: !isOwn) }
  }

  @inline(__always)
  private func post(_ block: consuming Block, waking: Bool) -> Bool {
    if core.hasMailListener { return postReporting(block, waking: waking) }
    return deliver(block, waking: waking)
  }

  @inline(never)
  private func postReporting(_ block: consuming Block, waking: Bool) -> Bool {
    deliver(core.reportPost(block), waking: waking)
  }

  @inline(__always)
  private func deliver(_ block: consuming Block, waking: Bool) -> Bool {
    guard isCurrent else { return postFromElsewhere(block, waking: waking) }
    // What others posted before comes first. Quietly: a caller may post under a lock.
    _ = core.applyMailForLater()
    guard mailbox.life == .open else { return false }
    core.blocks.append(block)
    core.agenda.insert(.work)
    if waking { core.wakeFromOwnThread() }
    return true
  }

  @inline(never)
  private func postFromElsewhere(_ block: consuming Block, waking: Bool) -> Bool {
    guard let isFirst = mailbox.leave(block) else { return false }
    // A poster that finds mail does not announce it again: the first poster does.
    if isFirst || waking { wakeup.post(waking ? [.mail, .wake] : .mail) }
    return true
  }
}
