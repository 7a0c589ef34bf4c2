import Synchronization

extension Loop {
  /// What a loop's modes hold: a timer, a source, a descriptor source or an observer.
  ///
  /// Made with `init` of its kind, put into modes with `Loop.add(_:to:)`. Every member is callable from any thread.
  public class Item: @unchecked Sendable {
    /// Lower runs first among items of its kind; equal orders run in order of insertion.
    public let order: Int
    /// *constant*
    let kind: Kind
    /// *mailbox lock* of the owner for writing, any thread for reading: one bit for each mode the item belongs to.
    let modes = Atomic<UInt64>(0)
    /// *atomic* Cleared once and for ever.
    private let valid = Atomic<Bool>(true)
    /// *mailbox lock* of the owner: whether it stands in the loop's common-mode item set.
    @safe @exclusivity(unchecked) var isCommon = false
    /// *its own lock, inside the mailbox lock* The one loop the item belongs to. An attachment's never changes.
    @safe @exclusivity(unchecked) private var owner: Loop?
    /// *constant* Taken inside the mailbox lock, never around it.
    private let ownerLock = Lock()

    /// *constant* from before the item joins a loop. Who is told when it becomes invalid.
    @safe @exclusivity(unchecked) final var follower: ItemFollower?
    /// *loop thread* The modes whose structures hold the item: `modes` as far as mail has been applied.
    @safe @exclusivity(unchecked) var installed: UInt64 = 0
    /// *loop thread* Where the slot table keeps it; -1 when it does not.
    @safe @exclusivity(unchecked) var slot: Int32 = -1
    /// *loop thread* A timer's current version: heap entries with another are stale.
    @safe @exclusivity(unchecked) var version: UInt32 = 0
    /// *loop thread* How many of its callouts are under way, nested runs included.
    @safe @exclusivity(unchecked) var callouts: UInt32 = 0

    enum Kind: UInt8 {
      case observer, source, attachment, descriptor, timer
    }

    init(kind: Kind, order: Int) {
      self.kind = kind
      self.order = order
    }

    /// Whether the item can still be called.
    public final var isValid: Bool {
      valid.load(ordering: .sequentiallyConsistent)
    }

    /// Takes the item out of every mode for good; nothing of it is called again. Any thread.
    ///
    /// A callout that is running on the loop's thread at this moment is not waited for. See CFRunLoopTimerInvalidate,
    /// CFRunLoopSourceInvalidate, CFRunLoopObserverInvalidate.
    public final func invalidate() {
      guard valid.exchange(false, ordering: .sequentiallyConsistent) else { return }
      if kind == .source {
        downcast(self, to: Source.self).detachEverywhere()
      } else if let loop = withOwner({ $0 }) {
        loop.expel(self)
      } else if kind == .descriptor {
        downcast(self, to: DescriptorSource.self).closeIfAsked()
      }
      follower?.itemWasInvalidated(self)
    }

    /// Runs `body` on the item's owner, under its lock.
    @inline(__always)
    final func withOwner<Result>(_ body: (inout Loop?) -> Result) -> Result {
      ownerLock.withLock { body(&owner) }
    }

    /// Whether the item is a member of the mode with this bit right now.
    @inline(__always)
    final func belongs(to bit: UInt64) -> Bool {
      modes.load(ordering: .relaxed) & bit != 0
    }

    /// Clears the valid bit without leaving the modes.
    final func markInvalid() -> Bool {
      valid.exchange(false, ordering: .sequentiallyConsistent)
    }
  }
}

/// A cast whose truth the item's kind vouches for.
@inline(__always)
func downcast<T: Loop.Item>(_ item: Loop.Item, to type: T.Type) -> T {
  unsafe unsafeDowncast(item, to: type)
}
