/// What one execution of a scenario left behind.
package struct Outcome: Sendable, Equatable {
  package var tokens: [String]
  /// Callouts of timers, sources and blocks with their age in milliseconds; never part of a comparison.
  package var moments: [Moment]
  /// The decisions whose old behaviour the oracle showed, by id. Empty for Rondo.
  package var quirks: Set<String>

  package struct Moment: Sendable, Equatable {
    package var name: String
    package var milliseconds: Double
  }

  package init(tokens: [String], moments: [Moment] = [], quirks: Set<String> = []) {
    self.tokens = tokens
    self.moments = moments
    self.quirks = quirks
  }

  /// The tokens in one line. Neighbouring schedule and cancel tokens are sorted: their order is a hash set's.
  package var text: String {
    var sorted: [String] = []
    var announced: [String] = []
    for token in tokens {
      let sign = Self.announcement(token)
      if let last = announced.last, Self.announcement(last) != sign {
        sorted += announced.sorted()
        announced = []
      }
      if sign == nil { sorted.append(token) } else { announced.append(token) }
    }
    return (sorted + announced.sorted()).joined(separator: " ")
  }

  /// The sign of `+mode` and `-mode`; nil for any other token.
  private static func announcement(_ token: String) -> Character? {
    guard let sign = token.first, sign == "+" || sign == "-", token.dropFirst().first?.isLetter == true else {
      return nil
    }
    return sign
  }

  /// The ages at which `name` was called.
  package func ages(of name: String) -> [Double] {
    moments.filter { $0.name == name }.map(\.milliseconds)
  }
}
