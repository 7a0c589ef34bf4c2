public import Rondo

extension Loop {
  /// Calls `push` and `pop` around the work between two sleeps.
  ///
  /// It pushes when a run begins, pops and pushes before each sleep, and pops when the run ends. Use it for objects
  /// that you collect during a turn and release as a whole, as in an autorelease pool. Calls are balanced and nest as
  /// runs do. It is two observers: the first at entry, the last before waiting and at exit. They work until
  /// `invalidate()`, even if you release the scope.
  public final class TurnScope: Sendable {
    /// *constant*
    private let loop: Loop
    /// *constant*
    private let scopes: Scopes
    /// *constant*
    private let observers: [Observer]

    /// Creates a scope in a mode of `loop`. The loop's thread calls the closures.
    ///
    /// If you create it while the mode runs, it first pushes before the next sleep.
    @discardableResult
    public init(
      on loop: Loop, in mode: Mode = .default, push: sending @escaping () -> Void, pop: sending @escaping () -> Void
    ) {
      self.loop = loop
      let scopes = Scopes(loop, push: push, pop: pop)
      self.scopes = scopes
      observers = [
        Observer(.entry, order: .min) { _ in scopes.begin() },
        Observer([.beforeWaiting, .exit], order: .max) { activity in
          scopes.end()
          if activity == .beforeWaiting { scopes.begin() }
        },
      ]
      for observer in observers { loop.add(observer, to: mode) }
    }

    /// Stops it, and pops open scopes, the innermost first. On the loop's thread, otherwise traps.
    public func invalidate() {
      require(
        loop.isCurrent, "A scope is popped on its loop's thread. Use loop.perform { scope.invalidate() }.")
      for observer in observers { observer.invalidate() }
      scopes.endAll()
    }
  }

  /// The scopes that are open. *loop thread*
  private final class Scopes: @unchecked Sendable {
    private unowned let loop: Loop
    private let push: () -> Void
    private let pop: () -> Void
    /// The depths of the runs whose scope is open, innermost last.
    private var open: [Int] = []

    init(_ loop: Loop, push: @escaping () -> Void, pop: @escaping () -> Void) {
      self.loop = loop
      self.push = push
      self.pop = pop
    }

    /// Calls out.
    func begin() {
      open.append(loop.depth)
      push()
    }

    /// Closes the innermost run's scope, unless the run began before there was one. Calls out.
    func end() {
      guard open.last == loop.depth else { return }
      open.removeLast()
      pop()
    }

    /// Calls out.
    func endAll() {
      while open.popLast() != nil { pop() }
    }
  }
}
