import Rondo
import RondoSockets

/// A CFRunLoop: one for each loop, and what keeps the items that are in it.
final class RunLoopObject: CFObject, @unchecked Sendable {
  /// *constant*
  let loop: Loop
  /// *its own lock* Inside it, those of the core are taken.
  private let members = Guarded(Members())

  private struct Members {
    var isOpen = true
    var items: [ObjectIdentifier: ItemObject] = [:]
    /// Sources by the hash of their contexts.
    var sources: [UInt: [SourceObject]] = [:]
  }

  private init(_ loop: Loop) {
    self.loop = loop
  }

  /// The object of a loop, made on first use; the loop keeps it as long as it lives. Any thread.
  static func of(_ loop: Loop) -> RunLoopObject {
    loop.companion { Keeper(RunLoopObject(loop)) }.runLoop
  }

  /// What the loop has of it: dies with the loop, when others may still have the object.
  private final class Keeper: Sendable {
    let runLoop: RunLoopObject

    init(_ runLoop: RunLoopObject) {
      self.runLoop = runLoop
    }

    deinit {
      runLoop.end()
    }
  }

  override class var typeID: UInt { 36 }

  override var text: String {
    "\(head("CFRunLoop")) is \(loop.description)"
  }

  /// Whether the loop has the mode, or can have it: says so if it has no room for one more. Any thread.
  func admits(_ mode: Loop.Mode) -> Bool {
    if loop.admit(mode) { return true }
    warn("the loop has 64 modes and no room for \(mode): what is added to it is ignored.")
    return false
  }

  // MARK: - Members

  /// Keeps the item as long as it is in the loop. Called after each add and removal, by any thread, several at a time.
  /// Calls out, with nothing held.
  func settle(_ item: ItemObject) {
    let hash = (item as? SourceObject)?.contextHash
    let (left, isMember) = members.withLock { members -> (ItemObject?, Bool) in
      let key = ObjectIdentifier(item)
      if members.isOpen, item.isMember(of: loop) {
        guard members.items.updateValue(item, forKey: key) == nil else { return (nil, true) }
        item.homes.withLock { $0.append(self) }
        if let hash, let source = item as? SourceObject { members.sources[hash, default: []].append(source) }
        return (nil, true)
      }
      guard let left = members.items.removeValue(forKey: key) else { return (nil, false) }
      item.homes.withLock { homes in homes.removeAll { $0 === self } }
      if let hash {
        members.sources[hash]?.removeAll { $0 === item }
        if members.sources[hash]?.isEmpty == true { members.sources[hash] = nil }
      }
      return (left, false)
    }
    if !isMember { item.letGo(of: loop) }
    // An object may die here, with its context.
    _ = left
  }

  /// The source that is in the mode and equal to this one: mostly itself. Calls out.
  func member(equalTo source: SourceObject, in mode: Loop.Mode) -> SourceObject? {
    if source.contains(in: loop, mode) { return source }
    let candidates = members.withLock { $0.sources[source.contextHash] } ?? []
    return candidates.first { $0 !== source && $0.isEqual(to: source) && $0.contains(in: loop, mode) }
  }

  /// The timer of a mode that fires at this moment.
  func timer(at instant: SuspendingClock.Instant, in mode: Loop.Mode) -> TimerObject? {
    let items = members.withLock { Array($0.items.values) }
    for case let timer as TimerObject in items where timer.item.fireDate == instant {
      if loop.contains(timer.item, in: mode) { return timer }
    }
    return nil
  }

  /// The loop has ended with its thread.
  private func end() {
    let items = members.withLock { members in
      defer { members = Members(isOpen: false) }
      return Array(members.items.values)
    }
    for item in items {
      item.homes.withLock { homes in homes.removeAll { $0 === self } }
      item.loopEnded()
    }
  }
}
