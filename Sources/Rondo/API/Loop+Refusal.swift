/// Why a loop does not take an item.
extension Loop {
  /// Why ``add(_:to:)-(Loop.Item,_)`` refuses an item.
  public enum Refusal: Hashable, Sendable, CustomStringConvertible {
    /// The item is invalid. No loop takes it.
    case itemIsInvalid
    /// The item is in another loop, or that loop has not yet applied its removal.
    case itemIsElsewhere
    /// The loop's thread is ending or has ended.
    case loopHasEnded

    /// A sentence with the reason.
    public var description: String {
      switch self {
      case .itemIsInvalid: "the item is invalid: make a new one"
      case .itemIsElsewhere: "the item is in another loop: remove it there first, and wait for that loop's thread"
      case .loopHasEnded: "the loop's thread has ended: it takes nothing any more"
      }
    }
  }

  /// Returns why ``add(_:to:)-(Loop.Item,_)`` refuses an item now; nil if it does not. Any thread; O(1).
  ///
  /// Another thread may change the result after the call.
  public func refusal(of item: Item) -> Refusal? {
    if !item.isValid { return .itemIsInvalid }
    if mailbox.life != .open { return .loopHasEnded }
    // A source may be in several loops.
    return item is Source || item.membership.withLock { item.mayJoin(self) } ? nil : .itemIsElsewhere
  }
}
