/// What an upper floor does when an item joins a loop, and when the item ends. The item keeps the delegate until then.
package protocol ItemDelegate: AnyObject {
  /// The item is about to join a mode of the loop, on the thread that adds it. Traps if the loop may not call the item.
  func checkItem(for loop: Loop)
  /// Called once for each item, by the thread that invalidates it, with no lock held.
  func itemWasInvalidated(_ item: Loop.Item)
}

extension ItemDelegate {
  package func checkItem(for loop: Loop) {}
  package func itemWasInvalidated(_ item: Loop.Item) {}
}

/// An item with a delegate. Only items of these classes have the room for one.
package protocol DelegatingItem: Loop.Item {
  /// *set before the item joins a loop; then of the thread that makes it invalid*
  var delegate: (any ItemDelegate)? { get set }
}

package final class DelegatingTimer: Loop.Timer, DelegatingItem, @unchecked Sendable {
  @safe @exclusivity(unchecked) package var delegate: (any ItemDelegate)?

  override func enter(_ loop: Loop, _ mode: Loop.Mode) -> Bool {
    delegate?.checkItem(for: loop)
    return super.enter(loop, mode)
  }

  override func wasInvalidated() { delegate.take()?.itemWasInvalidated(self) }
}

package final class DelegatingObserver: Loop.Observer, DelegatingItem, @unchecked Sendable {
  @safe @exclusivity(unchecked) package var delegate: (any ItemDelegate)?

  override func enter(_ loop: Loop, _ mode: Loop.Mode) -> Bool {
    delegate?.checkItem(for: loop)
    return super.enter(loop, mode)
  }

  override func wasInvalidated() { delegate.take()?.itemWasInvalidated(self) }
}

package final class DelegatingSource: Loop.Source, DelegatingItem, @unchecked Sendable {
  @safe @exclusivity(unchecked) package var delegate: (any ItemDelegate)?

  override func enter(_ loop: Loop, _ mode: Loop.Mode) -> Bool {
    delegate?.checkItem(for: loop)
    return super.enter(loop, mode)
  }

  override func wasInvalidated() { delegate.take()?.itemWasInvalidated(self) }
}

package final class DelegatingDescriptorSource: Loop.DescriptorSource, DelegatingItem, @unchecked Sendable {
  @safe @exclusivity(unchecked) package var delegate: (any ItemDelegate)?

  override func enter(_ loop: Loop, _ mode: Loop.Mode) -> Bool {
    delegate?.checkItem(for: loop)
    return super.enter(loop, mode)
  }

  override func wasInvalidated() { delegate.take()?.itemWasInvalidated(self) }
}
