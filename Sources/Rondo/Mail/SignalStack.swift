import Synchronization

/// Signalled sources on their way from other threads to the loop's: a stack without a lock, taken as a whole.
///
/// A signal is the mail there is most of, needs no order (its ticket has that), and is the same mail if it comes twice.
/// So it need not open the mailbox: two atomic operations to leave it, one to take all there are.
@safe struct SignalStack: ~Copyable, Sendable {
  /// *atomic* Every entry is a reference that the stack owns.
  private let top = unsafe Atomic<Unmanaged<SourceAttachment>?>(nil)

  /// Leaves the attachment for the loop, unless it is there already. Any thread.
  @inline(__always)
  borrowing func push(_ attachment: SourceAttachment) {
    if attachment.isPosted.exchange(true, ordering: .sequentiallyConsistent) { return }
    let entry = unsafe Unmanaged.passRetained(attachment)
    var seen = unsafe top.load(ordering: .relaxed)
    while true {
      unsafe attachment.below = seen
      let (exchanged, now) = unsafe top.weakCompareExchange(
        expected: seen, desired: entry, ordering: .sequentiallyConsistent)
      if exchanged { return }
      unsafe seen = now
    }
  }

  /// Takes every entry, the latest first. The loop's thread, or whoever finds the loop ended.
  @inline(__always)
  borrowing func takeAll(_ body: (SourceAttachment) -> Void) {
    var next = unsafe top.exchange(nil, ordering: .sequentiallyConsistent)
    while let entry = unsafe next {
      let attachment = unsafe entry.takeRetainedValue()
      unsafe next = attachment.below
      // From here on it may come again, and `body` sees what was signalled before.
      attachment.isPosted.store(false, ordering: .sequentiallyConsistent)
      body(attachment)
    }
  }
}
