internal import CLinux
internal import RondoInspect
internal import Synchronization

/// Which of a simulation's real threads runs: the one whose turn it is. Any thread.
///
/// The thread of the scope has the place 0. It gives the turn to others, and each gives it back.
final class ThreadTurns: Sendable {
  /// A thread that has turns.
  final class Place: Sendable {
    /// *constant*
    fileprivate let index: UInt32
    /// *atomic* The kernel's number of the thread; 0 while it waits for its turn.
    fileprivate let running = Atomic<Int32>(0)

    init(_ index: UInt32) { self.index = index }
  }

  /// *constant* The thread of the scope.
  let first = Place(0)
  /// *atomic* Whose turn it is; a futex that all others sleep on. Ordering: what a thread did in its turn precedes the next.
  private let holder = Atomic<UInt32>(0)
  /// *atomic* The kernel's number of that thread; 0 before it has noticed.
  private let number = Atomic<Int32>(0)
  /// How long a thread that was overtaken waits before it looks at the one that runs: 10 ms. Two looks in which that one
  /// has not run at all tell a lock that is kept from it from one that a busy machine keeps for a moment.
  private static let patience: Int64 = 10_000_000

  /// The calling thread is that of the scope.
  init() { begin(first) }

  /// The kernel's number of the thread whose turn it is; 0 if it has not noticed yet.
  var thread: Int32 { number.load(ordering: .relaxed) }

  /// Whether it is the turn of the thread of the scope.
  var isOfFirst: Bool { holder.load(ordering: .relaxed) == 0 }

  /// Ends the calling thread's turn.
  func give(to place: Place) {
    // One that goes on without its turn has it at once.
    number.store(place.running.load(ordering: .relaxed), ordering: .relaxed)
    holder.store(place.index, ordering: .releasing)
    unsafe rondo_futex_wake_all(address)
  }

  /// Waits until it is the caller's turn.
  ///
  /// - Parameter unlessNeeded: Whether the caller may hold a lock of the program's, as one that was overtaken may.
  /// - Returns: False if the thread whose turn it is waits for a lock. The caller goes on beside it, until it has to have
  ///   its turn.
  @discardableResult
  func wait(as place: Place, unlessNeeded: Bool = false) -> Bool {
    place.running.store(0, ordering: .relaxed)
    defer { begin(place) }
    var last: (holder: UInt32, time: Int64)?
    while true {
      let seen = holder.load(ordering: .acquiring)
      if seen == place.index { return true }
      guard unlessNeeded else {
        unsafe rondo_futex_wait(address, seen)
        continue
      }
      unsafe rondo_futex_wait_for(address, seen, Self.patience)
      let thread = thread
      guard holder.load(ordering: .relaxed) == seen, ThreadState.waitsForLock(thread),
        let time = ThreadState.processorTime(of: thread)
      else {
        last = nil
        continue
      }
      if let last, last == (seen, time) { return false }
      last = (seen, time)
    }
  }

  private func begin(_ place: Place) {
    place.running.store(ThreadState.ownNumber, ordering: .relaxed)
    if holder.load(ordering: .relaxed) == place.index { number.store(ThreadState.ownNumber, ordering: .relaxed) }
  }

  private var address: UnsafeMutableRawPointer {
    unsafe withUnsafePointer(to: holder) { unsafe UnsafeMutableRawPointer(mutating: $0) }
  }
}
