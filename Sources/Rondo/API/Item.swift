import Synchronization

// An item has four lives, and each ends by a rule of its own:
//
// - The object lives as long as there is a reference to it. A loop's slot table holds one from the first `add` to the
//   last `remove`, so the user need not.
// - Its validity begins with `init` and ends once: by `invalidate()`, on any thread; or by its loop, when a
//   one-shot has fired, a descriptor has gone, or the loop's thread ends.
// - Its membership is what other threads see: which loop it is in (`membership`), and in which of its modes (`modes`).
//   `add` and `remove` change both at once, under the item lock, on the thread of their caller.
// - Its residence is what the loop's thread keeps of it: a slot, entries in heaps and lists, a watch in the kernel. It
//   follows membership, by mail if another thread has changed that, and ends with `releaseSlot`, which frees the item for
//   another loop.
//
// Its handlers, and what they captured, live until it is invalid and no thread can be calling them: `holdHandlers()`.

extension Loop {
  /// A timer, source, descriptor source or observer of a loop.
  ///
  /// Make one with `init` of its kind, and add it to modes with `Loop.add(_:to:)`. The loop keeps the item and the
  /// captures of its handler until you invalidate the item or remove it from every mode. You need not keep a reference.
  /// Every member is callable from any thread.
  @safe public class Item: @unchecked Sendable {
    /// *atomic* Which loop it is in, whether it is valid, how many hold its handlers, and the item lock: taken inside the
    /// mailbox lock, never around it. Nothing is called out in it. The loop leaves it before the loop is freed.
    let membership = MembershipWord()
    /// *item lock* for writing, any thread for reading: one bit for each mode the item belongs to.
    let modes = Atomic<UInt64>(0)
    /// *loop thread* of the owner: where its slot table keeps what it keeps of the item; -1 when it does not.
    @safe @exclusivity(unchecked) var slot: Int32 = -1
    /// *constant* `order`, in half the room.
    private let place: Int32
    /// *atomic* Where the last change of its modes may stand in its loop's mail.
    let mailed = Atomic<UInt32>(.max)
    /// *constant*
    let kind: Kind
    /// *atomic* What its loop's thread has been mailed, or is about to be, and has not looked at yet: `Note` bits.
    /// Ordering: a poster changes the item (its date, its interest), then sets the bit; the loop's thread clears the bit,
    /// then reads the item. A change that it does not see is mailed again.
    let notes = Atomic<UInt8>(0)
    /// *atomic* What it is called, or where it was made.
    private let labelWord: Atomic<UInt64>

    enum Kind: UInt8 {
      case observer, source, descriptor, timer
    }

    @inline(__always)
    init(kind: Kind, order: Int, _ label: Label) {
      self.kind = kind
      labelWord = Atomic(label.word)
      place = Int32(clamping: order)
      if Hint.isOn, label.isOfRondo { noteOwn() }
    }

    deinit {
      if Hint.isOn, membership.load().wasForgotten { hintAtNeverAdded() }
    }

    /// The position among items of its kind: lower runs first. Clamped to `Int32`.
    ///
    /// Items of equal order run in order of insertion.
    public final var order: Int { Int(place) }

    /// The item's name in reports: the place where it was made, unless you set one. Any thread.
    ///
    /// The default is like "Module/File.swift:42". A name takes effect with the next callout. Use one name for a kind
    /// of items: a process keeps the first 16,384 different names permanently, up to 127 bytes of each. After that,
    /// setting a new name does nothing.
    public final var name: String {
      get { label.text ?? "?" }
      set { if let label = Label(name: newValue) { labelWord.store(label.word, ordering: .releasing) } }
    }

    /// What it is called, for a delegate.
    package final var label: Label {
      get { Label(word: labelWord.load(ordering: .acquiring)) }
      set { labelWord.store(newValue.word, ordering: .releasing) }
    }

    /// The user made the item at this place in the source, and is to add it to a loop.
    package final func wasMade(at label: Label) {
      self.label = label
      if Hint.isOn { membership.change { $0.noteOwn(false) } }
    }

    /// The library has made the item for itself. In debug builds alone.
    final func noteOwn() { membership.change { $0.noteOwn(true) } }

    /// A loop was asked to take the item. In debug builds alone.
    final func noteAdded(to loop: Loop, _ isMember: Bool) {
      membership.change { $0.noteAdded() }
      if !isMember, !membership.load().isOwn { hintAtRefusal(by: loop) }
    }

