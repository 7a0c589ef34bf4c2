import Synchronization

/// Sources signalled by other threads, on their way to the loop's: a stack without a lock, taken as a whole.
///
/// A signal is the mail there is most of, needs no order (its ticket has that), and is the same mail if it comes twice.
/// So it need not open the mailbox: two atomic operations to leave it, one to take all there are.
///
/// Ordering: a poster sets `isStacked`, pushes, then posts to the wakeup. The loop's thread takes the stack, clears
/// `isStacked`, then takes the ticket: a signal whose poster still saw `isStacked` has its ticket taken.
@safe struct SignalStack: ~Copyable, Sendable {
  /// *atomic* Every entry is a reference that the stack owns. Ordering: see above.
  private let top = unsafe Atomic<Unmanaged<Loop.Source>?>(nil)

  /// Leaves the source for the loop. Any thread.
  ///
  /// - Returns: False if it stands on a stack already, this loop's or that of one it was in before.
  @inline(__always)
  borrowing func push(_ source: Loop.Source) -> Bool {
    if source.isStacked.exchange(true, ordering: .sequentiallyConsistent) { return false }
    let entry = unsafe Unmanaged.passRetained(source)
    var seen = unsafe top.load(ordering: .relaxed)
    while true {
      unsafe source.below = seen
      let (exchanged, now) = unsafe top.weakCompareExchange(
        expected: seen, desired: entry, ordering: .sequentiallyConsistent)
      if exchanged { return true }
      unsafe seen = now
    }
  }

  /// Takes every entry, the latest first. The loop's thread, or a poster that finds the loop ended.
  @inline(__always)
  borrowing func takeAll(_ body: (Loop.Source) -> Void) {
    var next = unsafe top.exchange(nil, ordering: .sequentiallyConsistent)
    while let entry = unsafe next {
      let source = unsafe entry.takeRetainedValue()
      unsafe next = source.below
      // From here on it may come again, and `body` sees what was signalled before.
      source.isStacked.store(false, ordering: .sequentiallyConsistent)
      body(source)
    }
  }
}
