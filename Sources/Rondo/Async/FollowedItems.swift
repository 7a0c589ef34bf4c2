/// Hears that an item becomes invalid. The item keeps it until then.
package protocol ItemFollower: AnyObject {
  /// Called once for each item, by the thread that invalidates the item, with no lock held.
  func itemWasInvalidated(_ item: Loop.Item)
}

/// An item that tells a follower of its end. Only the items that tasks wait for have the room for one.
package protocol FollowedItem: Loop.Item {
  /// *whoever makes the item, before it joins a loop; then whoever makes it invalid*
  var follower: (any ItemFollower)? { get set }
}

package final class FollowedTimer: Loop.Timer, FollowedItem, @unchecked Sendable {
  @safe @exclusivity(unchecked) package var follower: (any ItemFollower)?

  override func wasInvalidated() {
    // What it keeps for its task may hold the item.
    follower.take()?.itemWasInvalidated(self)
  }
}

package final class FollowedDescriptorSource: Loop.DescriptorSource, FollowedItem, @unchecked Sendable {
  @safe @exclusivity(unchecked) package var follower: (any ItemFollower)?

  override func wasInvalidated() {
    // What it keeps for its task may hold the item.
    follower.take()?.itemWasInvalidated(self)
  }
}

package final class FollowedObserver: Loop.Observer, FollowedItem, @unchecked Sendable {
  @safe @exclusivity(unchecked) package var follower: (any ItemFollower)?

  override func wasInvalidated() {
    // What it keeps for its task may hold the item.
    follower.take()?.itemWasInvalidated(self)
  }
}

extension Loop.Timer {
  /// A timer whose grid is on the clock of the loop it is meant for, whichever thread makes it.
  package convenience init(
    repeatingEvery interval: Duration, on loop: Loop, tolerance: Duration, handler: sending @escaping (Tick) -> Void
  ) {
    contract(interval > .zero, "Ticks need an interval of at least 1 ns, not \(interval).")
    self.init(
      Schedule(
        fireDate: Schedule.date(after: interval, from: loop.now), interval: Schedule.validInterval(interval),
        tolerance: Schedule.validTolerance(tolerance)),
      order: 0, Label(fileID: #fileID, line: #line), handler: handler)
  }
}
