import CLinux
import Glibc
package import Synchronization

/// How many forks lie between the first process and this one: one relaxed load distinguishes a child from its parent.
///
/// The kernel wipes the word in a child, however it was made: _Fork(3) and clone(2) call no handler.
package enum ProcessGeneration {
  package typealias Word = UnsafeMutablePointer<Atomic<UInt32>>

  /// *constant* Where the kernel wipes a word in a child; nil if it cannot do that.
  private nonisolated(unsafe) static let wiped = unsafe rondo_word_wiped_on_fork()

  /// *constant* The generation plus one; 0 in a child in which no thread has asked yet. Ordering: none but its own.
  package nonisolated(unsafe) static let word: Word = {
    let word: Word
    if let wiped = unsafe wiped {
      unsafe word = UnsafeMutableRawPointer(wiped).bindMemory(to: Atomic<UInt32>.self, capacity: 1)
    } else {
      unsafe word = .allocate(capacity: 1)
    }
    unsafe word.initialize(to: Atomic(settled.load(ordering: .relaxed)))
    pthread_atfork(nil, nil) { ProcessGeneration.settleInChild() }
    return unsafe word
  }()

  /// *atomic* What the word said when a thread asked last, here or in a parent.
  private static let settled = Atomic<UInt32>(1)

  package static var current: UInt32 {
    let seen = unsafe word.pointee.load(ordering: .relaxed)
    return (seen == 0 ? settle(from: 0) : seen) &- 1
  }

  /// Counts the fork, unless an earlier handler of the child has asked, and so has counted it.
  package static func settleInChild() {
    let seen = unsafe word.pointee.load(ordering: .relaxed)
    if unsafe seen == 0 || wiped == nil { _ = settle(from: seen) }
  }

  /// Whether this process was forked from one in which the core was in use.
  @inline(__always)
  static var isForked: Bool { unsafe word.pointee.load(ordering: .relaxed) != 1 }

  private static func settle(from old: UInt32) -> UInt32 {
    let next = settled.load(ordering: .relaxed) &+ 1
    let (exchanged, seen) = unsafe word.pointee.compareExchange(
      expected: old, desired: next, ordering: .sequentiallyConsistent)
    guard exchanged else { return seen }
    settled.store(next, ordering: .relaxed)
    return next
  }
}
