internal import Rondo

/// Events of libraries on libevent in one mode of a loop: a base of their own, and the items that serve it. *loop thread*
///
/// The loop waits for the base's epoll set as for any descriptor, and dispatches the base in that callout. So libevent is
/// never inside the loop's own wait when it calls back, and a callback may do anything, run the loop included.
@safe final class ForeignEvents: @unchecked Sendable {
  // Unchecked because of what only the loop's thread touches: the items, and so their handlers, are in its loop alone.

  /// *constant*
  let base: ForeignBase
  @safe @exclusivity(unchecked) private var source: Loop.DescriptorSource!
  /// libevent is in the base, and its bases are not re-entrant.
  @safe @exclusivity(unchecked) private var isEntered = false
  /// A run nested in a callback has found more to dispatch, which has to wait.
  @safe @exclusivity(unchecked) private var isHeldUp = false

  init(_ loop: Loop, in mode: Loop.Mode) throws(DescriptorShortage) {
    base = try ForeignBase()
    do {
      source = try Loop.DescriptorSource(base.epoll, for: .read) { [unowned self] _, _ in self.dispatch() }
    } catch {
      ClosedBehindTheLoop.fail("the epoll set of a libevent base", base.epoll, 0)
    }
    loop.add(source, to: mode)
    // libevent does not tell that a timeout was set.
    let observer = Inquiry(of: loop).makeObserver { [unowned self] in self.arm() }
    loop.add(observer, to: mode)
  }

  /// Has the loop hear of what the base holds now. Not in a callback: the base is armed after that.
  func arm() {
    guard !isEntered, base.hasEvents else { return }
    isEntered = true
    base.arm()
    leave()
  }

  /// Calls out.
  private func dispatch() {
    if isEntered {
      isHeldUp = true
      source.disable(.read)
      return
    }
    isEntered = true
    base.dispatch()
    leave()
  }

  private func leave() {
    isEntered = false
    guard isHeldUp else { return }
    isHeldUp = false
    source.enable(.read)
  }
}
