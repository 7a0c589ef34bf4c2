import Synchronization

/// Which loop an item is in, and which of its modes: what other threads see.
extension Loop.Item {
  /// The loop the item is in. Any thread.
  var loop: Loop? {
    lock.withLock { unsafe owner.load(ordering: .relaxed)?.takeUnretainedValue() }
  }

  /// Whether the item is in a loop of the process that this one was forked from.
  var isOfParent: Bool { loop.map { !$0.thread.isOfThisProcess } ?? false }

  /// The loop the item is in, if that is the calling thread's: neither a lock nor a reference count.
  @inline(__always)
  var ownLoop: Unmanaged<Loop>? {
    guard let owner = unsafe owner.load(ordering: .acquiring), unsafe owner.toOpaque() == ThreadRecord.loopAddress
    else {
      return nil
    }
    return unsafe owner
  }

  /// Whether the item is in the loop. Certain on the loop's thread, which alone frees it, and which then sees what the
  /// thread of the loop before has left of it.
  @inline(__always)
  func isIn(_ loop: Loop) -> Bool {
    unsafe owner.load(ordering: .acquiring)?.toOpaque() == Unmanaged.passUnretained(loop).toOpaque()
  }

  /// Runs `body` under the item lock, if the item is in `loop`.
  @inline(__always)
  func whileIn<Result>(_ loop: Loop, _ body: () -> Result) -> Result? {
    lock.withLock { isIn(loop) ? body() : nil }
  }

  /// Makes the item a member of modes of `loop`, as far as other threads can see.
  ///
  /// - Parameter mail: Called under the item lock with the modes it has newly joined.
  /// - Returns: These modes; nil if it is invalid or in another loop.
  @inline(__always)
  func join(_ loop: Loop, _ seats: ModeSet, mail: (UInt64) -> Void) -> UInt64? {
    lock.withLock {
      guard mayJoin(loop) else { return nil }
      if !isIn(loop) {
        unsafe owner.store(Unmanaged.passUnretained(loop), ordering: .releasing)
        // Mail that its last loop has not looked at says nothing to this one.
        if notes.load(ordering: .relaxed) != 0 { notes.store(0, ordering: .sequentiallyConsistent) }
      }
      if seats.isCommon, !isCommon {
        isCommon = true
        loop.mailbox.commonItemCount.add(1, ordering: .relaxed)
      }
      let joined = join(seats.modes)
      mail(joined)
      return joined
    }
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
  func mayJoin(_ loop: Loop) -> Bool {
    unsafe isValid && (isIn(loop) || owner.load(ordering: .relaxed) == nil)
  }

  /// Takes the item out of modes. Under the item lock, of an item in `loop`.
  ///
  /// - Returns: The modes it left; nil if it was to leave the common modes and is not in their set.
  @inline(__always)
  func leave(_ loop: Loop, _ seats: ModeSet) -> UInt64? {
    if seats.isCommon {
      if !isCommon, seats.modes != .max { return nil }
      if isCommon { loop.mailbox.commonItemCount.subtract(1, ordering: .relaxed) }
      isCommon = false
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
  func clearOwnerIfUnregistered() {
    if isUnregistered { unsafe owner.store(nil, ordering: .releasing) }
  }
}
