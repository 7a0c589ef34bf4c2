internal import CRondoInspect
import Glibc
import Rondo

/// The thread that looks at loops and answers questions about them; one in a process, from the first who asks.
final class Watcher: Sendable {
  private let thread: LoopThread
  /// *watcher's thread* Who is to hear when a loop that was idle wakes.
  private let listeners = Guarded<[Listener]>([])

  private struct Listener {
    weak var rounds: StallRounds?
  }

  private static let kept = PerProcess<Watcher?>(nil)

  /// The process's watcher, made on first use.
  static func shared() throws(LoopThread.StartError) -> Watcher {
    if let present { return present }
    let made = try Watcher()
    // Another thread may have been faster: the thread of this one ends then.
    return kept.withLock { first in
      if first == nil { first = made }
      return first!
    }
  }

  /// The process's watcher, if there is one.
  static var present: Watcher? { kept.withLock { $0 } }

  private init() throws(LoopThread.StartError) {
    // Its own loop is not to be watched.
    thread = try LoopThread(unseenByHook: "rondo-watcher")
    // Signals are for the program's threads.
    thread.execute { rondo_block_signals() }
  }

  /// Runs `work` on the watcher's thread.
  func perform(_ work: @escaping @Sendable () -> Void) {
    thread.execute(work)
  }

  // MARK: - Idle loops

  func addListener(_ rounds: StallRounds) {
    listeners.withLock { listeners in
      listeners.removeAll { $0.rounds == nil }
      listeners.append(Listener(rounds: rounds))
    }
  }

  /// A loop wakes. On its thread: one wakeup of the watcher's.
  func unpark() {
    perform { [weak self] in
      self?.listeners.withLock { listeners in
        listeners.removeAll { $0.rounds == nil }
        return listeners.compactMap(\.rounds)
      }.forEachRounds()
    }
  }
}

extension [StallRounds] {
  fileprivate func forEachRounds() {
    for rounds in self { rounds.unpark() }
  }
}
