/// Told when an item becomes invalid, by whoever made it so. Kept by the item.
class ItemFollower {
  /// Once for each item, on any thread, with no lock held.
  func itemWasInvalidated(_ item: Loop.Item) {}
}

/// An item that tells a follower of its end. Only the items that tasks wait for have the room for one.
protocol FollowedItem: Loop.Item {
  /// *whoever makes the item, before it joins a loop; then whoever makes it invalid*
  var follower: ItemFollower? { get set }
}

final class FollowedTimer: Loop.Timer, FollowedItem, @unchecked Sendable {
  @safe @exclusivity(unchecked) var follower: ItemFollower?

  override func wasInvalidated() {
    // What it keeps for its task may hold the item.
    follower.take()?.itemWasInvalidated(self)
  }
}

final class FollowedDescriptorSource: Loop.DescriptorSource, FollowedItem, @unchecked Sendable {
  @safe @exclusivity(unchecked) var follower: ItemFollower?

  override func wasInvalidated() {
    // What it keeps for its task may hold the item.
    follower.take()?.itemWasInvalidated(self)
  }
}

final class FollowedObserver: Loop.Observer, FollowedItem, @unchecked Sendable {
  @safe @exclusivity(unchecked) var follower: ItemFollower?

  override func wasInvalidated() {
    // What it keeps for its task may hold the item.
    follower.take()?.itemWasInvalidated(self)
  }
}
