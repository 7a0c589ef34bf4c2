import Foundation
import Rondo
import Synchronization

/// Which run loop belongs to a Foundation thread, for those that perform something there.
enum ThreadDirectory {
  /// A request for a thread that has not asked for its run loop yet.
  private typealias Kept = (request: PerformRequest, modes: [RunLoop.Mode])

  /// The references are weak: the directory keeps no thread alive, and a thread's place may be taken by a later one.
  private struct Entry: @unchecked Sendable {
    weak var thread: Thread?
    weak var runLoop: RunLoop?
    /// What waits for the thread to ask for its run loop, the oldest first; nil once the thread has asked.
    var kept: [Kept]?
  }

  private struct Entries {
    var byThread: [ObjectIdentifier: Entry] = [:]
    /// How many entries there are when the dead ones leave next.
    var limit = 64
    /// A caretaker looks for threads that have ended.
    var hasCaretaker = false

    /// The thread asks for its run loop.
    ///
    /// - Returns: What was kept for the thread and goes to the run loop first; nil if nothing is left, and it is entered.
    mutating func enter(_ thread: Thread, _ runLoop: RunLoop) -> [Kept]? {
      let id = ObjectIdentifier(thread)
      if let kept = byThread[id]?.kept, !kept.isEmpty {
        byThread[id]?.kept = []
        return kept
      }
      byThread[id] = Entry(thread: thread, runLoop: runLoop)
      return nil
    }

    /// Takes out the dead entries, if there are many.
    ///
    /// - Returns: What it has looked at, for the caller to let go of with nothing held: it may have the last reference.
    mutating func sweep() -> [(Thread?, RunLoop?)] {
      guard byThread.count > limit else { return [] }
      let seen = byThread.mapValues { ($0.thread, $0.runLoop) }
      byThread = byThread.filter { id, entry in entry.kept != nil || seen[id]!.0 != nil && seen[id]!.1 != nil }
      limit = max(64, byThread.count * 2)
      return Array(seen.values)
    }

    /// - Returns: Whether the thread has not asked for its run loop yet, so that the request is kept for it.
    mutating func keep(_ kept: Kept, for thread: Thread) -> Bool {
      let id = ObjectIdentifier(thread)
      if byThread[id] == nil { byThread[id] = Entry(thread: thread, kept: []) }
      byThread[id]?.kept?.append(kept)
      return byThread[id]?.kept != nil
    }

    /// Takes out what belongs to a thread that is gone, and whose place this one has.
    mutating func removePredecessor(of thread: Thread) -> Entry? {
      let id = ObjectIdentifier(thread)
      guard let entry = byThread[id], entry.thread !== thread else { return nil }
      return byThread.removeValue(forKey: id)
    }
  }

  private static let entries = PerProcess(Entries())

  /// Has `change` find nothing but what belongs to the thread itself in the thread's place.
  private static func update<Answer>(for thread: Thread, _ change: (inout Entries) -> Answer) -> Answer {
    let (answer, predecessor) = entries.withLock { entries in
      let predecessor = entries.removePredecessor(of: thread)
      return (change(&entries), predecessor)
    }
    _ = predecessor
    return answer
  }

  /// A thread asks for a run loop: if that is its own, for the first time, other threads find it from now on.
  static func enter(_ runLoop: RunLoop, on loop: Loop) {
    guard !runLoop.isEntered.load(ordering: .relaxed), loop.isCurrent, !loop.isVirtual else { return }
    runLoop.isEntered.store(true, ordering: .relaxed)
    let thread = Thread.current
    // What other threads post during this is kept, too, or it would overtake.
    while let kept = update(for: thread, { $0.enter(thread, runLoop) }) {
      for kept in kept { runLoop.post(kept.request, order: 0, modes: kept.modes, target: nil) }
    }
    _ = entries.withLock { $0.sweep() }
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

  // MARK: - Before a thread asks

  /// Posts a request to a thread's run loop, or keeps it until the thread asks for that. Any thread.
  ///
  /// - Returns: False if the thread is not started, has ended, or its loop has.
  static func post(_ request: PerformRequest, modes: [RunLoop.Mode], to thread: Thread) -> Bool {
    if let runLoop = runLoop(of: thread) { return runLoop.post(request, order: 0, modes: modes, target: nil) }
    guard thread.isStarted, !thread.isFinished else { return false }
    let (isKept, needsCaretaker) = update(for: thread) { entries in
      let isKept = entries.keep((request, modes), for: thread)
      defer { if isKept { entries.hasCaretaker = true } }
      return (isKept, isKept && !entries.hasCaretaker)
    }
    if needsCaretaker { startCaretaker() }
    // The thread has asked in between.
    if !isKept { return runLoop(of: thread)?.post(request, order: 0, modes: modes, target: nil) ?? false }
    return true
  }

  /// Has a thread give up what is kept for those that end without having asked, as long as anything is kept.
  ///
  /// Foundation does not tell of a thread's end, so it has to be looked for: after 1 ms at first, each second at last.
  private static func startCaretaker() {
    Thread.detachNewThread {
      var pause = 0.001
      repeat {
        Thread.sleep(forTimeInterval: pause)
        pause = min(pause * 2, 1)
      } while giveUpWhatIsLost()
    }
  }

  /// - Returns: Whether anything is still kept.
  private static func giveUpWhatIsLost() -> Bool {
    let waiting = entries.withLock { entries in
      entries.byThread.compactMap { id, entry in entry.kept == nil ? nil : (id: id, thread: entry.thread) }
    }
    let ended = waiting.filter { $0.thread?.isFinished ?? true }
    let (lost, isNeeded) = entries.withLock { entries in
      var lost: [Entry] = []
      for (id, thread) in ended {
        guard let entry = entries.byThread[id], entry.kept != nil, entry.thread === thread else { continue }
        lost.append(entry)
        entries.byThread[id] = nil
      }
      entries.hasCaretaker = entries.byThread.values.contains { $0.kept != nil }
      return (lost, entries.hasCaretaker)
    }
    _ = lost
    return isNeeded
  }
}

extension Thread {
  /// Whether Foundation has been told to start it. It says so nowhere but inside, until the thread runs.
  ///
  /// True if the look inside finds nothing: then what is posted waits for as long as the object lives.
  fileprivate var isStarted: Bool {
    if isExecuting { return true }
    var mirror: Mirror? = Mirror(reflecting: self)
    while let present = mirror, present.subjectType != Thread.self { mirror = present.superclassMirror }
    guard let status = mirror?.children.first(where: { $0.label == "_status" })?.value else { return true }
    return "\(status)" != "initialized"
  }
}
