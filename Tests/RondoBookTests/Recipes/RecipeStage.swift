import Rondo
import RondoTesting

/// A virtual loop and what happened on it, for handlers to share. Everything on it belongs to the loop's thread.
final class RecipeStage: @unchecked Sendable {
  let virtual: VirtualLoop
  let trace = Trace()

  init(_ virtual: VirtualLoop) {
    self.virtual = virtual
  }

  var loop: Loop { virtual.loop }

  /// What was noted so far.
  var text: String { trace.text }

  /// Whole virtual milliseconds since the stage was set.
  var milliseconds: Int64 { Int64(virtual.elapsed / .milliseconds(1)) }

  func note(_ token: String) { trace.note(token) }

  /// Notes `name` and the virtual millisecond.
  func noteTime(_ name: String) { note("\(name)@\(milliseconds)") }

  /// A source that is never signalled: the mode is not empty.
  func keepAlive() { loop.add(Loop.Source {}) }

  /// A source that notes its name when performed.
  func source(_ name: String, in mode: Loop.Mode = .default) -> Loop.Source {
    let source = Loop.Source { self.note(name) }
    loop.add(source, to: mode)
    return source
  }

  /// A one-shot timer that notes its name, then does more.
  func timer(_ name: String, after delay: Duration, then more: @escaping @Sendable () -> Void = {}) {
    loop.add(
      Loop.Timer(after: delay) { _ in
        self.note(name)
        more()
      })
  }

  /// A block that notes its name, then does more.
  func block(_ name: String, then more: @escaping @Sendable () -> Void = {}) {
    loop.perform {
      self.note(name)
      more()
    }
  }

  /// An observer before waiting.
  func beforeWaiting(repeats: Bool = true, order: Int, then more: @escaping @Sendable () -> Void) {
    loop.add(Loop.Observer(.beforeWaiting, repeats: repeats, order: order) { _ in more() })
  }
}

/// Runs `body` with a loop in virtual time, whose default mode is traced unless `isObserved` is false.
@available(*, noasync)
func withRecipeStage(isObserved: Bool = true, _ body: (RecipeStage) throws -> Void) rethrows {
  try withVirtualLoop { virtual in
    virtual.loop.checksInvariants = true
    let stage = RecipeStage(virtual)
    if isObserved { stage.trace.observe(virtual.loop) }
    try body(stage)
  }
}

/// Something a handler gets to know after it was made.
final class Later<Value>: @unchecked Sendable {
  var value: Value!

  init(_ value: Value? = nil) {
    self.value = value
  }
}
