import CLinux
import Synchronization

/// The state machine of `Membership` on an atomic word.
///
/// Ordering: each transition is sequentially consistent, and the lock's holder opens it with a releasing store. A poster
/// changes the item elsewhere (a date, an interest, a ticket), and then makes a transition. A loop takes the item by a
/// transition, and then reads that change. The later of the two transitions sees the other side: the poster finds the
/// loop, or the loop reads the change.
struct MembershipWord: ~Copyable, Sendable {
  /// *atomic*
  private let word = Atomic<UInt64>(0)

  /// What the word says now, and all that the thread did before that wrote it.
  @inline(__always)
  borrowing func load() -> Membership { Membership(word: word.load(ordering: .acquiring)) }

  /// Makes one transition, once the lock is open.
  @inline(__always)
  @discardableResult
  borrowing func change<Result>(_ transition: (inout Membership) -> Result) -> Result {
    var old = load()
    while true {
      if old.isLocked { old = awaitUnlocked() }
      var new = old
      let result = transition(&new)
      if new == old { return result }
      let (exchanged, seen) = word.weakCompareExchange(
        expected: old.word, desired: new.word, ordering: .sequentiallyConsistent)
      if exchanged {
        if new.isLocked { Lock.count(1) }
        return result
      }
      old = Membership(word: seen)
    }
  }

  /// Changes what the word says while the caller holds the lock; the last change of it opens the lock.
  @inline(__always)
  @discardableResult
  borrowing func amend<Result>(_ transition: (inout Membership) -> Result) -> Result {
    var membership = Membership(word: word.load(ordering: .relaxed))
    assert(membership.isLocked, "The item lock is not held.")
    let result = transition(&membership)
    if !membership.isLocked { Lock.count(-1) }
    word.store(membership.word, ordering: .releasing)
    return result
  }

  /// Runs `body` with the lock. Nothing is called out in it.
  @inline(__always)
  borrowing func withLock<Result>(_ body: () -> Result) -> Result {
    change { $0.lock() }
    defer { amend { $0.unlock() } }
    return body()
  }

  /// Waits until the lock is open, which takes another thread nanoseconds, or a system call at most.
  @inline(never)
  private borrowing func awaitUnlocked() -> Membership {
    while true {
      if let membership = lookForUnlocked() { return membership }
      // The child of a fork does not have the thread that opens it.
      if ProcessGeneration.isForked, isLeftLocked { ThreadRecord.failAfterFork() }
    }
  }

  /// Looks for a while. Nil if the lock is not open: a thread of the parent's may have had it at a fork.
  ///
  /// It sleeps then, since the thread may have lost its processor: one of a higher priority that only spun might never leave
  /// it to that thread.
  private borrowing func lookForUnlocked() -> Membership? {
    for _ in 0..<Self.mostLooks {
      let membership = load()
      if !membership.isLocked { return membership }
      rondo_relax()
    }
    rondo_nap(Self.nap)
    return nil
  }

  /// In a forked child: whether a thread that it does not have holds the lock.
  var isLeftLocked: Bool { !(0..<Self.mostNaps).contains { _ in lookForUnlocked() != nil } }

  /// Chosen: some microseconds of looking.
  private static let mostLooks = 100
  /// Chosen: a tenth of a second.
  private static let mostNaps = 1_000
  /// Nanoseconds. Chosen: less than the kernel's own rounding of a sleep, which is 50 us.
  private static let nap: Int64 = 10_000
}
