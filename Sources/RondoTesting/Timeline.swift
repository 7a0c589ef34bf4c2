internal import Rondo
import Synchronization

/// The clock, what happens at which date, and the order of what is tied. *the thread of the scope*, but for the clock
///
/// Several loops may have one.
final class Timeline {
  /// *atomic* The clock: any task may ask it.
  private let clock: Atomic<Int64>
  /// The events as a heap: the earliest one first, and of one date the one that was scheduled first.
  @safe @exclusivity(unchecked) private var events: [Event] = []
  /// Events of one date, which has come, in their order. Those before `firstDue` have run.
  @safe @exclusivity(unchecked) private var due: [Event] = []
  @safe @exclusivity(unchecked) private var firstDue = 0
  @safe @exclusivity(unchecked) private var lastNumber = 0
  /// Chooses where the contract leaves the order open; the documented order without one.
  let seed: Seed?
  private let log = RunLog.current
  private let start: Instant
  /// How many turns there have been at one date, and at which.
  @safe @exclusivity(unchecked) private var turns = 0
  @safe @exclusivity(unchecked) private var turnDate = Instant.distantPast
  /// *atomic* How many turns there have been.
  private let allTurns = Atomic(0)
  /// How many choices there have been.
  @safe @exclusivity(unchecked) private var choices = 0

  private struct Event: Comparable {
    let time: Instant
    let number: Int
    let host: String?
    let action: () -> Void

    static func < (one: Event, other: Event) -> Bool { (one.time, one.number) < (other.time, other.number) }
    static func == (one: Event, other: Event) -> Bool { one.number == other.number }
  }

  init(start: Instant, seed: Seed?) {
    self.start = start
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

  // MARK: - Turns

  /// Ends a run in which the clock will never move again.
  func countTurn() {
    if now != turnDate { (turns, turnDate) = (0, now) }
    turns += 1
    allTurns.add(1, ordering: .relaxed)
    require(
      turns < 200_000,
      "The clock stands still, because loops call out without end: does a task wait for something by Task.yield()?")
  }

  /// How many turns there have been. Any thread.
  var turnCount: Int { allTurns.load(ordering: .relaxed) }

  // MARK: - Choices

  /// A number below `count`: 0 is the documented choice.
  ///
  /// - Parameter sentence: What comes of another choice.
  func choose(among count: Int, on host: String? = nil, _ sentence: (Int) -> String) -> Int {
    guard seed != nil, count > 1 else { return 0 }
    return choose(at: reserveChoices(1), among: count, on: host, sentence)
  }

  /// Whether something happens that the documented order does not have.
  func happens(oneIn: Int, on host: String? = nil, _ sentence: () -> String) -> Bool {
    guard let seed else { return false }
    if oneIn > 1 {
      let place = reserveChoices(1)
      guard seed.choice(at: place, among: oneIn) == 1 else { return false }
      log?.note(place)
    }
    tell(on: host, sentence)
    return true
  }

  /// Which of `count` things goes first.
  func chooseFirst(among count: Int, _ name: StaticString, on host: String? = nil) -> Int {
    choose(among: count, on: host) {
      "a \(name) went before \($0 == 1 ? "another" : "\($0) others") that could go first"
    }
  }

  /// Keeps places for choices that may be made later, or never.
  ///
  /// - Returns: The first place.
  func reserveChoices(_ count: Int) -> Int {
    defer { if seed != nil { choices += count } }
    return choices
  }

  private func choose(at place: Int, among count: Int, on host: String?, _ sentence: (Int) -> String) -> Int {
    guard let seed, count > 1 else { return 0 }
    let choice = seed.choice(at: place, among: count)
    if choice != 0, let log {
      log.note(place)
      tell(on: host) { sentence(choice) }
    }
    return choice
  }

  func permute<Element>(_ things: inout [Element], _ name: StaticString, on host: String? = nil) {
    for place in things.indices {
      things.swapAt(place, place + chooseFirst(among: things.count - place, name, on: host))
    }
  }

  /// The same by choices that were kept.
  func permute(_ threads: inout [HostThread], by first: Int) {
    for place in threads.indices {
      let choice = choose(at: first + place, among: threads.count - place, on: nil) {
        "\(threads[place + $0].title) had its turn before \(threads[place].title)"
      }
      threads.swapAt(place, place + choice)
    }
  }

  // MARK: - What is told

  /// Writes down a choice or a fault for the reader of a failure.
  func tell(on host: String? = nil, _ sentence: () -> String) {
    guard let log, log.tells else { return }
    log.tell("At \(elapsed)\(host.map { " on \($0)" } ?? ""), \(sentence()).")
  }

  /// Writes down an event if the reader asks for them.
  func noteEvent(on host: String? = nil, _ event: () -> String) {
    guard let log, log.eventCount > 0 else { return }
    log.noteEvent("\(elapsed)\(host.map { ", \($0)" } ?? ""): \(event())")
  }

  /// The virtual time since the scope began. Any thread.
  var elapsed: Duration { .nanoseconds(now.nanoseconds - start.nanoseconds) }

  // MARK: - Events

  /// The date of the next event.
  var nextEvent: Instant {
    due.isEmpty ? events.first?.time ?? .distantFuture : now
  }

  /// Has `action` happen at `time`, while loops sleep or look.
  ///
  /// - Parameter host: The address of the host at which it happens.
  func schedule(at time: Instant, on host: String? = nil, _ action: @escaping () -> Void) {
    lastNumber += 1
    events.append(Event(time: time, number: lastNumber, host: host, action: action))
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
    let first = firstDue
    let chosen =
      first
      + choose(among: due.count - first) { [due] in
        let host = due[first + $0].host.map { " at \($0)" } ?? ""
        return "an event\(host) went before \($0 == 1 ? "another" : "\($0) others") of its moment"
      }
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
