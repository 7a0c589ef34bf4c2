import Synchronization

/// Which loop an item is in, and which of its modes: what other threads see.
extension Loop.Item {
  /// The loop the item is in. Any thread.
  var loop: Loop? {
    // Under the lock, so that the loop is not freed before it is retained.
    membership.withLock { unsafe membership.load().owner?.takeUnretainedValue() }
  }

  /// Whether the item is in a loop of the process that this one was forked from.
  var isOfParent: Bool { membership.isLeftLocked || loop.map { !$0.thread.isOfThisProcess } ?? false }

  /// The loop the item is in, if that is the calling thread's: neither a lock nor a reference count.
  @inline(__always)
  var ownLoop: Unmanaged<Loop>? {
    guard let owner = unsafe membership.load().owner, unsafe owner.toOpaque() == ThreadRecord.loopAddress else {
      return nil
    }
    return unsafe owner
  }

  /// Whether the item is in the loop. Certain on the loop's thread, which alone frees it, and which then sees what the
  /// thread of the loop before has left of it.
  @inline(__always)
  func isIn(_ loop: Loop) -> Bool { membership.load().isIn(loop.address) }

  /// Whether it stands in its loop's common-mode item set. Certain under the item lock.
  @inline(__always)
  var isCommon: Bool { membership.load().isCommon }

  /// Runs `body` under the item lock, if the item is in `loop`.
  @inline(__always)
  func whileIn<Result>(_ loop: Loop, _ body: () -> Result) -> Result? {
    membership.withLock { isIn(loop) ? body() : nil }
  }

  /// Makes the item a member of modes of `loop`, as far as other threads can see.
  ///
  /// - Parameters:
  ///   - isOwn: The loop's thread calls, and gives the item a slot next if it has none and has joined a mode. The item's
  ///     handlers are held for that slot.
  ///   - mail: Called under the item lock with the modes it has newly joined.
  /// - Returns: These modes; nil if it is invalid or in another loop.
  @inline(__always)
  func join(_ loop: Loop, _ seats: ModeSet, isOwn: Bool, mail: (UInt64) -> Void) -> UInt64? {
    guard let isNew = membership.change({ $0.lock(joining: loop.address) }) else { return nil }
    // Mail that its last loop has not looked at says nothing to this one.
    if isNew, notes.load(ordering: .relaxed) != 0 { notes.store(0, ordering: .sequentiallyConsistent) }
    if seats.isCommon, !isCommon {
      membership.amend { $0.setCommon(true) }
      loop.mailbox.commonItemCount.add(1, ordering: .relaxed)
    }
    let joined = join(seats.modes)
    mail(joined)
    let takesSlot = isOwn && joined != 0 && slot < 0
    membership.amend {
      if takesSlot { $0.hold() }
      $0.unlock()
    }
    return joined
  }

  /// Makes the item a member of modes of the loop it is in. Under the item lock.
  ///
  /// - Returns: Those it has newly joined.
  @inline(__always)
  func join(_ wanted: UInt64) -> UInt64 {
    let old = modes.load(ordering: .relaxed)
    modes.store(old | wanted, ordering: .releasing)
    return wanted & ~old
  }

  /// Whether it is valid, and in no other loop. Certain under the item lock.
  @inline(__always)
  func mayJoin(_ loop: Loop) -> Bool { membership.load().mayJoin(loop.address) }

  /// Takes the item out of modes. Under the item lock, of an item in `loop`.
  ///
  /// - Returns: The modes it left; nil if it was to leave the common modes and is not in their set.
  @inline(__always)
  func leave(_ loop: Loop, _ seats: ModeSet) -> UInt64? {
    if seats.isCommon {
      if !isCommon, seats.modes != .max { return nil }
      if isCommon {
        loop.mailbox.commonItemCount.subtract(1, ordering: .relaxed)
        membership.amend { $0.setCommon(false) }
      }
    }
    let old = modes.load(ordering: .relaxed)
    modes.store(old & ~seats.modes, ordering: .releasing)
    return old & seats.modes
  }

  /// Whether it is in no mode and not in the common set. Under the item lock.
  var isUnregistered: Bool {
    modes.load(ordering: .relaxed) == 0 && !isCommon
  }

  /// Frees a homeless item for another loop. Under the item lock.
  func leaveLoopIfUnregistered() {
    if isUnregistered { membership.amend { $0.leaveLoop() } }
  }
}

extension Membership {
  /// The loop, as a reference that is not counted.
  @inline(__always)
  fileprivate var owner: Unmanaged<Loop>? {
    unsafe UnsafeRawPointer(bitPattern: loop).map { unsafe Unmanaged.fromOpaque($0) }
  }
}

extension Loop {
  /// Where the loop is in memory, by which an item names it.
  @inline(__always)
  var address: UInt { unsafe UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()) }
}