    /// Whether the loop can still call the item. Any thread.
    public final var isValid: Bool { membership.load().isValid }

    /// Removes the item from every mode permanently. Its handlers are not called again. Any thread.
    ///
    /// The call does not wait for a callout that is running on the loop's thread. The loop frees the handlers and their
    /// captures as soon as no callout of the item can be running. See CFRunLoopTimerInvalidate,
    /// CFRunLoopSourceInvalidate, CFRunLoopObserverInvalidate. In a forked child, an item of the parent's stays as it is.
    public final func invalidate() {
      _ = end {}
    }

    /// Makes the item invalid and takes it out of its loops. Calls out.
    ///
    /// - Parameter because: Called first, if this call is the one that ends it.
    /// - Returns: Whether it is.
    @inline(__always)
    final func end(because note: () -> Void) -> Bool {
      Lock.assertNoneHeld()
      if ProcessGeneration.isForked, isOfParent { return false }
      if kind != .source, let loop = unsafe ownLoop {
        return unsafe loop._withUnsafeGuaranteedRef { $0.end(self, because: note) }
      }
      return endElsewhere(because: note)
    }

    /// The same for a source, and on another thread than its loop's.
    private func endElsewhere(because note: () -> Void) -> Bool {
      // A source calls its cancel handler here. Held before it is invalid, so that no other holder is the last.
      let isHeld = kind == .source
      if isHeld { holdHandlers() }
      defer { if isHeld { unholdHandlers() } }
      guard membership.change({ $0.end() }) else { return false }
      note()
      // Kept until the end: the loop may have had the last reference.
      let evicted = leaveLoops()
      wasInvalidated()
      let isLast = membership.change { evicted == nil ? $0.releaseIfFree() : $0.unhold() }
      if isLast { releaseHandlers() }
      return true
    }

    /// Takes the item, which is invalid, out of the loops it is in. Calls out.
    ///
    /// - Returns: The item if it has been evicted, with its table's hold on the handlers.
    func leaveLoops() -> Item? { loop?.removeFromAllModes(self).evicted }

    /// Called once, by the thread that made the item invalid, with no lock held.
    func wasInvalidated() {}

    /// Whether the item is a member of the mode with this bit right now.
    @inline(__always)
    final func belongs(to bit: UInt64) -> Bool {
      modes.load(ordering: .relaxed) & bit != 0
    }

    // MARK: - Membership

    /// What stands for the item in a loop; nil if it is not there.
    func registration(in loop: Loop) -> Item? { isIn(loop) ? self : nil }

    /// Joins a mode of a loop. Calls out.
    ///
    /// - Returns: Whether it is a member afterwards.
    func enter(_ loop: Loop, _ mode: Mode) -> Bool {
      let isOwn = loop.isCurrent
      let joined = loop.enroll(self, mode, isOwn: isOwn)
      loop.settle(self, joined ?? 0, isOwn: isOwn)
      return joined != nil
    }

    /// Leaves a mode of a loop. Calls out.
    func exit(_ loop: Loop, _ mode: Mode) {
      _ = loop.removeAndReport(self, from: mode)
    }

    /// Its loop's thread has taken it out of modes, and may have freed it. With no lock held.
    func didLeaveLoop() {}

    // MARK: - The life of the handlers

    /// What one mail to the loop's thread says of an item; said again, it costs no other mail.
    enum Note {
      /// A timer's date, interval or tolerance was set.
      static let rescheduled: UInt8 = 1
      /// What a descriptor source wants to hear has changed.
      static let interest: UInt8 = 2
      /// A source was signalled.
      static let signalled: UInt8 = 4
    }

    /// Keeps the handlers alive until `unholdHandlers()`.
    ///
    /// The slot table that the item is in does; so does a thread that calls a handler outside of a turn: `fire()`.
    final func holdHandlers() { membership.change { $0.hold() } }

    /// Drops one hold. The last hold of an invalid item frees the handlers: closures may die here.
    final func unholdHandlers() {
      Lock.assertNoneHeld()
      if membership.change({ $0.unhold() }) { releaseHandlers() }
    }

    /// Drops the handlers: no thread is calling them, and none will.
    func releaseHandlers() {
      preconditionFailure("Each kind of item lets go of its own handlers.")
    }
  }
}

/// An unchecked cast, which the item's kind justifies.
@inline(__always)
func downcast<T: Loop.Item>(_ item: Loop.Item, to type: T.Type) -> T {
  unsafe unsafeDowncast(item, to: type)
}
