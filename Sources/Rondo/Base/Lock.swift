import CLinux
import Synchronization

/// A lock that sleeps in the kernel when it is contended; the classic futex(2) lock with three states.
///
/// `Synchronization.Mutex` hands a contended lock from thread to thread inside the kernel (a priority-inheriting futex):
/// with eight posters, a post then costs a context switch. This one lets a running thread take it. Its hand-over goes
/// through this word alone, so that the thread sanitizer sees it too.
///
/// What it guards stands behind it in a `Guarded`, where the compiler refuses access without it. What is made by the
/// thousands and has a lock among fields that need none (an item, a suspended task, a mailbox) saves the second object:
/// there the lock is a private field, and each field that it guards says so.
@usableFromInline
package struct Lock: ~Copyable, Sendable {
  /// *atomic*
  private let word = Atomic<UInt32>(State.free)

  @usableFromInline
  package init() {}

  private enum State {
    static let free: UInt32 = 0
    static let held: UInt32 = 1
    /// Held, and a thread may sleep on it.
    static let awaited: UInt32 = 2
  }

  @inline(__always)
  package borrowing func withLock<Result>(_ body: () -> Result) -> Result {
    lock()
    defer { unlock() }
    return body()
  }

  @inline(__always)
  @usableFromInline
  package borrowing func lock() {
    let (isFree, _) = word.compareExchange(
      expected: State.free, desired: State.held, successOrdering: .acquiring, failureOrdering: .relaxed)
    if !isFree { lockSlowly() }
    Self.count(1)
  }

  @inline(never)
  private borrowing func lockSlowly() {
    while word.exchange(State.awaited, ordering: .acquiring) != State.free {
      unsafe rondo_futex_wait(word.address(), State.awaited)
    }
  }

  @inline(__always)
  @usableFromInline
  package borrowing func unlock() {
    Self.count(-1)
    if word.exchange(State.free, ordering: .releasing) == State.awaited { wakeOne() }
  }

  @inline(never)
  private borrowing func wakeOne() {
    unsafe rondo_futex_wake(word.address())
  }

  /// Counts what the calling thread holds, in a debug build. A lock of another kind says itself when it is taken and let go.
  @inline(__always)
  package static func count(_ change: CInt) {
    assert(counted(change))
  }

  private static func counted(_ change: CInt) -> Bool {
    unsafe rondo_held_locks().pointee += change
    return true
  }

  /// Traps, in a debug build, if the calling thread holds a lock of the library: it is about to run code of the user's,
  /// which may want the same lock.
  @inline(__always)
  package static func assertNoneHeld() {
    assert(unsafe rondo_held_locks().pointee == 0, "A lock of Rondo's is held around a callout.")
  }
}

extension Atomic where Value == UInt32 {
  /// Where the word lives, for futex(2): an `Atomic` has one address for its lifetime.
  borrowing func address() -> UnsafeMutableRawPointer {
    unsafe withUnsafePointer(to: self) { unsafe UnsafeMutableRawPointer(mutating: $0) }
  }
}
