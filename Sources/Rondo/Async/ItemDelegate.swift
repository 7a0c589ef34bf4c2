/// What an upper floor does when an item ends. The item keeps the delegate until then, and no longer: the delegate may
/// keep the item.
package protocol ItemDelegate: AnyObject {
  /// Called once for each item, by the thread that invalidates the item, with no lock held.
  func itemWasInvalidated(_ item: Loop.Item)
}

/// Calls a function when its item becomes invalid, for example because the loop ends.
package final class WhenInvalidated: ItemDelegate {
  private let end: @Sendable () -> Void

  package init(_ end: @escaping @Sendable () -> Void) { self.end = end }

  package func itemWasInvalidated(_ item: Loop.Item) { end() }
}

/// An item with a delegate. Only items of these classes have the room for it.
package protocol DelegatingItem: Loop.Item {
  /// *set before the item joins a loop; then of the thread that makes it invalid*
  var delegate: (any ItemDelegate)? { get set }
}

package final class DelegatingTimer: Loop.Timer, DelegatingItem, @unchecked Sendable {
  @safe @exclusivity(unchecked) package var delegate: (any ItemDelegate)?

  override func wasInvalidated() { delegate.take()?.itemWasInvalidated(self) }
}

package final class DelegatingObserver: Loop.Observer, DelegatingItem, @unchecked Sendable {
  @safe @exclusivity(unchecked) package var delegate: (any ItemDelegate)?

  override func wasInvalidated() { delegate.take()?.itemWasInvalidated(self) }
}

package final class DelegatingDescriptorSource: Loop.DescriptorSource, DelegatingItem, @unchecked Sendable {
  @safe @exclusivity(unchecked) package var delegate: (any ItemDelegate)?

  override func wasInvalidated() { delegate.take()?.itemWasInvalidated(self) }
}
