internal import RondoTesting

/// Random scenarios, a pure function of seed and number.
///
/// Nearly half of them are plain, the others have a flavour: see `Flavour`. It avoids only what Rondo's decisions
/// changed; in brackets the decision.
///
/// By construction:
/// - Every mode keeps a source that is never signalled and a timer that is far away, which nothing touches, so that no mode
///   empties and CFRunLoop's timer descriptor is re-armed rather than forgotten [Q8]. One scenario in six, and every one
///   about emptied modes, has neither; it has at most one timer, of one mode, which is left alone.
/// - Nested runs in observers and blocks are polls, so that no outer deadline passes inside them [Q4]; in scenarios
///   about sleeping nested runs they are not, and the oracle says when one did.
/// - Nobody writes, adds or removes a descriptor source in an afterWaiting observer, nor nests a run there while there are
///   descriptor sources or timers: CFRunLoop has read the descriptor by then, the timers' own included [Q10, Q11].
/// - Scenarios with descriptor sources have no wakes, stops and due timers, and those with two of them neither add nor remove
///   one and begin with a poll: Rondo writes no eventfd, arms no timer and asks the kernel for no descriptor while it is
///   awake, so what arrived first among different kinds is not known to it [wait sets; the wake and arming rules].
/// - A source whose pipe was hung up invalidates itself when told: CFRunLoop tells it once, Rondo in every turn [Q10].
/// - A helper thread that adds, removes or invalidates wakes CFRunLoop right after, if Rondo's change wakes Rondo, and sets
///   no date to now: the wake and the timer would be two events [adding from another thread].
/// - Nothing is invalidated after it was taken out of a common mode by hand and asked for in the common set [Q14].
/// - Where a mode becomes common, no two observers have the same order: in which sequence the common items join it, the
///   oracle leaves to a hash table. Sources with callbacks are in no common set.
/// - No two timers are due at one instant, no tolerance, no equal contexts [Q9, Q13]. `PlayGenerator` has both.
/// - Where the loop's own thread wakes or stops, no timer becomes due or joins a mode meanwhile: the kernel saw the timer
///   first if it was due before, whatever happened to it since [wait sets; the wake and arming rules].
/// - Where callouts keep the thread busy past timers, nobody wakes: when a wake came, Rondo does not ask. What comes
///   before a wait is over before the run's end, and every end is apart from every date: CFRunLoop serves the wake that
///   stands for the end and leaves due timers to the next run [Q11].
/// - A stop is requested in the only mode that is run, not by an exit observer, and not beside stops that are sent:
///   CFRunLoop keeps it per mode until a run that it ended, Rondo per loop until one that was stopped [Q2].
/// - What a source does when its dying loop cancels it is left out [Q23].
///
/// By watching the oracle, whose run says `Outcome.quirks`; such a scenario is replaced by the next one of its number:
/// - a mode was empty right before a wait [Q1],
/// - a wake was pending when a nested run began, or was left over when it ended, or was sent inside a run that an observer
///   or a block had started, or an outer deadline passed inside a nested run [Q4] (a wake left over by an outermost
///   run is taken away, as Rondo does [Q3], and compared),
/// - a source of the same round was no longer signalled or valid when its turn came [Q5],
/// - something was called that is no longer in the mode [Q7],
/// - a nested run was woken or stopped on the loop's thread while a timer of its mode was due [Q11].
///
/// And only if the traces differ, what `Comparison.excuses` lists. One of it is a timer that joins a mode, or becomes due,
/// after another thread has woken CFRunLoop for a change: Rondo has no wake to serve before the timer. Of those, what goes wrong with a timer of several
/// modes is read off CFRunLoop's own descriptors: `CFTimerWatch`.
package struct Generator {
  var random: SeededRandom
  let flavour: Flavour
  let modes = ["m", "q", "D"]
  /// The timer that is far away in every mode and that nothing touches.
  static let keptTimer = "F"
  /// The observer of everything in every mode, which nothing touches either.
  static let keptObserver = "o"
  var items: [Scenario.Item] = []
  var sources: [String] = []
  var ports: [String] = []
  var timers: [String] = []
  var observers: [(name: String, phases: Phases)] = []
  var blocks: [String] = []
  /// Whether modes have their untouched source and timer.
  var keeps = true
  /// Whether its loop thread wakes and stops; otherwise callouts may change timers that are due.
  var wakes = true
  /// Whether modes become common.
  var makesCommon = true
  /// Whether callouts set the dates of timers, which then keep to their modes.
  var redates = true
  /// Whether one of them has.
  var hasRedated = false
  /// Those of two descriptor sources that were written to: a second write would queue them in the kernel's order again.
  var written: Set<String> = []
  /// How many descriptor sources it has.
  var portCount = 0
  /// Whether time passes in it.
  var timed = false

  /// The scenario of a number; `attempt` counts those the oracle's quirks used up.
  ///
  /// - Parameter flavour: Makes every scenario one of this flavour.
  package static func scenario(seed: UInt64, number: Int, attempt: Int = 0, flavour wanted: String? = nil) -> Scenario {
    // Three draws keep neighbouring seeds and numbers apart.
    var mix = SeededRandom(seed: seed)
    var second = SeededRandom(seed: mix.next() ^ UInt64(number))
    let first = second.next()
    let usual: Flavour = second.chance(45) ? .plain : second.pick(Flavour.weighted)
    let flavour = wanted.flatMap(Flavour.init(rawValue:)) ?? usual
    var generator = Generator(random: SeededRandom(seed: first ^ UInt64(attempt)), flavour: flavour)
    return generator.make()
  }

  /// Whether a part of a generated scenario is still one whose comparison means something.
  package static func allows(_ scenario: Scenario) -> Bool {
    let kinds = scenario.items.map(\.kind)
    let timers = kinds.count { if case .timer = $0 { true } else { false } }
    let ports = kinds.count { if case .source1 = $0 { true } else { false } }
    // A mode whose last timer goes away wakes CFRunLoop once more.
    if timers > 0, !scenario.items.contains(where: { $0.name == keptTimer && $0.modes.count == 3 }) { return false }
    // The polls that make both loops watch the descriptors before one is written.
    if ports > 1 {
      let polled = scenario.steps.prefix(3).filter { if case .run(_, 0, _) = $0 { true } else { false } }
      if polled.count < 3 { return false }
    }
    return true
  }

  private init(random: SeededRandom, flavour: Flavour) {
    self.random = random
    self.flavour = flavour
  }

  private mutating func make() -> Scenario {
    keeps = !random.chance(16)
    timed = random.chance(8)
    wakes = random.chance(60)
    redates = random.chance(50)
    makesCommon = random.chance(60)
    portCount = random.chance(20) ? random.number(1...2) : 0
    season()
    makeItems()
    var steps: [Scenario.Action] = []
    if makesCommon, random.chance(50) { steps.append(.commonMode(random.pick(["m", "q"]))) }
    if portCount > 1 { steps += modes.map { .run($0, milliseconds: 0, handled: false) } }
    for _ in 0..<random.number(2...6) { steps.append(preparation()) }
    if timed {
      if flavour == .late {
        // Both ends are at least a millisecond before any instant, whenever the first run ends.
        steps.append(.run("m", milliseconds: 22.2, handled: false))
        steps.append(.run("m", milliseconds: 24.5, handled: random.chance(10)))
      } else {
        // Apart from dates that callouts set at dates.
        let isRedated = flavour == .redated || flavour == .foreign
        steps.append(.run("m", milliseconds: isRedated ? 25.5 : 26, handled: random.chance(25)))
      }
      if random.chance(50) {
        let mode = random.pick(modes)
        steps.append(.run(flavour == .requests ? "m" : mode, milliseconds: 0, handled: false))
      }
    } else {
      for _ in 0..<random.number(2...4) {
        steps.append(run(short: random.chance(70), milliseconds: 12))
        for _ in 0..<random.number(0...3) { steps.append(preparation()) }
      }
    }
    let scripts = hangUpScripts() + announcedScripts() + makeScripts()
    return Scenario(items, steps, on: scripts, helper: timed ? makeHelper() : [])
  }

  // MARK: Items

  private mutating func someModes() -> [String] {
    switch random.number(0...19) {
    case 0...10: ["m"]
    case 11...12: ["q"]
    case 13...15: ["m", "q"]
    case 16...17: ["C"]
    case 18: ["D", "m"]
    default: []
    }
  }

  /// Two descriptor sources stay where they are, so neither is a common item.
  private mutating func portModes() -> [String] {
    portCount == 1 ? someModes() : random.pick([["m"], ["m"], ["q"], ["m", "q"]])
  }

  private mutating func makeItems() {
    items = [.phases("m", "q", "D")]
    if keeps { items += [.keep("m", "q", "D"), .timer(Self.keptTimer, 1e6, in: modes)] }
    for index in 0..<random.number(1...4) {
      sources.append("s\(index)")
      let isAnnouncing = flavour == .announcing
      let modes = isAnnouncing ? random.pick([["m"], ["q"], []]) : someModes()
      items.append(.source("s\(index)", order: random.number(-1...1), in: modes, announces: isAnnouncing))
    }
    for index in 0..<portCount {
      ports.append("P\(index)")
      if flavour == .hangUp {
        items.append(.init(name: "P\(index)", kind: .pipe, modes: portModes()))
      } else {
        items.append(.port("P\(index)", written: portCount == 1 && random.chance(50), in: portModes()))
      }
    }
    makeTimers()
    let orders = [-2, -1, 1, 2].shuffled(using: &random)
    for index in 0..<random.number(0...3) {
      let name = "w\(index)"
      var phases = random.pick(Phases.each)
      if random.chance(40) { phases.formUnion(random.pick(Phases.each)) }
      if random.chance(10) { phases = .all }
      observers.append((name, phases))
      items.append(
        .observer(
          name, phases, order: makesCommon ? orders[index] : random.number(-2...2), repeats: random.chance(80),
          in: someModes()))
    }
  }

  private mutating func makeTimers() {
    if timed {
      // Distinct instants 3 ms apart; the repeating one has 3, 12 and 21 to itself.
      if random.chance(flavour == .late ? 80 : 40) {
        timers.append("t9")
        let modes = flavour == .late || flavour == .redated ? random.pick([["m"], ["m", "q"], ["C", "m"]]) : ["m"]
        items.append(.timer("t9", 3, every: flavour == .late ? random.pick([3, 6, 9, 12]) : 9, in: modes))
      }
      if flavour == .foreign, random.chance(50) {
        timers.append("t10")
        items.append(.timer("t10", 10.5, order: random.number(-1...1), in: []))
      }
      for slot in [6, 15] where random.chance(keeps ? 60 : 0) {
        timers.append("t\(slot)")
        items.append(
          .timer(
            "t\(slot)", Double(slot), order: random.number(-1...1),
            in: portCount > 0 || wakes || random.chance(80) ? ["m"] : ["q"]))
      }
      if !keeps, timers.isEmpty {
        timers.append("t6")
        items.append(.timer("t6", 6, in: ["m"]))
      }
      return
    }
    for index in 0..<(keeps ? random.number(0...3) : random.number(0...1)) {
      let name = "t\(index)"
      timers.append(name)
      // Due at creation, or so far away that only a new date makes it fire; a repeating one has its next tick far away.
      let due = portCount == 0 && (random.chance(70) || !keeps)
      let every: Double = keeps && random.chance(40) ? 1e6 : 0
      items.append(.timer(name, due ? 0 : 1e6, every: every, in: keeps ? someModes() : ["m"]))
    }
  }

  // MARK: Actions

  mutating func run(short: Bool, milliseconds: Double) -> Scenario.Action {
    var mode = random.pick(["m", "m", "m", "m", "q", "D"])
    if flavour == .requests { mode = "m" }
    if flavour == .emptied, random.chance(20) { mode = "z" }
    return .run(mode, milliseconds: short ? 0 : milliseconds, handled: random.chance(35))
  }

  /// A write to a descriptor source; with two of them, the first to each.
  mutating func write() -> Scenario.Action {
    let port = random.pick(ports)
    if flavour == .hangUp { return .hangUp(port) }
    if portCount > 1, !written.insert(port).inserted { return block() }
    return .write(port)
  }

  mutating func block() -> Scenario.Action {
    let name = "b\(blocks.count)"
    blocks.append(name)
    let sets = [["m"], ["m"], ["q"], ["C"], ["m", "q"], ["D"]]
    return .block(name, modes: random.pick(sets))
  }

  private mutating func preparation() -> Scenario.Action {
    if let step = seasonedStep() { return step }
    return switch random.number(0...9) {
    case 0...4: .signal(random.pick(sources))
    case 5...7 where !ports.isEmpty: write()
    case 6 where wakes: .wake
    case 7 where wakes && flavour != .requests: .stop
    default: block()
    }
  }

  /// Whether a repeating timer is due at this instant: a signal without a wake would come before it or after it.
  private func isTick(_ slot: Int) -> Bool {
    items.contains { item in
      guard case .timer(let first, let interval, _) = item.kind, interval > 0 else { return false }
      return (Double(slot) - first).truncatingRemainder(dividingBy: interval) == 0
    }
  }

  private mutating func makeHelper() -> [Scenario.Timed] {
    var helper: [Scenario.Timed] = []
    for slot in [9, 18] where random.chance(60) && !isTick(slot) {
      var actions: [Scenario.Action] = []
      switch random.number(0...6) {
      case _ where flavour == .foreign: actions = [foreignChange()]
      // When a wake came while the thread was busy, Rondo does not know.
      case 0...3 where flavour == .late: actions = [random.chance(50) ? block() : .signal(random.pick(sources))]
      case 0...1 where flavour == .requests: actions = [.requestStop("m")]
      case 0...4 where !ports.isEmpty: actions = [write()]
      case 0: actions = [.wake]
      case 1 where flavour != .requests: actions = [.stop]
      case 2: actions = [.signal(random.pick(sources)), .wake]
      case 3: actions = [block(), .wake]
      case 5: actions = [block()]
      default: actions = [.signal(random.pick(sources))]
      }
      helper.append(.init(milliseconds: Double(slot), actions: actions))
    }
    return helper
  }
}
