/// Which loop an item is in, whether it is valid, and how many may call its handlers: one word, as a pure state machine.
///
/// The rules:
/// - The item lock is a bit of the word. While it is set, the thread that set it changes the word, and no other does. So
///   that thread needs one locked instruction, its first: with a plain store it changes the word and opens the lock.
/// - The word has the address of the one loop the item is in, or none. An item joins a loop if it is valid and in no other.
/// - An item becomes invalid once.
/// - The handlers are released by the transition that finds the item invalid and held by nothing, and there is one such.
///
/// `MembershipWord` runs these transitions on an atomic; the tests run them exhaustively.
package struct Membership: Hashable, Sendable {
  package private(set) var word: UInt64

  package init(word: UInt64 = 0) {
    self.word = word
  }

  private static let locked: UInt64 = 1
  private static let common: UInt64 = 2
  private static let invalid: UInt64 = 4
  private static let released: UInt64 = 8
  /// Debug builds alone: a loop was asked to take the item; the library made it for itself.
  private static let added: UInt64 = 16, own: UInt64 = 32
  private static let oneHolder: UInt64 = 1 << 7
  private static let holders: UInt64 = 0x1FFF << 7
  /// An address has 48 bits, the lowest four of which are 0.
  private static let loop: UInt64 = ~0 << 20

  /// Whether the word has room for the address of a loop.
  package static func canName(_ loop: UInt) -> Bool { loop >> 48 == 0 && loop % 16 == 0 }

  /// How many may hold an item's handlers at once.
  package static var mostHolders: Int { Int(holders / oneHolder) }

  // MARK: - What it says

  @inline(__always)
  package var isLocked: Bool { word & Self.locked != 0 }
  /// Whether the item stands in its loop's common-mode item set.
  @inline(__always)
  package var isCommon: Bool { word & Self.common != 0 }
  @inline(__always)
  package var isValid: Bool { word & Self.invalid == 0 }
  /// Whether the item's user is to be told that it was never added: it is valid, and neither was it nor is it the library's.
  package var wasForgotten: Bool { word & (Self.invalid | Self.added | Self.own) == 0 }
  /// For tests.
  package var holderCount: Int { Int(word & Self.holders / Self.oneHolder) }

  /// The address of the loop that the item is in; 0 without one.
  @inline(__always)
  package var loop: UInt { UInt((word >> 20) << 4) }

  @inline(__always)
  package func isIn(_ loop: UInt) -> Bool { word & Self.loop == UInt64(loop) << 16 }

  // MARK: - What any thread does, while the lock is open

  /// Takes the lock.
  @inline(__always)
  package mutating func lock() { word |= Self.locked }

  /// Takes the lock and joins the loop.
  ///
  /// - Returns: Whether it was in no loop before; nil if the item may not join, and then there is no change.
  @inline(__always)
  package mutating func lock(joining loop: UInt) -> Bool? {
    guard mayJoin(loop) else { return nil }
    let isNew = word & Self.loop == 0
    word |= UInt64(loop) << 16 | Self.locked
    return isNew
  }

  /// Takes the lock and ends the item's validity.
  ///
  /// - Returns: False if it has ended, and then there is no change.
  @inline(__always)
  package mutating func lockToEnd() -> Bool {
    guard isValid else { return false }
    word |= Self.invalid | Self.locked
    return true
  }

  /// Ends the item's validity.
  ///
  /// - Returns: False if it has ended.
  package mutating func end() -> Bool {
    guard isValid else { return false }
    word |= Self.invalid
    return true
  }

  /// Keeps the handlers.
  @inline(__always)
  package mutating func hold() {
    require(
      word & Self.holders != Self.holders, "More than \(Self.mostHolders) callouts or loops have an item at once.")
    word += Self.oneHolder
  }

  /// - Returns: Whether the caller is to release the handlers.
  @inline(__always)
  package mutating func unhold() -> Bool {
    word -= Self.oneHolder
    return releaseIfFree()
  }

  /// - Returns: Whether the caller is to release the handlers.
  @inline(__always)
  package mutating func releaseIfFree() -> Bool {
    guard word & (Self.holders | Self.invalid | Self.released) == Self.invalid else { return false }
    word |= Self.released
    return true
  }

  package mutating func noteAdded() { word |= Self.added }
  package mutating func noteOwn(_ isOwn: Bool) { word = isOwn ? word | Self.own : word & ~Self.own }
  package var isOwn: Bool { word & Self.own != 0 }

  // MARK: - What the lock's holder does

  @inline(__always)
  package func mayJoin(_ loop: UInt) -> Bool { isValid && (word & Self.loop == 0 || isIn(loop)) }

  @inline(__always)
  package mutating func setCommon(_ isCommon: Bool) {
    word = isCommon ? word | Self.common : word & ~Self.common
  }

  /// Is free for another loop.
  @inline(__always)
  package mutating func leaveLoop() { word &= ~Self.loop }

  @inline(__always)
  package mutating func unlock() { word &= ~Self.locked }
}
