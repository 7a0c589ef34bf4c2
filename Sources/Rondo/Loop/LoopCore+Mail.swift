/// Applying what other threads have left.
extension LoopCore {
  /// 1. apply mail: makes every structural change that has been posted, and takes over the posted blocks.
  ///
  /// Costs one relaxed load when there is none.
  @inline(__always)
  func applyMail() {
    if wakeup.has(.mail) { applyPendingMail() }
  }

  @inline(never)
  private func applyPendingMail() {
    // The bit goes before the mail is taken: a poster that finds the mailbox empty afterwards sets it again.
    _ = wakeup.take(.mail)
    var mail = spareMail
    spareMail = Mail()
    mailbox.withLock { swap(&$0.mail, &mail) }
    apply(&mail)
    if spareMail.isEmpty { spareMail = mail }
  }

  /// Makes the changes of `mail` and empties it.
  func apply(_ mail: inout Mail) {
    for change in mail.changes { apply(change) }
    if !mail.blocks.isEmpty { blocks.append(contentsOf: mail.blocks) }
    mail.changes.removeAll(keepingCapacity: true)
    mail.blocks.removeAll(keepingCapacity: true)
  }

  /// Makes the changes of mail that was taken together with a change of the loop's own thread.
  @inline(__always)
  func apply(_ mail: Mail) {
    if mail.isEmpty { return }
    var mail = mail
    apply(&mail)
  }

  func apply(_ change: Change) {
    switch change {
    case .install(let item, let modes): install(item, in: modes)
    case .uninstall(let item, let modes): uninstall(item, from: modes)
    case .joinCommon(let mode): joinCommon(mode)
    case .signalled(let attachment): enqueueSignal(of: attachment)
    case .rescheduled(let timer): reschedule(timer)
    case .interestChanged(let source): markDirty(source)
    }
  }

  /// Hands a wakeup or stop that came from elsewhere to the runs it concerns.
  ///
  /// - Parameter keeping: Whether this run's next wait shall return at once; false where the run goes round anyway.
  @inline(__always)
  func absorbPosts(_ frame: RunFrame, keepingWake keeping: Bool) {
    if wakeup.has([.wake, .stop]) { absorbPendingPosts(frame, keepingWake: keeping) }
  }

  @inline(never)
  private func absorbPendingPosts(_ frame: RunFrame, keepingWake keeping: Bool) {
    let bits = wakeup.take([.wake, .stop])
    if bits.contains(.stop) { frame.isStopped = true }
    guard bits.contains(.wake) else { return }
    for outer in frames[..<(depth - 1)] { outer.noteWake(at: now) }
    if keeping { frame.noteWake(at: now) }
  }

  /// A wakeup asked for on the loop's own thread.
  func wakeFromOwnThread() {
    for frame in frames[..<depth] { frame.noteWake(at: servesOneEventPerTurn ? wait.now : now) }
  }
}
