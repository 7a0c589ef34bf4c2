import Foundation
import Rondo
import Synchronization

/// Which run loop belongs to a Foundation thread, for those that perform something there.
enum ThreadDirectory {
  /// Both are weak: the directory keeps nobody alive, and a thread's place may be taken by a later one.
  private struct Entry: @unchecked Sendable {
    weak var thread: Thread?
    weak var runLoop: RunLoop?
  }

  private struct Entries {
    var byThread: [ObjectIdentifier: Entry] = [:]
    /// How many entries there are when the dead ones leave next.
    var limit = 64

    mutating func insert(_ entry: Entry, for thread: ObjectIdentifier) {
      byThread[thread] = entry
      guard byThread.count > limit else { return }
      byThread = byThread.filter { $0.value.runLoop != nil && $0.value.thread != nil }
      limit = max(64, byThread.count * 2)
    }
  }

  private static let entries = Guarded(Entries())

  /// The calling thread has asked for its run loop.
  static func enter(_ runLoop: RunLoop) {
    let loop = runLoop.getLoop()
    guard !runLoop.isEntered.load(ordering: .relaxed), loop.isCurrent, !loop.isVirtual else { return }
    runLoop.isEntered.store(true, ordering: .relaxed)
    let thread = Thread.current
    let entry = Entry(thread: thread, runLoop: runLoop)
    entries.withLock { $0.insert(entry, for: ObjectIdentifier(thread)) }
  }

  /// The run loop of a thread that has asked for it and has not ended.
  static func runLoop(of thread: Thread) -> RunLoop? {
    if thread === Thread.current { return .of(Loop.current) }
    if thread.isMainThread { return .main }
    return entries.withLock { entries in
      guard let entry = entries.byThread[ObjectIdentifier(thread)], entry.thread === thread else { return nil }
      return entry.runLoop
    }
  }
}
