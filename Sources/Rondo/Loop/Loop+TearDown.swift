import Glibc

/// The end of a loop, with its thread.
extension Loop {
  /// Invalidates the loop's items, drops its blocks and closes its descriptors. The loop's thread, after its last run.
  ///
  /// Timers, observers and descriptor sources become invalid; a source only leaves this loop, with its cancel handler
  /// called. Whatever is posted later is refused.
  func tearDown() {
    let mail = mailbox.withLock { state in
      state.isDead = true
      return state.takeMail()
    }
    core.apply(mail)
    for item in core.slots.all {
      if item.kind == .attachment {
        let attachment = downcast(item, to: SourceAttachment.self)
        expel(attachment)
        attachment.source.drop(attachment)
      } else {
        item.invalidate()
      }
    }
    // What another thread invalidates at this moment is in mail that nobody will read.
    for item in core.slots.all { core.uninstall(item, from: .max, isCommon: false) }
    wakeup.close()
    core.end()
    if wakeup.descriptor >= 0 { _ = Glibc.close(wakeup.descriptor) }
  }
}

extension LoopCore {
  /// Lets go of everything that could keep the loop or somebody's closure alive.
  fileprivate func end() {
    retire()
    let blocks = self.blocks
    self.blocks = []
    for mode in modes { mode.spareFrames = [] }
    modes = []
    // The loop is gone when its last reference is, and modes still list sources that were signalled.
    mailbox.withLock { $0.states = [] }
    wait.close()
    // Closures die here, with nothing of the loop left in use.
    _ = blocks
  }
}
