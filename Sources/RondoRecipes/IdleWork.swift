public import Rondo

extension Loop {
  /// Runs queued pieces of work, one a turn, before the loop sleeps.
  ///
  /// The loop serves due items between two pieces, so keep pieces short. Keep a reference to the object. When it is
  /// freed, the pieces that have not begun are dropped. It is an observer before waiting.
  public final class IdleWork: Sendable {
    /// *constant*
    private let loop: Loop
    /// *constant*
    private let pieces = Pieces()
    /// *constant*
    private let observer: Observer

    /// Creates a queue of work in a mode of `loop`.
    ///
    /// - Parameter order: Its place among the observers; the default is after ordinary observers.
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

    /// Appends a piece of work to the queue. Any thread. O(1).
    ///
    /// If the queue was empty, it wakes the loop.
    public func add(_ piece: sending @escaping () -> Void) {
      if pieces.append(piece) { loop.wakeUp() }
    }

    /// The number of pieces that have not begun. Any thread.
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
