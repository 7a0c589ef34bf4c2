import RondoDaemon

/// What a crontab says: when to run what.
struct Crontab: Equatable {
  private(set) var entries: [Entry] = []

  struct Entry: Equatable {
    /// Where it stands, from 1 on.
    let line: Int
    let schedule: Schedule
    let command: String
  }

  enum Schedule: Hashable {
    /// Five fields, or a name for them.
    case calendar(CalendarRule)
    /// Again and again, by the clock that cannot be set.
    case every(Duration)
    /// Once, when the daemon starts; not when the file is read again.
    case start
  }

  /// Nothing to do.
  init() {}

  /// Reads the lines of a file: blank ones and those that begin with # say nothing.
  init(_ text: String, in zone: CalendarRule.Zone = .local) throws(CrontabError) {
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
      let words = line.split(maxSplits: 1, whereSeparator: Self.isBlank)
      guard let first = words.first, !first.hasPrefix("#") else { continue }
      entries.append(try Entry(index + 1, line, first, zone))
    }
  }

  fileprivate static func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }
}

extension Crontab.Entry {
  private static let names = [
    "@yearly": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0", "@daily": "0 0 * * *",
    "@hourly": "0 * * * *",
  ]

  fileprivate init(
    _ number: Int, _ line: Substring, _ first: Substring, _ zone: CalendarRule.Zone
  ) throws(CrontabError) {
    // @every has its duration beside it, @daily and the like nothing, and a rule has five fields.
    let count = first == "@every" ? 2 : first.hasPrefix("@") ? 1 : 5
    let words = line.split(maxSplits: count, whereSeparator: Crontab.isBlank)
    let rest = words.count > count ? words[count].drop(while: Crontab.isBlank) : ""
    guard !rest.isEmpty else { throw CrontabError(line: number, .incomplete) }
    self.line = number
    command = String(rest)
    if first == "@start" {
      schedule = .start
    } else if first == "@every" {
      guard let interval = Self.duration(words[1]) else {
        throw CrontabError(line: number, .duration(String(words[1])))
      }
      schedule = .every(interval)
    } else {
      let fields = first.hasPrefix("@") ? Self.names[String(first)] : words[..<5].joined(separator: " ")
      guard let fields else { throw CrontabError(line: number, .name(String(first))) }
      do throws(CalendarRuleError) {
        schedule = .calendar(try CalendarRule(fields, in: zone))
      } catch {
        throw CrontabError(line: number, .rule(error))
      }
    }
  }

  /// `50ms`, `10s`, `5m` or `2h`.
  private static func duration(_ text: Substring) -> Duration? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    let units: [Substring: Int64] = ["ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000]
    guard let unit = units[text.dropFirst(digits.count)], let number = Int64(digits), 1...1_000_000_000 ~= number else {
      return nil
    }
    return .milliseconds(number * unit)
  }
}

/// What is wrong with a line of a crontab.
struct CrontabError: Error, Equatable, CustomStringConvertible {
  let line: Int
  let reason: Reason

  enum Reason: Equatable {
    /// There is no command, or not even all of its schedule.
    case incomplete
    case rule(CalendarRuleError)
    case duration(String)
    case name(String)
  }

  init(line: Int, _ reason: Reason) {
    self.line = line
    self.reason = reason
  }

  var description: String {
    let text =
      switch reason {
      case .incomplete: "there is no command after the schedule"
      case .rule(let error): "\(error)"
      case .duration(let text): "'\(text)' is no duration: 50ms, 10s, 5m, 2h"
      case .name(let text): "'\(text)' is no schedule: @start, @every, @hourly, @daily, @weekly, @monthly, @yearly"
      }
    return "line \(line): \(text)"
  }
}
