import Synchronization

/// What a floor above asks of a loop to tell what it is doing.
extension Loop {
  /// Makes `delegate` the loop's, unless the loop has one. Any thread; permanent.
  ///
  /// - Returns: The loop's delegate.
  package func attach(_ delegate: any LoopDelegate) -> any LoopDelegate {
    let new = unsafe Unmanaged.passRetained(DelegateBox(delegate))
    let (isFirst, old) = unsafe core.delegate.compareExchange(
      expected: nil, desired: new, ordering: .acquiringAndReleasing)
    if isFirst {
      core.note(.delegate)
      unsafe new._withUnsafeGuaranteedRef { $0.showItems(of: core) }
      return delegate
    }
    unsafe new.release()
    return unsafe old!.takeUnretainedValue().delegate
  }

  /// Has the delegate told of sleeps from now on, too. Any thread; permanent.
  package func reportSleeps() {
    core.note(.watchedSleep)
  }

  /// Any thread.
  package var delegate: (any LoopDelegate)? {
    unsafe core.delegate.load(ordering: .acquiring)?._withUnsafeGuaranteedRef { $0.delegate }
  }

  /// The loop's clock, in nanoseconds.
  package var clockNanoseconds: Int64 { now.nanoseconds }

  /// The kernel's name for the loop's thread; 0 before it has been there. Any thread.
  package var threadNumber: Int32 { thread.number }

  /// The thread, in words. Any thread.
  package var threadDescription: String { thread.description }

  /// What waits in the mailbox: changes, blocks and jobs. Any thread.
  package var mailed: (changes: Int, blocks: Int, jobs: Int) {
    mailbox.withLock { ($0.mail.changes.count, $0.mail.blocks.count, $0.mail.jobs.count) }
  }

  /// Each mode by name, with the date of its next timer as the loop last went to sleep with it; nil for none. Any thread.
  package var modeDates: [(mode: Mode, date: Int64?)] {
    mailbox.withLock { state in
      state.modes.names.indices.compactMap { index in
        guard let name = state.modes.names[index] else { return nil }
        let date = index < state.states.count ? state.states[index].publishedFireDate.load(ordering: .relaxed) : .max
        return (name, date == .max ? nil : date)
      }
    }
  }
}
