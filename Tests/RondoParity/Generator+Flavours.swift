// What a scenario is about beside the usual, so that each kind of happening is frequent somewhere.

extension Generator {
  enum Flavour: String, CaseIterable {
    /// Nothing in particular; nearly half of the scenarios.
    case plain
    /// A helper thread adds, removes, invalidates, sets dates and makes modes common.
    case foreign
    /// Callouts keep the thread busy past the dates of timers.
    case late
    /// Callouts set dates of timers, also of those in several modes.
    case redated
    /// Sources whose schedule and cancel callbacks do something.
    case announcing
    /// Sources that are in the loops of two threads.
    case shared
    /// Nested runs in observers and blocks sleep, and there are more of them.
    case sleepy
    /// Stops that are requested rather than sent.
    case requests
    /// Modes that nobody made, and modes that lose their last item.
    case emptied
    /// Descriptors whose other end is closed.
    case hangUp

    /// Those that sleep for long are rarer.
    static let weighted = allCases + allCases.filter { $0 != .late && $0 != .foreign } + [.foreign]
  }

  mutating func season() {
    switch flavour {
    case .plain: break
    case .foreign, .late: (keeps, timed, portCount) = (true, true, 0)
    case .redated: (keeps, timed, redates, portCount) = (true, random.chance(30), true, 0)
    case .announcing: (keeps, timed, makesCommon, portCount) = (true, false, false, 0)
    // What a shared source does may happen on the other thread. A date set there wakes the loop, and whether the wake or
    // the timer comes first is not the same event on both loops.
    case .shared: (timed, redates, portCount) = (false, false, 0)
    case .sleepy: (timed, portCount) = (false, 0)
    case .requests: (keeps, portCount) = (true, 0)
    case .emptied: (keeps, timed, portCount) = (false, false, 0)
    case .hangUp: (keeps, portCount) = (true, 1)
    }
    if flavour == .late || flavour == .redated { wakes = false }
    if flavour == .requests { wakes = true }
  }

  /// An action only this flavour has; nil for a usual one.
  mutating func seasoned(_ place: Place) -> Scenario.Action? {
    guard flavour != .plain else { return nil }
    if random.chance(8) { return probe() }
    switch flavour {
    case .late where random.chance(25): return busy(place)
    case .redated where random.chance(30) && !timers.isEmpty: return redate()
    case .shared where random.chance(30): return place.isObserver ? elsewhere() : nil
    case .sleepy where random.chance(15) && !place.hasWaited: return nestedRun(place)
    case .requests where random.chance(15) && !place.isExit: return .requestStop("m")
    case .emptied where random.chance(25):
      return random.chance(50) ? .remove(random.pick(sources), random.pick(modes)) : .add(random.pick(sources), "z")
    default: return nil
    }
  }

  /// A step only this flavour has.
  mutating func seasonedStep() -> Scenario.Action? {
    guard random.chance(40) else { return nil }
    return switch flavour {
    case .requests: .requestStop("m")
    case .shared: elsewhere()
    case .emptied: random.chance(50) ? .add(random.pick(sources), "z") : .block("bz", modes: ["z"])
    default: nil
    }
  }

  private mutating func probe() -> Scenario.Action {
    let mode = random.pick(modes)
    let name = random.pick(sources + observers.map(\.name) + timers)
    switch random.number(0...4) {
    case 0: return .probe(.contains(name, mode))
    case 1: return .probe(.valid(name))
    case 2: return .probe(.signalled(random.pick(sources)))
    case 3: return .probe(.hasFireDate(mode))
    default: return .probe(.currentMode)
    }
  }

  /// Ends between two instants. What comes before the wait ends before the run does.
  private mutating func busy(_ place: Place) -> Scenario.Action {
    let steps = if case .timer = place { [1, 2, 3, 4, 5, 6, 8, 9, 11] } else { [1, 2, 3, 4, 5, 6] }
    return .busyUntil(1.5 + 3 * Double(random.pick(steps)))
  }

  /// Where time passes only once: a date set at a date that was set may be any instant.
  private mutating func redate() -> Scenario.Action {
    if timed, hasRedated { return block() }
    hasRedated = true
    return .setFireDate(random.pick(timers), milliseconds: random.pick(timed ? [4.2, 7.2, 1e6] : [0, 0, 1e6]))
  }

  private mutating func elsewhere() -> Scenario.Action {
    var actions: [Scenario.Action] = []
    for _ in 0..<random.number(1...4) {
      let mode = random.pick(["m", "D", "C"])
      switch random.number(0...5) {
      case 0...1: actions.append(.add(random.pick(sources), mode))
      case 2: actions.append(.remove(random.pick(sources), mode))
      case 3: actions.append(.signal(random.pick(sources)))
      default: actions.append(.run(mode == "C" ? "D" : mode, milliseconds: 0, handled: random.chance(30)))
      }
    }
    return .elsewhere(actions)
  }

  /// A change by the helper thread while the loop sleeps.
  mutating func foreignChange() -> Scenario.Action {
    let mode = random.pick(["m", "m", "q", "C"])
    let name = random.pick(sources + observers.map(\.name) + timers)
    switch random.number(0...7) {
    case 0...2: return .waking(.add(name, mode))
    case 3...4: return .waking(.remove(name, mode))
    case 5: return .waking(.invalidate(name))
    case 6 where makesCommon: return .waking(.commonMode(random.pick(["m", "q"])))
    default:
      guard let timer = timers.randomElement(using: &random) else { return .waking(.add(name, mode)) }
      return .waking(.setFireDate(timer, milliseconds: random.pick([4.2, 7.2, 1e6])))
    }
  }

  /// What schedule and cancel callbacks do.
  mutating func announcedScripts() -> [Scenario.Script] {
    guard flavour == .announcing else { return [] }
    return (0..<random.number(1...3)).map { _ in
      let name = random.pick(["+", "-"]) + random.pick(sources)
      let actions = (0..<random.number(1...3)).map { _ -> Scenario.Action in
        let other = random.pick(sources + observers.map(\.name))
        return switch random.number(0...6) {
        case 0...1: .signal(random.pick(sources))
        case 2: block()
        case 3: .add(other, random.pick(["m", "q"]))
        case 4: .remove(other, random.pick(["m", "q"]))
        case 5: .invalidate(other)
        default: .probe(.contains(other, random.pick(["m", "q"])))
        }
      }
      return .init(name: name, phase: nil, turn: random.number(1...3), actions: actions)
    }
  }

  /// A source whose pipe hung up must leave: CFRunLoop tells it once, Rondo in every turn.
  func hangUpScripts() -> [Scenario.Script] {
    guard flavour == .hangUp else { return [] }
    return ports.map { .init(name: $0, phase: nil, turn: nil, actions: [.invalidate($0)]) }
  }
}

extension Generator.Place {
  var isExit: Bool {
    if case .observer(.exit) = self { true } else { false }
  }

  var isObserver: Bool {
    if case .observer = self { true } else { false }
  }

  var hasWaited: Bool {
    if case .observer(.afterWaiting) = self { true } else { false }
  }
}
