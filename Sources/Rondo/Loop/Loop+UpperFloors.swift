/// What the products above the core need of a loop.
extension Loop {
  /// The object an upper floor keeps with the loop, made on first use; the loop lets go of it when it ends. Any thread.
  ///
  /// A loop has room for one. A loop that has ended keeps none.
  package func companion<Object: AnyObject>(_ make: () -> Object) -> Object {
    if let found = mailbox.withLock({ $0.companion }) { return companion(found) }
    let made = make()
    return companion(
      mailbox.withLock { state in
        if let found = state.companion { return found }
        if mailbox.life == .open { state.companion = made }
        return made
      })
  }

  private func companion<Object: AnyObject>(_ object: AnyObject) -> Object {
    guard let object = object as? Object else {
      preconditionFailure("A loop has room for one companion, and it is a \(type(of: object)), not a \(Object.self).")
    }
    return object
  }

  /// Whether a run of `mode` would return at once, because nothing is in it. The loop's own thread.
  package func isFinished(_ mode: Mode) -> Bool {
    core.applyMail()
    guard let index = mailbox.withLock({ $0.modes.index(of: mode) }) else { return true }
    return core.isEmpty(core.modeState(index))
  }

  /// How many runs are under way, one nested in the other. The loop's own thread.
  package var depth: Int {
    core.assertOwnThread()
    return core.depth
  }

  /// Whether the loop waits by script.
  package var isVirtual: Bool { script != nil }
}

extension Loop.Item {
  /// Whether the item belongs to a loop at present. Any thread.
  package final var isInLoop: Bool { loop != nil }
}
