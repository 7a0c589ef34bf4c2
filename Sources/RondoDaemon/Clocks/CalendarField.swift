/// One of the five fields of a rule, as the set of its numbers.
struct CalendarField: Hashable, Sendable {
  private let bits: UInt64
  /// Whether it begins with a star: as crontab(5) has it, it then restricts no day.
  let isEvery: Bool

  /// Which field, by what its errors call it.
  enum Kind: String, CaseIterable {
    case minute, hour, day, month, weekday

    var range: ClosedRange<Int> {
      switch self {
      case .minute: 0...59
      case .hour: 0...23
      case .day: 1...31
      case .month: 1...12
      case .weekday: 0...7
      }
    }

    private var names: [String] {
      switch self {
      case .minute, .hour, .day: []
      case .month: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
      case .weekday: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
      }
    }

    /// What a number or a name stands for.
    func number(_ text: Substring) -> Int? {
      if let index = names.firstIndex(of: text.lowercased()) { return index + range.lowerBound }
      // Int reads a sign, too.
      guard !text.isEmpty, text.utf8.allSatisfy({ 48...57 ~= $0 }), let number = Int(text) else { return nil }
      return range.contains(number) ? number : nil
    }
  }

  init(_ kind: Kind, _ text: Substring) throws(CalendarRuleError) {
    var bits: UInt64 = 0
    for item in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let numbers = Self.numbers(kind, item) else {
        throw .malformed(field: kind.rawValue, text: String(text))
      }
      for number in numbers { bits |= 1 << UInt64(kind == .weekday ? number % 7 : number) }
    }
    self.bits = bits
    let isWhole = bits.nonzeroBitCount == kind.range.count - (kind == .weekday ? 1 : 0)
    isEvery = kind == .hour ? isWhole : text.hasPrefix("*")
  }

  func contains(_ number: Int) -> Bool { bits & 1 << UInt64(number) != 0 }

  /// The numbers of `*`, `5`, `1-5`, and of each with `/` and a step; nil for anything else.
  private static func numbers(_ kind: Kind, _ text: Substring) -> [Int]? {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    var step = 1
    if parts.count == 2 {
      guard let number = Int(parts[1]), 1...kind.range.upperBound ~= number, !parts[1].hasPrefix("+") else {
        return nil
      }
      step = number
    }
    let range: ClosedRange<Int>
    if parts[0] == "*" {
      range = kind.range
    } else {
      let ends = parts[0].split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false).map(kind.number)
      guard let low = ends[0], let high = ends[ends.count - 1], low <= high else { return nil }
      // A single number has nothing to step through.
      guard ends.count == 2 || parts.count == 1 else { return nil }
      range = low...high
    }
    return Array(stride(from: range.lowerBound, through: range.upperBound, by: step))
  }
}

/// Why a text is no calendar rule.
public enum CalendarRuleError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The text has this number of fields instead of five.
  case fieldCount(Int)
  /// The field is no star, number, range, list or steps within its bounds.
  case malformed(field: String, text: String)
  /// No month has the days of the rule, as 30 February.
  case never

  /// A sentence with the cause.
  public var description: String {
    switch self {
    case .fieldCount(let count): "a rule has five fields (minute, hour, day, month, weekday), not \(count)"
    case .malformed(let field, let text): "'\(text)' says no \(field)"
    case .never: "no month has the days"
    }
  }
}
