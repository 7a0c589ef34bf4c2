/// Why a loop does not take an item.
extension Loop {
  /// What ``add(_:to:)-(Loop.Item,_)`` has against an item.
  public enum Refusal: Hashable, Sendable, CustomStringConvertible {
    /// It was invalidated, and is of no use to any loop.
    case itemIsInvalid
    /// It is in another loop, or that loop's thread has yet to let go.
    case itemIsElsewhere
    /// The loop's thread has ended, or is about to.
    case loopHasEnded

    public var description: String {
      switch self {
      case .itemIsInvalid: "the item is invalid: make a new one"
      case .itemIsElsewhere: "the item is in another loop: remove it there first, and wait for that loop's thread"
      case .loopHasEnded: "the loop's thread has ended: it takes nothing any more"
      }
    }
  }

  /// Says why ``add(_:to:)-(Loop.Item,_)`` refuses an item at present. Nil if it does not. Any thread; O(1).
  ///
  /// For whoever was refused: what other threads do meanwhile may change the answer.
  public func refusal(of item: Item) -> Refusal? {
    if !item.isValid { return .itemIsInvalid }
    if mailbox.life != .open { return .loopHasEnded }
    // A source may be in several loops.
    return item is Source || item.lock.withLock { item.mayJoin(self) } ? nil : .itemIsElsewhere
  }
}
