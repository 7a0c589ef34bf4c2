/// What a turn has to do: a bit for each list that is not empty. *loop thread*
///
/// A mode has one and its loop another. The list that a bit stands for sets and clears it, in a property observer, so that
/// no change of the list can forget it.
struct Agenda: OptionSet {
  let rawValue: UInt32

  // Of a mode. The lowest eight bits are what its observers want to hear of: `Loop.Activity`.

  /// Observers want to hear of the beginnings and ends of runs, which are outside of turns.
  static let runs = Agenda(rawValue: UInt32(Loop.Activity.entry.rawValue | Loop.Activity.exit.rawValue))
  /// Sources were signalled.
  static let signalled = Agenda(rawValue: 1 << 8)
  /// Watches are to change before the next wait.
  static let dirty = Agenda(rawValue: 1 << 9)
  /// Sources are to be called for readiness that the kernel will not repeat.
  static let carried = Agenda(rawValue: 1 << 10)

  // Of a loop.

  /// A block or a job may wait. The turn that finds none clears it.
  static let work = Agenda(rawValue: 1 << 16)
  /// The kernel has reported work of the main dispatch queue, once, and no turn has served it since.
  static let mainQueue = Agenda(rawValue: 1 << 17)
  /// Items that were removed wait for the end of their callouts.
  static let retired = Agenda(rawValue: 1 << 18)
  /// Applied mail has led to something that is to be called.
  static let afterMail = Agenda(rawValue: 1 << 19)
  /// One event a turn is served. Never cleared by a turn.
  static let oneEvent = Agenda(rawValue: 1 << 20)

  @inline(__always)
  mutating func note(_ bit: Agenda, _ isThere: Bool) {
    if isThere { formUnion(bit) } else { subtract(bit) }
  }

  /// What observers of the mode want to hear of.
  @inline(__always)
  mutating func note(_ activities: Loop.Activity) {
    self = Agenda(rawValue: rawValue & ~0xFF | UInt32(truncatingIfNeeded: activities.rawValue) & 0xFF)
  }

  @inline(__always)
  func hasObservers(of activity: Loop.Activity) -> Bool {
    rawValue & UInt32(truncatingIfNeeded: activity.rawValue) != 0
  }
}

/// What few loops have, and every turn would have to ask for.
///
/// Any thread sets a bit that stays; the loop's thread alone sets and clears `guest`.
struct Extras: OptionSet {
  let rawValue: UInt32

  /// A foreign loop shares the thread.
  static let foreign = Extras(rawValue: 1)
  /// Sleeps are timed, or a delegate hears of them.
  static let watchedSleep = Extras(rawValue: 2)
  /// There is a delegate.
  static let delegate = Extras(rawValue: 4)
  /// Sleeps may begin or end with a spin: a user has set a budget for it, or there has been a precise timer.
  static let spin = Extras(rawValue: 8)
  /// Jobs that wait outside of runs are left to a relay.
  static let relay = Extras(rawValue: 16)
  /// The loop is a guest.
  static let guest = Extras(rawValue: 32)
}
