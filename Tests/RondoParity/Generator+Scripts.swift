// What callouts of a random scenario do.

extension Generator {
  /// Where a script runs decides what it may contain.
  enum Place {
    case observer(Phases)
    case block, source, port, timer
  }

  mutating func makeScripts() -> [Scenario.Script] {
    var scripts: [Scenario.Script] = []
    for _ in 0..<random.number(2...9) {
      guard let script = makeScript() else { continue }
      // Two scripts of one callout would be one longer script.
      if scripts.contains(where: { $0.name == script.name && $0.phase == script.phase && $0.turn == script.turn }) {
        continue
      }
      scripts.append(script)
    }
    return scripts
  }

  private mutating func makeScript() -> Scenario.Script? {
    let turn = random.chance(75) ? 1 : 2
    var name = random.pick(sources)
    var place = Place.source
    switch random.number(0...9) {
    case 0...2: break
    case 3...4 where !timers.isEmpty: (name, place) = (random.pick(timers), .timer)
    case 5 where !ports.isEmpty: (name, place) = (random.pick(ports), .port)
    case 6...7 where !blocks.isEmpty: (name, place) = (random.pick(blocks), .block)
    case 8...9:
      guard let observer = observers.randomElement(using: &random) else { return nil }
      let phases = Phases.each.filter { observer.phases.contains($0) }
      let phase = random.pick(phases)
      let actions = makeActions(.observer(phase), of: observer.name)
      return .init(name: observer.name, phase: phase, turn: turn, actions: actions)
    default: break
    }
    return .init(name: name, phase: nil, turn: place.isBlock ? 1 : turn, actions: makeActions(place, of: name))
  }

  private mutating func makeActions(_ place: Place, of name: String) -> [Scenario.Action] {
    (0..<random.number(1...4)).map { _ in makeAction(place, of: name) }
  }

  private mutating func makeAction(_ place: Place, of name: String) -> Scenario.Action {
    if let action = seasoned(place) { return action }
    let hasWaited = place.hasWaited
    let atDescriptors = hasWaited && !ports.isEmpty
    switch random.number(0...19) {
    case 0...3: return .signal(random.pick(sources))
    case 4...5: return block()
    case 6 where ports.isEmpty && wakes: return .wake
    case 7 where ports.isEmpty && wakes && flavour != .requests: return .stop
    case 8...9 where flavour == .requests: return place.isExit ? block() : .requestStop("m")
    case 8...9 where !hasWaited || (ports.isEmpty && timers.isEmpty): return nestedRun(place)
    case 6...7 where mayWrite(place) && !atDescriptors, 10 where mayWrite(place) && !atDescriptors: return write()
    case 11...12: return .add(touchable(atDescriptors), random.pick(["m", "m", "q", "C"]))
    case 13: return .remove(touchable(atDescriptors), random.pick(["m", "m", "q", "C"]))
    case 14: return .invalidate(touchable(atDescriptors))
    case 15 where !place.isBlock && (!timers.contains(name) || (keeps && !wakes)): return .invalidate(name)
    case 16...17 where keeps && !timed && !wakes && redates && !timers.isEmpty && ports.isEmpty:
      let timer = random.pick(timers)
      if isInSeveralModes(timer) { return block() }
      return .setFireDate(timer, milliseconds: random.chance(70) ? 0 : 1e6)
    case 18 where makesCommon && (!wakes || !timers.contains(where: isInSeveralModes)):
      return .commonMode(random.pick(["m", "q"]))
    default: return .signal(random.pick(sources))
    }
  }

  /// An observer may run in the polls that have both loops watch two descriptors.
  private func mayWrite(_ place: Place) -> Bool {
    if case .observer = place, portCount > 1 { return false }
    return !ports.isEmpty
  }

  private func isInSeveralModes(_ name: String) -> Bool {
    items.contains { $0.name == name && ($0.modes.count > 1 || $0.modes == ["C"]) }
  }

  mutating func nestedRun(_ place: Place) -> Scenario.Action {
    switch place {
    case .observer, .block: run(short: flavour != .sleepy || random.chance(50), milliseconds: 2)
    case .source, .port, .timer: run(short: timed || random.chance(80), milliseconds: 2)
    }
  }

  /// Something a callout may add, remove or invalidate; never what keeps the modes alive.
  private mutating func touchable(_ atDescriptors: Bool) -> String {
    var names = sources + observers.map(\.name)
    if keeps, !wakes, !redates { names += timers }
    if !atDescriptors && portCount == 1 { names += ports }
    return random.pick(names)
  }
}

extension Generator.Place {
  fileprivate var isBlock: Bool {
    if case .block = self { true } else { false }
  }
}
