public import Rondo

extension Loop {
  /// Does queued work one piece a turn, right before the loop would sleep.
  ///
  /// Between two pieces everything that has become due is served, so pieces should be short. Whoever makes it keeps
  /// it: when it goes, pieces that have not begun are dropped. An observer before waiting.
  public final class IdleWork: Sendable {
    /// *constant*
    private let loop: Loop
    /// *constant*
    private let pieces = Pieces()
    /// *constant*
    private let observer: Observer

    /// Work for `loop` to do while it runs in `mode`.
    ///
    /// - Parameter order: Its place among the observers; the default lets ordinary ones go first.
    public init(on loop: Loop, in mode: Mode = .default, order: Int = 1_000_000) {
      self.loop = loop
      let pieces = pieces
      observer = Observer(.beforeWaiting, order: order) { [unowned loop] _ in
        guard let piece = pieces.next() else { return }
        piece()
        if !pieces.isEmpty { loop.wakeUp() }
      }
      loop.add(observer, to: mode)
    }

    deinit {
      observer.invalidate()
    }

    /// Queues a piece of work behind the others. Wakes the loop if it was out of work. Any thread. O(1).
    public func add(_ piece: sending @escaping () -> Void) {
      if pieces.append(piece) { loop.wakeUp() }
    }

    /// How many pieces have not begun. Any thread.
    public var count: Int { pieces.count }

    /// Drops the pieces that have not begun. Any thread.
    public func removeAll() {
      pieces.removeAll()
    }
  }

  /// First in, first out, in constant time. *its own lock*
  private final class Pieces: @unchecked Sendable {
    private let lock = Lock()
    @safe @exclusivity(unchecked) private var pieces: [(() -> Void)?] = []
    @safe @exclusivity(unchecked) private var first = 0

    var count: Int { lock.withLock { pieces.count - first } }

    var isEmpty: Bool { count == 0 }

    /// - Returns: Whether it is the only one.
    func append(_ piece: @escaping () -> Void) -> Bool {
      lock.withLock {
        pieces.append(piece)
        return pieces.count - first == 1
      }
    }

    func next() -> (() -> Void)? {
      lock.withLock {
        guard first < pieces.count else { return nil }
        let piece = pieces[first].take()
        first += 1
        // Half of it is empty: closing up costs no more than the takes that made it so.
        if first * 2 > pieces.count {
          pieces.removeFirst(first)
          first = 0
        }
        return piece
      }
    }

    func removeAll() {
      // They die outside the lock.
      let dropped = lock.withLock { () -> [(() -> Void)?] in
        defer { (pieces, first) = ([], 0) }
        return pieces
      }
      _ = dropped
    }
  }
}
