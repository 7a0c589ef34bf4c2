internal import RondoTesting

/// Random plays, a pure function of seed and number.
///
/// A loop is not run while it runs: that, CFRunLoop can say. Timers and observers have orders of their own, so that
/// equal dates have one sequence whatever happened before. Intervals are even, so that half of one is whole.
package struct PlayGenerator {
  private var random: SeededRandom
  private var items: [Play.Item] = []
  private var blocks = 0
  private let loopCount: Int
  /// Of every descriptor source: they share a descriptor, and the kernel keeps one trigger for it.
  private let isEdge: Bool

  package static func play(seed: UInt64, number: Int) -> Play {
    var mix = SeededRandom(seed: seed ^ 0x9D_1A5E)
    var second = SeededRandom(seed: mix.next() ^ UInt64(number))
    var generator = PlayGenerator(random: SeededRandom(seed: second.next()))
    return generator.make()
  }

  private init(random: SeededRandom) {
    self.random = random
    loopCount = self.random.number(2...3)
    isEdge = self.random.chance(50)
  }

  private mutating func make() -> Play {
    let orders = Array(-8...8).shuffled(using: &random)
    for index in 0..<random.number(3...9) {
      let name = ["t", "s", "d", "w"].randomElement(using: &random)!
      items.append(.init(name: "\(name)\(index)", kind: kind(name), order: orders[index]))
    }
    var steps: [Play.Deed] = []
    for item in items where random.chance(85) { steps.append(.add(item.name, loop: loop(), mode: mode())) }
    for _ in 0..<random.number(3...7) {
      for _ in 0..<random.number(0...3) { steps.append(deed()) }
      steps.append(run())
    }
    var scripts: [Play.Script] = []
    for item in items {
      for turn in 1...3 where random.chance(45) { scripts.append(script(item.name, turn)) }
    }
    for block in 0..<min(blocks, 12) where random.chance(70) { scripts.append(script("b\(block)", 1)) }
    return Play(loopCount: loopCount, items: items, steps: steps, scripts: scripts)
  }

  private mutating func kind(_ letter: String) -> Play.Kind {
    switch letter {
    case "t":
      return .timer(
        after: random.number(0...12), every: random.chance(60) ? 2 * random.number(1...5) : 0,
        tolerance: random.chance(40) ? random.number(1...6) : 0)
    case "s": return .source
    case "d": return .descriptor(edge: isEdge)
    default:
      var phases = random.pick(Phases.each)
      if random.chance(40) { phases.formUnion(random.pick(Phases.each)) }
      return .observer(phases, repeats: random.chance(75))
    }
  }

  private mutating func loop() -> Int { random.number(0...loopCount - 1) }
  private mutating func mode() -> String { random.pick(["D", "D", "D", "m", "C"]) }

  private mutating func run() -> Play.Deed {
    .run(
      loop: loop(), mode: random.pick(["D", "D", "D", "m"]), random.pick([0, 0, 3, 7, 15, 30]),
      handled: random.chance(25))
  }

  private mutating func script(_ name: String, _ turn: Int) -> Play.Script {
    var deeds: [Play.Deed] = []
    for _ in 0..<random.number(1...3) {
      // Its own affairs, often enough.
      guard random.chance(35), !name.hasPrefix("b") else {
        deeds.append(random.chance(10) ? run() : deed())
        continue
      }
      deeds.append(move(name))
      // Where it has gone, it is told again.
      if name.hasPrefix("d"), case .move(_, _, let new, _) = deeds.last { deeds.append(.ready(name, loop: new)) }
    }
    return .init(name: name, turn: turn, deeds: deeds)
  }

  private mutating func move(_ name: String) -> Play.Deed {
    switch random.number(0...5) {
    case 0: return .remove(name, loop: loop(), mode: mode())
    case 1: return .invalidate(name)
    case 2 where name.hasPrefix("t"): return .date(name, after: random.number(0...9))
    default: return .move(name, from: loop(), to: loop(), mode: mode())
    }
  }

  private mutating func deed() -> Play.Deed {
    let name = random.pick(items).name
    switch random.number(0...15) {
    case 0...1: return .add(name, loop: loop(), mode: mode())
    case 2: return .remove(name, loop: loop(), mode: mode())
    case 3...4: return move(name)
    case 5: return .common(loop: loop(), mode: "m")
    case 6: return .stop(loop())
    case 7: return .wake(loop())
    case 8: return .spend(loop: loop(), random.number(1...9))
    case 9...10:
      blocks += 1
      return .block("b\(blocks - 1)", loop: loop(), mode: mode(), waking: random.chance(50))
    default:
      switch name.first {
      case "t" where random.chance(30): return .tolerance(name, random.number(0...6))
      case "t": return .date(name, after: random.number(0...9))
      case "s": return .signal(name, waking: random.chance(50))
      case "d" where random.chance(30): return .interest(name, random.chance(50))
      case "d": return .ready(name, loop: loop())
      default: return .add(name, loop: loop(), mode: mode())
      }
    }
  }
}
