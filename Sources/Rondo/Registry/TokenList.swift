/// Items that stand on a list of a mode, by token, each once. *loop thread*
///
/// An item that leaves the loop need not be looked for: its token is stale, and stale ones are swept when they are more
/// than half. One that leaves the mode alone stays, and a reader of the list finds that it left.
struct TokenList {
  private(set) var tokens: ContiguousArray<Token> = []
  /// How many tokens are stale.
  private var staleCount = 0

  /// Below this many stale tokens, which are 8 bytes each, a sweep is not worth its while. Chosen.
  private static let fewest = 32

  @inline(__always)
  var isEmpty: Bool { tokens.isEmpty }

  @inline(__always)
  mutating func append(_ token: Token) {
    tokens.append(token)
  }

  /// An item that stands here has left the loop: its token in `slots` is stale by now. O(1), counted over many.
  mutating func noteStale(in slots: SlotTable) {
    staleCount += 1
    guard staleCount > Self.fewest, staleCount > tokens.count / 2 else { return }
    tokens.removeAll { !slots.holds($0) }
    tokens.shrinkIfSparse()
    staleCount = 0
  }

  /// Empties the list, and hands over what stood there.
  mutating func takeAll() -> ContiguousArray<Token> {
    var taken: ContiguousArray<Token> = []
    swap(&taken, &tokens)
    staleCount = 0
    return taken
  }

  /// Drops every token that `isGone` names, the stale ones among them.
  mutating func removeAll(where isGone: (Token) -> Bool) {
    tokens.removeAll(where: isGone)
    tokens.shrinkIfSparse()
    staleCount = 0
  }

  /// Drops the last one.
  @inline(__always)
  mutating func removeLast() {
    tokens.removeLast()
    tokens.shrinkIfSparse()
    if tokens.isEmpty { staleCount = 0 }
  }
}
