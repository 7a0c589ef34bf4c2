import Synchronization

/// Who wants to hear of every loop that is made: one floor above, at most.
package enum LoopAttendants {
  /// *atomic* Whether there is one: who makes a loop without pays for none.
  private static let isThere = Atomic<Bool>(false)
  private static let attendant = Guarded<(@Sendable (Loop) -> Void)?>(nil)

  /// Has each loop that is made from now on shown to `attendant`, on the thread that makes it, before that thread has it. A
  /// loop in virtual time is not. Another thread may have the main thread's loop meanwhile.
  package static func set(_ attendant: @escaping @Sendable (Loop) -> Void) {
    self.attendant.withLock { $0 = attendant }
    isThere.store(true, ordering: .releasing)
  }

  /// Calls out.
  static func greet(_ loop: Loop) {
    guard isThere.load(ordering: .acquiring) else { return }
    attendant.withLock { $0 }?(loop)
  }
}
