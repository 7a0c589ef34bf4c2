import CLinux
import Glibc
import Synchronization

/// The end of a loop, with its thread.
extension Loop {
  /// Invalidates the loop's items, runs its last jobs, drops its blocks and closes its descriptors. The loop's thread,
  /// after its last run.
  ///
  /// Timers, observers and descriptor sources become invalid; a source only leaves this loop, with its cancel handler
  /// called. Timeouts are discarded. Whatever is posted later is refused. Calls out.
  func tearDown() {
    core.endGuest()
    refuseMail()
    // The mailbox is closed, so no other one can be named.
    core.foreignLoop?.end()
    for item in core.allItems {
      if item.kind == .source {
        downcast(item, to: Source.self).leave(self)
      } else if item.whileIn(self, { !item.isUnregistered }) ?? false {
        item.invalidate()
      }
    }
    // An item that another thread took out just now is in mail that is applied no more. One that it made invalid and
    // has not taken out yet leaves here: that thread must not find an owner that is gone.
    for item in core.allItems where item.slot >= 0 { core.release(item) }
    core.callOutAfterMail()
    core.discardTimeouts()
    core.dropBlocks()
    // Tasks that waited for an item or a block have been resumed, so some of these jobs are theirs.
    core.serveLastJobs()
    core.orphanJobs()
    wakeup.close()
    core.takeSignals()
    core.callOutAfterMail()
    core.end()
    if wakeup.descriptor >= 0 { OwnDescriptors.close(wakeup.descriptor) }
    freeCompanions()
    core.detachedJobs!.open()
  }

  /// Frees them outside of the lock: what is freed with them finds an ended loop. Calls out.
  private func freeCompanions() {
    let companions = mailbox.withLock { state in
      defer { state.companions = [] }
      return state.companions
    }
    _ = companions
  }

  /// Says on stderr that the main thread ends, and its loop with items in it. A program that runs its main loop does not
  /// get here: an async `main` without RondoMain does, when it suspends for the first time.
  func warnOfLostItems() {
    let items = core.allItems
    guard let first = items.first else { return }
    let others = items.count == 1 ? "" : " and \(items.count - 1) more"
    warn(
      """
      The main thread ends, and Loop.main with it: \(first.name)\(others) became invalid. In a program whose main is async, \
      import RondoMain; else call Loop.main.run().
      """)
  }
}

/// What becomes of the blocks of a loop that will not run again.
extension Loop {
  /// Refuses whatever is posted from now on, and runs the default mode until the blocks accepted before have run.
  ///
  /// The loop's thread, after its last ordinary run. Calls out.
  func serveAcceptedBlocks() {
    refuseMail()
    // A stop that was posted since the last run would end this one before its blocks.
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
      mailbox.advance(to: .refusing)
      return state.takeMail()
    }
    core.apply(mail)
    core.callOutAfterMail()
  }
}

extension LoopCore {
  /// Drops everything that could keep the loop or a user's closure alive.
  fileprivate func end() {
    retire()
    for mode in modes { mode.dropFrames() }
    modes = []
    // The loop is gone when its last reference is, and modes still list sources that were signalled.
    let unread = mailbox.withLock { state in
      state.states = []
      mailbox.advance(to: .ended)
      let unread = state.takeMail()
      // Taken out since the table was emptied. From here on, a thread that takes an item out also frees it.
      for item in unread?.changes.members ?? [] { _ = item.whileIn(loop) { item.leaveLoopIfUnregistered() } }
      return unread
    }
    for item in unread?.changes.members ?? [] { item.didLeaveLoop() }
    wait.close()
  }

  /// Blocks that never ran, and what they captured, die here, while jobs that come of it are still served.
  fileprivate func dropBlocks() {
    _ = blocks.takeAll()
  }
}
