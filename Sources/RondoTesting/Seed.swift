/// Picks one of the orders that a loop's contract leaves open.
///
/// It picks the same one on every machine. Its text is its number, and after a colon the choices it has, if these are not
/// all: "17", or "17:3,9".
public struct Seed: Hashable, Sendable, ExpressibleByIntegerLiteral, LosslessStringConvertible {
  /// The number from which the choices come.
  public let number: UInt64
  /// The choices that are made by chance; all if nil.
  ///
  /// They are counted from 0 in each run. Every other choice takes the documented order.
  public let choices: Set<Int>?

  /// The seed of the task, which a trait sets: `withVirtualLoop` takes it. Nil for the documented order.
  @TaskLocal public static var current: Seed?

  /// Makes a seed of which some choices, or all, are made by chance.
  public init(_ number: UInt64, choices: Set<Int>? = nil) {
    self.number = number
    self.choices = choices
  }

  /// Makes a seed of which all choices are made by chance.
  public init(integerLiteral number: UInt64) {
    self.init(number)
  }

  /// Reads a seed's text; nil if it is none.
  public init?(_ text: String) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let number = UInt64(parts[0]) else { return nil }
    guard parts.count == 2 else {
      self.init(number)
      return
    }
    let texts = parts[1].isEmpty ? [] : parts[1].split(separator: ",", omittingEmptySubsequences: false)
    let places = texts.compactMap { Int($0) }.filter { $0 >= 0 }
    guard places.count == texts.count else { return nil }
    self.init(number, choices: Set(places))
  }

  /// The text that makes an equal seed.
  public var description: String {
    guard let choices else { return "\(number)" }
    return "\(number):" + choices.sorted().map { "\($0)" }.joined(separator: ",")
  }

  /// The choice at a place of the run, from 0 to `count` - 1. Each place has a number of its own, whatever the others take.
  func choice(at place: Int, among count: Int) -> Int {
    if let choices, !choices.contains(place) { return 0 }
    var random = SeededRandom(seed: number &+ UInt64(bitPattern: Int64(place)) &* 0xD1B5_4A32_D192_ED03)
    return Int.random(in: 0..<count, using: &random)
  }
}

extension Seed {
  /// A seed with as few choices by chance as it takes to fail, found by leaving out parts of them.
  ///
  /// - Parameter places: Those that a run which failed made by chance.
  package func smallest(of places: Set<Int>, whileFails fails: (Seed) async -> Bool) async -> Seed {
    var kept = places.sorted()
    var part = kept.count
    while part > 0 {
      var start = 0
      while start < kept.count {
        var rest = kept
        rest.removeSubrange(start..<min(start + part, kept.count))
        if await fails(Seed(number, choices: Set(rest))) { kept = rest } else { start += part }
      }
      part /= 2
    }
    return Seed(number, choices: Set(kept))
  }
}
