import Glibc
import Synchronization

/// The end of a loop, with its thread.
extension Loop {
  /// Invalidates the loop's items, drops its blocks and closes its descriptors. The loop's thread, after its last run.
  ///
  /// Timers, observers and descriptor sources become invalid; a source only leaves this loop, with its cancel handler
  /// called. Whatever is posted later is refused.
  func tearDown() {
    refuseMail()
    let companion = mailbox.withLock { $0.companion.take() }
    defer { _ = companion }
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
    for item in core.slots.all { core.uninstall(item, from: .max) }
    wakeup.close()
    core.end()
    if wakeup.descriptor >= 0 { _ = Glibc.close(wakeup.descriptor) }
  }
}

/// What becomes of the blocks of a loop that will not run again.
extension Loop {
  /// Refuses whatever is posted from now on, and runs the default mode until the blocks accepted before have run.
  ///
  /// The loop's thread, after its last ordinary run. Calls out.
  func serveAcceptedBlocks() {
    refuseMail()
    // A stop that comes meanwhile would end the run before its blocks.
    while core.hasBlocks(in: core.modeState(0)) {
      _ = wakeup.take([.stop, .stopRequest])
      run(in: .default, for: .zero)
    }
  }

  /// Has every block that has not begun dropped instead of run. Any thread.
  func discardBlocks() {
    core.discardsBlocks.store(true, ordering: .relaxed)
  }

  /// Closes the mailbox, and applies what is in it.
  private func refuseMail() {
    let mail = mailbox.withLock { state in
      state.isDead = true
      return state.takeMail()
    }
    core.apply(mail)
    core.refusesBlocks = true
  }
}

extension LoopCore {
  /// Lets go of everything that could keep the loop or somebody's closure alive.
  fileprivate func end() {
    retire()
    let blocks = self.blocks
    self.blocks = []
    let modes = self.modes
    frames = []
    self.modes = []
    let published = mailbox.withLock { state in
      defer { state.states = [] }
      return state.states
    }
    wait.close()
    // Closures die here, with nothing of the loop left in use: those of blocks, and of sources that were signalled.
    _ = (blocks, modes, published)
  }
}
