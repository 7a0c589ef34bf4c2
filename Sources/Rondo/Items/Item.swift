import Synchronization

extension Loop {
  /// What a loop's modes hold: a timer, a source, a descriptor source or an observer.
  ///
  /// Made with `init` of its kind, put into modes with `Loop.add(_:to:)`. Every member is callable from any thread.
  public class Item: @unchecked Sendable {
    /// *constant* `order`, in half the room.
    private let place: Int32
    /// *atomic* Whether it is valid, and who may still call its handlers.
    private let lifetime = Atomic<UInt32>(0)
    /// *mailbox lock* of the owner for writing, any thread for reading: one bit for each mode the item belongs to.
    let modes = Atomic<UInt64>(0)
    /// *its own lock, inside the mailbox lock* The one loop the item belongs to. An attachment's never changes.
    @safe @exclusivity(unchecked) private var owner: Loop?
    /// *constant* Taken inside the mailbox lock, never around it.
    private let ownerLock = Lock()
    /// *loop thread* of the owner: where its slot table keeps what it keeps of the item; -1 when it does not.
    @safe @exclusivity(unchecked) var slot: Int32 = -1
    /// *constant*
    let kind: Kind
    /// *atomic* What its loop's thread has been mailed, or is about to be, and has not looked at yet: `Note` bits.
    let notes = Atomic<UInt8>(0)
    /// *mailbox lock* of the owner: where the last change of its modes stands in the owner's mail.
    @safe @exclusivity(unchecked) var mailed = ChangeList.Place.none
    /// *mailbox lock* of the owner: whether it stands in the loop's common-mode item set.
    @safe @exclusivity(unchecked) var isCommon = false

    enum Kind: UInt8 {
      case observer, source, attachment, descriptor, timer
    }

    init(kind: Kind, order: Int) {
      self.kind = kind
      place = Int32(clamping: order)
    }

    /// Lower runs first among items of its kind; equal orders run in order of insertion. What goes beyond 32 bits counts
    /// as the nearest number that does not.
    public final var order: Int { Int(place) }

    /// Whether the item can still be called.
    public final var isValid: Bool {
      lifetime.load(ordering: .sequentiallyConsistent) & Lifetime.invalid == 0
    }

    /// Takes the item out of every mode for good; nothing of it is called again. Any thread.
    ///
    /// A callout that is running on the loop's thread at this moment is not waited for. The handlers, and what they
    /// captured, are let go of as soon as none of them can be running. See CFRunLoopTimerInvalidate,
    /// CFRunLoopSourceInvalidate, CFRunLoopObserverInvalidate.
    public final func invalidate() {
      holdHandlers()
      defer { unholdHandlers() }
      let (old, _) = lifetime.bitwiseOr(Lifetime.invalid, ordering: .sequentiallyConsistent)
      guard old & Lifetime.invalid == 0 else { return }
      if kind == .source {
        downcast(self, to: Source.self).detachEverywhere()
      } else {
        withOwner { $0 }?.expel(self)
        if kind == .descriptor { downcast(self, to: DescriptorSource.self).closeIfFree() }
      }
      wasInvalidated()
    }

    /// Called once, by whoever made the item invalid, with no lock held.
    func wasInvalidated() {}

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

    // MARK: - The life of the handlers

    /// What one mail to the loop's thread says of an item; said again, it costs no other mail.
    enum Note {
      /// A timer's date, interval or tolerance was set.
      static let rescheduled: UInt8 = 1
      /// Its entries in the heaps may be too late now, or in the wrong heap.
      static let mayBeSooner: UInt8 = 2
      /// What a descriptor source wants to hear has changed.
      static let interest: UInt8 = 4
    }

    /// Keeps the handlers until `unholdHandlers()`. A slot table does, and whoever calls them without one.
    final func holdHandlers() {
      if kind == .attachment { return downcast(self, to: SourceAttachment.self).source.holdHandlers() }
      lifetime.add(Lifetime.holder, ordering: .sequentiallyConsistent)
    }

    /// The last to stop holding an invalid item's handlers lets go of them. Closures may die here.
    final func unholdHandlers() {
      if kind == .attachment { return downcast(self, to: SourceAttachment.self).source.unholdHandlers() }
      let (_, left) = lifetime.subtract(Lifetime.holder, ordering: .sequentiallyConsistent)
      guard left == Lifetime.invalid else { return }
      let (old, _) = lifetime.bitwiseOr(Lifetime.released, ordering: .sequentiallyConsistent)
      if old & Lifetime.released == 0 { releaseHandlers() }
    }

    /// Lets go of the handlers: nobody can be calling them, and nobody will.
    func releaseHandlers() {
      preconditionFailure("Each kind of item lets go of its own handlers.")
    }

    /// The bits of `lifetime`.
    private enum Lifetime {
      /// Set once and for ever.
      static let invalid: UInt32 = 1
      /// The handlers have been let go of.
      static let released: UInt32 = 2
      /// One of those who may call them.
      static let holder: UInt32 = 4
    }
  }
}

/// A cast whose truth the item's kind vouches for.
@inline(__always)
func downcast<T: Loop.Item>(_ item: Loop.Item, to type: T.Type) -> T {
  unsafe unsafeDowncast(item, to: type)
}
