internal import Rondo

/// Asks another's loop once in each turn what it waits for, after whatever could have changed that. *loop thread*
///
/// Other loops do not tell when that changes. So they are asked by an observer, the last of its mode, before each sleep.
@safe final class Inquiry: @unchecked Sendable {
  // Unchecked because only the loop's thread touches it: its observer is in one loop.

  /// Whose turns they are.
  @safe @exclusivity(unchecked) unowned var loop: Loop?
  /// The turn before has asked, or there was none.
  @safe @exclusivity(unchecked) private var hasAsked = true

  init(of loop: Loop? = nil) { self.loop = loop }

  /// The observer. It keeps the inquiry, and calls `ask`.
  func makeObserver(_ ask: @escaping @Sendable () -> Void) -> Loop.Observer {
    Loop.Observer([.beforeTimers, .beforeWaiting, .exit], order: .max) { activity in
      if self.isDue(at: activity) { ask() }
    }
  }

  private func isDue(at activity: Loop.Activity) -> Bool {
    switch activity {
    case .beforeWaiting:
      hasAsked = true
      return true
    case .exit:
      // The foreign loop of the thread is going to sleep for both.
      return loop?.isInForeignTurn ?? false
    default:
      // Turns that only look have no activity before their wait. What was changed in one is heard of in the next.
      let isOwed = !hasAsked || loop?.isOnlyLooking ?? false
      hasAsked = false
      return isOwed
    }
  }
}
