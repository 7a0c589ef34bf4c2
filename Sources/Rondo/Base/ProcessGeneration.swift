import CLinux
import Glibc
package import Synchronization

/// How many forks lie between the first process and this one: one relaxed load tells a child from its parent.
///
/// The kernel wipes the word in a child, however it was made: _Fork(3) and clone(2) tell no handler.
package enum ProcessGeneration {
  package typealias Word = UnsafeMutablePointer<Atomic<UInt32>>

  /// *constant* The generation plus one; 0 in a child in which no thread has asked yet. Ordering: none but its own.
  package nonisolated(unsafe) static let word: Word = {
    let word: Word
    if let wiped = unsafe rondo_word_wiped_on_fork() {
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

  /// Counts the fork. The word has been wiped, or the kernel cannot do that.
  private static func settleInChild() {
    _ = settle(from: unsafe word.pointee.load(ordering: .relaxed))
  }

  private static func settle(from old: UInt32) -> UInt32 {
    let next = settled.load(ordering: .relaxed) &+ 1
    let (exchanged, seen) = unsafe word.pointee.compareExchange(
      expected: old, desired: next, ordering: .sequentiallyConsistent)
    guard exchanged else { return seen }
    settled.store(next, ordering: .relaxed)
    return next
  }
}
