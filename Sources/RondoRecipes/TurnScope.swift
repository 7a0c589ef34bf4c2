public import Rondo

extension Loop {
  /// Opens a scope for each turn. It is pushed when a run begins, renewed before sleeping, popped when the run ends.
  ///
  /// For whatever is collected while a turn lasts and let go as a whole, as an autorelease pool. Pushes and pops are
  /// balanced and nest as runs do. Two observers: the first at entry, the last before waiting and at exit. They stay
  /// until `invalidate()`, whoever keeps the scope.
  public final class TurnScope: Sendable {
    /// *constant*
    private let loop: Loop
    /// *constant*
    private let scopes: Scopes
    /// *constant*
    private let observers: [Observer]

    /// A scope for each turn of `loop` in `mode`. The closures are called on its thread.
    ///
    /// Added while the mode runs, it begins when the loop sleeps next.
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

    /// Ends it, and pops the scopes that are open, the innermost first. The loop's thread.
    public func invalidate() {
      contract(
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
