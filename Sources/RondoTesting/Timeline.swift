internal import Rondo
import Synchronization

/// The clock, what happens at which date, and the order of what is tied. *the thread of the scope*, but for the clock
///
/// Several loops may have one.
final class Timeline {
  /// *atomic* The clock: any task may ask it.
  private let clock: Atomic<Int64>
  /// The events as a heap: the earliest one first, and of one date the one that was scheduled first.
  private var events: [Event] = []
  /// Events of one date, which has come, in their order. Those before `firstDue` have run.
  private var due: [Event] = []
  private var firstDue = 0
  private var lastNumber = 0
  /// Chooses where the contract leaves the order open; the documented order without one.
  let seed: Seed?
  private let log = ChoiceLog.current
  /// How many choices there have been.
  private var choices = 0

  private struct Event: Comparable {
    let time: Instant
    let number: Int
    let action: () -> Void

    static func < (one: Event, other: Event) -> Bool { (one.time, one.number) < (other.time, other.number) }
    static func == (one: Event, other: Event) -> Bool { one.number == other.number }
  }

  init(start: Instant, seed: Seed?) {
    clock = Atomic(start.nanoseconds)
    self.seed = seed
  }

  private(set) var now: Instant {
    get { Instant(nanoseconds: clock.load(ordering: .relaxed)) }
    set { clock.store(newValue.nanoseconds, ordering: .relaxed) }
  }

  /// Moves the clock forward, and runs no event.
  func advance(to time: Instant) {
    now = max(now, time)
  }

  // MARK: - Choices

  /// A number below `count`: 0 is the documented choice.
  func choose(among count: Int) -> Int {
    guard let seed, count > 1 else { return 0 }
    defer { choices += 1 }
    let choice = seed.choice(at: choices, among: count)
    if choice != 0 { log?.note(choices) }
    return choice
  }

  func permute<Element>(_ things: inout [Element]) {
    guard seed != nil else { return }
    for place in things.indices { things.swapAt(place, place + choose(among: things.count - place)) }
  }

  // MARK: - Events

  /// The date of the next event.
  var nextEvent: Instant {
    due.isEmpty ? events.first?.time ?? .distantFuture : now
  }

  /// Has `action` happen at `time`, while loops sleep or look.
  func schedule(at time: Instant, _ action: @escaping () -> Void) {
    lastNumber += 1
    events.append(Event(time: time, number: lastNumber, action: action))
    var place = events.count - 1
    while place > 0, events[place] < events[(place - 1) / 2] {
      events.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  /// Runs the events whose date has come.
  ///
  /// - Returns: Whether there were any.
  @discardableResult
  func runDueEvents() -> Bool {
    var hasRun = false
    while true {
      // An event that these schedule for the same date is tied with those that are left.
      while let next = events.first, next.time <= now, due.isEmpty || next.time == due[firstDue].time {
        due.append(popEvent())
      }
      guard !due.isEmpty else { return hasRun }
      hasRun = true
      nextDue().action()
    }
  }

  private func nextDue() -> Event {
    let chosen = firstDue + choose(among: due.count - firstDue)
    let event = chosen > firstDue ? due.remove(at: chosen) : due[firstDue]
    if chosen == firstDue { firstDue += 1 }
    if firstDue == due.count { (due, firstDue) = ([], 0) }
    return event
  }

  /// Drops the events that will not happen any more.
  func close() {
    let dropped = (events, due)
    (events, due, firstDue) = ([], [], 0)
    _ = dropped
  }

  private func popEvent() -> Event {
    events.swapAt(0, events.count - 1)
    let event = events.removeLast()
    var place = 0
    while true {
      var child = 2 * place + 1
      guard child < events.count else { return event }
      if child + 1 < events.count, events[child + 1] < events[child] { child += 1 }
      guard events[child] < events[place] else { return event }
      events.swapAt(place, child)
      place = child
    }
  }
}
