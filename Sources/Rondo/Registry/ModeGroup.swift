/// What waits for a run in one of a set of modes: each timer and timeout once, in however many modes it is. *loop thread*
///
/// The rules:
/// - A set of modes has at most one group. Timers and timeouts of the same set share it.
/// - A mode owns the group that is for it alone, and lists the other groups whose set contains it. A run serves all of
///   these, merged by date.
/// - A timer that joins or leaves a mode moves to the group of its new set.
/// - The group of the common modes is listed by each mode that is common. Only timeouts are in it: a timer of the common
///   modes is a member of each of them.
/// - A group of several modes ends when it has no timers and timeouts.
@safe final class ModeGroup {
  /// *constant*
  let modes: ModeSet
  @safe @exclusivity(unchecked) var timers = TimerQueue()
  /// How many timers and timeouts belong to it.
  @safe @exclusivity(unchecked) var rowCount = 0
  /// How many of them keep its modes from being empty: timers, and armed timeouts.
  @safe @exclusivity(unchecked) var keptCount = 0

  init(_ modes: ModeSet) {
    self.modes = modes
  }
}

/// The number of a group: a mode's index for the group of that mode alone, from `firstOther` on for all others.
typealias GroupNumber = UInt16

/// The groups of sets that are not one mode. *loop thread*
struct OtherGroups {
  private var groups: ContiguousArray<ModeGroup?> = []

  private static let first = ModeTable.capacity

  subscript(number: GroupNumber) -> ModeGroup { groups[Int(number) - Self.first]! }

  var all: ContiguousArray<ModeGroup> { ContiguousArray(groups.compactMap { $0 }) }

  /// The number of the set's group, if it has one.
  func number(of modes: ModeSet) -> GroupNumber? {
    groups.firstIndex { $0?.modes == modes }.map { GroupNumber(Self.first + $0) }
  }

  /// Makes the set's group, which has none.
  mutating func make(_ modes: ModeSet) -> GroupNumber {
    let place = groups.firstIndex { $0 == nil } ?? groups.count
    require(
      Self.first + place <= GroupNumber.max,
      "The timers of a loop have room for \(Int(GroupNumber.max)) different sets of modes.")
    if place == groups.count { groups.append(nil) }
    groups[place] = ModeGroup(modes)
    return GroupNumber(Self.first + place)
  }

  /// Ends a group without timers and timeouts.
  mutating func end(_ number: GroupNumber) {
    groups[Int(number) - Self.first] = nil
    while let last = groups.last, last == nil { groups.removeLast() }
  }
}
