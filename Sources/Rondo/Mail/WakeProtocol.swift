/// Which poster has to wake the loop: the word that a loop and its posters share, as a pure state machine.
///
/// The loop announces sleep only when nothing has been posted; a poster that finds it asleep takes the announcement
/// back and owes one write: the system call that ends the sleep, whichever that is. So there is at most one write per
/// sleep, none while the loop is awake, and no post between the last poll and the sleep is lost. `Wakeup` runs these
/// transitions on an atomic; the tests run them exhaustively.
package struct WakeProtocol: Equatable, Hashable, Sendable {
  package var word: UInt32

  package init(word: UInt32 = 0) {
    self.word = word
  }

  /// What the word says. The bits above `writers` count posters that still owe or perform a write.
  package struct Bits: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }
    /// The loop is in the kernel, or about to be, and reads the word again only after a write.
    package static let asleep = Bits(rawValue: 1)
    /// The mailbox holds changes or blocks.
    package static let mail = Bits(rawValue: 2)
    /// The stack of signals holds sources.
    package static let signals = Bits(rawValue: 64)
    /// The next wait shall return at once.
    package static let wake = Bits(rawValue: 4)
    /// The innermost run shall stop.
    package static let stop = Bits(rawValue: 8)
    /// The loop's thread has ended. `Life` says so too, but a poster has to learn it in the same atomic step.
    package static let dead = Bits(rawValue: 16)
    /// Every run shall stop, the next one if none is under way.
    package static let stopRequest = Bits(rawValue: 32)
    /// The loop is a guest or simulated, and its thread is in its host's code or another's: a change there wakes it, too.
    package static let outside = Bits(rawValue: 128)
    /// The loop's thread sleeps until no poster owes a write any more: the last one wakes it.
    package static let awaitsWriters = Bits(rawValue: 256)
    /// Each post that would end a sleep owes a write, also while the loop is awake: a simulation hears of it.
    package static let overheard = Bits(rawValue: 512)
    /// Each of them, and the writers.
    package static let all = Bits(rawValue: .max)
  }

  package static let oneWriter: UInt32 = 1 << 10

  package enum PostAction: Equatable, Sendable {
    case nothing
    case write
    case refused
  }

  package enum SleepAction: Equatable, Sendable {
    case sleep
    case stayAwake
  }

  /// Whether any of `bits` is set, where `contains` of a set asks for all of them.
  package func hasAny(_ bits: Bits) -> Bool {
    word & bits.rawValue != 0
  }

  /// Whether a poster may still touch the loop's wakeup descriptor.
  package var hasWriters: Bool {
    word >= Self.oneWriter
  }

  /// What ends a sleep.
  private static let ending: Bits = [.wake, .stop, .stopRequest]

  /// A poster, from any thread: leaves `bits`, which end a sleep unless they are mail or signals alone.
  package mutating func post(_ bits: Bits) -> PostAction {
    if hasAny(.dead) { return .refused }
    word |= bits.rawValue
    guard !bits.isDisjoint(with: Self.ending), hasAny([.asleep, .overheard]) else { return .nothing }
    word &= ~Bits.asleep.rawValue
    word += Self.oneWriter
    return .write
  }

  /// The poster that owed a write has written.
  ///
  /// - Returns: Whether the loop's thread sleeps until then, and is to be woken.
  @discardableResult
  package mutating func wrote() -> Bool {
    word -= Self.oneWriter
    return !hasWriters && !take(.awaitsWriters).isEmpty
  }

  /// The loop, about to sleep until no poster owes a write.
  ///
  /// - Returns: False if none does.
  package mutating func awaitWriters() -> Bool {
    if hasWriters { word |= Bits.awaitsWriters.rawValue }
    return hasWriters
  }

  /// The loop, last thing before the kernel.
  package mutating func prepareToSleep() -> SleepAction {
    if hasAny([.mail, .signals, .wake, .stop, .stopRequest]) { return .stayAwake }
    word |= Bits.asleep.rawValue
    return .sleep
  }

  /// The loop as a guest, last thing before it returns to its host, which sleeps for it.
  package mutating func prepareToSleepOutside() -> SleepAction {
    let action = prepareToSleep()
    if action == .sleep { word |= Bits.outside.rawValue }
    return action
  }

  /// The loop as a guest returns to its host awake, with work left, for which its descriptor is readable.
  package mutating func leave() {
    word |= Bits.outside.rawValue
  }

  /// The loop's own thread, at its host, has changed something: takes the announcement of sleep back, and owes one write.
  package mutating func cancelSleep() -> PostAction {
    guard hasAny(.asleep) else { return .nothing }
    word &= ~Bits.asleep.rawValue
    return .write
  }

  /// The loop, first thing after the kernel: awake, with `bits` taken.
  @discardableResult
  package mutating func woke(taking bits: Bits = []) -> Bits {
    word &= ~Bits.asleep.rawValue
    return take(bits)
  }

  /// The loop: takes `bits` out of the word.
  package mutating func take(_ bits: Bits) -> Bits {
    let taken = word & bits.rawValue
    word &= ~taken
    return Bits(rawValue: taken)
  }

  /// The loop's thread ends: later posts are refused.
  package mutating func close() {
    word = (word | Bits.dead.rawValue) & ~Bits.asleep.rawValue
  }
}
