public import Rondo
import Synchronization

extension Loop {
  /// Calls its handler once before the loop sleeps, however often you mark it.
  ///
  /// It also calls the handler when a run ends. Use it for changes that you commit as a whole, such as a transaction, a
  /// redraw or a write-back. Keep a reference to it: it works until it is freed. It is an observer before waiting and
  /// at exit, with a late order.
  public final class Flush: Sendable {
    /// *constant*
    private let loop: Loop
    /// *constant*
    private let mark = Mark()
    /// *constant*
    private let observer: Observer

    /// Creates a flush and adds it to a mode of `loop`.
    ///
    /// - Parameters:
    ///   - order: Its place among the observers. The default is the order of Core Animation's commit: after other
    ///     observers, which may still mark the flush.
    ///   - handler: Called on the loop's thread. If it marks the flush, the loop calls it again in the next turn.
    public init(
      on loop: Loop, in mode: Mode = .default, order: Int = 2_000_000, handler: sending @escaping () -> Void
    ) {
      self.loop = loop
      let mark = mark
      observer = Observer([.beforeWaiting, .afterWaiting, .exit], order: order) { [unowned loop] activity in
        let depth = loop.depth
        if activity == .afterWaiting { return mark.passed.remove(depth) }
        if activity == .beforeWaiting { mark.passed.insert(depth) } else { mark.passed.remove(depth) }
        if mark.isDirty.exchange(false, ordering: .acquiringAndReleasing) { handler() }
      }
      loop.add(observer, to: mode)
    }

    deinit {
      observer.invalidate()
    }

    /// Marks the flush for a call before the next sleep. Any thread. O(1).
    public func setNeedsFlush() {
      guard !mark.isDirty.exchange(true, ordering: .acquiringAndReleasing) else { return }
      // On the loop's thread the observer is yet to come, unless it has been told in this turn.
      if !loop.isCurrent || mark.passed.contains(loop.depth) { loop.wakeUp() }
    }

    /// Whether the flush is marked. Any thread.
    public var needsFlush: Bool { mark.isDirty.load(ordering: .acquiring) }
  }

  private final class Mark: @unchecked Sendable {
    /// *atomic*
    let isDirty = Atomic<Bool>(false)
    /// *loop thread* The runs, by depth, that are past the observer and have not slept yet.
    @safe @exclusivity(unchecked) var passed = DepthSet()
  }
}

/// Depths of nested runs; those deeper than 63 count as one.
struct DepthSet {
  private var bits: UInt64 = 0

  private func bit(_ depth: Int) -> UInt64 { 1 << UInt64(min(depth, 63)) }

  func contains(_ depth: Int) -> Bool { bits & bit(depth) != 0 }
  mutating func insert(_ depth: Int) { bits |= bit(depth) }
  mutating func remove(_ depth: Int) { bits &= ~bit(depth) }
}
