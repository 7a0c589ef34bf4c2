import Rondo

/// A set of minutes of the calendar, in the five fields of a crontab. See crontab(5).
///
/// `30 3 * * mon-fri` is half past three on working days. A field is `*`, a number, a range `1-5`, a list `1,15`, or
/// steps `*/10`, `8-18/2`. Months and days of the week have English names. Sunday is 0 or 7. If a rule has both days of
/// the month and days of the week, either matches.
///
/// In local time, a date that summer time skips is due when the clock has skipped it. A date that comes twice counts
/// once, but a rule for every hour counts every hour.
public struct CalendarRule: Hashable, Sendable, CustomStringConvertible {
  /// The text of the rule.
  public let description: String
  /// The time zone of the rule.
  public let zone: Zone
  private let minutes: CalendarField
  private let hours: CalendarField
  private let days: CalendarField
  private let months: CalendarField
  private let weekdays: CalendarField

  /// A time zone.
  public enum Zone: Hashable, Sendable {
    /// Coordinated universal time.
    case utc
    /// The time zone of the machine, or of the variable TZ. A process reads it once. See tzset(3).
    case local
  }

  /// Parses a rule from its five fields, separated by blanks.
  ///
  /// - Throws: The first field that cannot be parsed, or `.never` for a date that never comes.
  public init(_ text: String, in zone: Zone = .utc) throws(CalendarRuleError) {
    let words = text.split { $0 == " " || $0 == "\t" }
    guard words.count == CalendarField.Kind.allCases.count else { throw .fieldCount(words.count) }
    description = words.joined(separator: " ")
    self.zone = zone
    minutes = try CalendarField(.minute, words[0])
    hours = try CalendarField(.hour, words[1])
    days = try CalendarField(.day, words[2])
    months = try CalendarField(.month, words[3])
    weekdays = try CalendarField(.weekday, words[4])
    if date(after: 0, offset: { _ in 0 }) == nil { throw .never }
  }

  /// Returns the first date after `date`, both since 1970-01-01 00:00 UTC. Any thread.
  ///
  /// It takes microseconds; it takes longer if the date is far away.
  ///
  /// - Returns: nil if the date is tens of thousands of years away.
  public func date(after date: Duration) -> Duration? {
    // In whole seconds, rounded down.
    let (seconds, rest) = date.components
    let start = rest < 0 ? seconds - 1 : seconds
    // Beyond this, either way, there are tens of thousands of years.
    guard abs(start) < 1 << 40 else { return nil }
    return self.date(after: start, offset: zone == .utc ? { _ in 0 } : LocalTime.offset).map { .seconds($0) }
  }

  /// The same in seconds, with the zone's difference from UTC at a time given in seconds.
  func date(after start: Int64, offset: (Int64) -> Int64) -> Int64? {
    // A day before, for a clock that is put back at midnight shows the day before again.
    let first = CalendarDay(containing: start + offset(start)).number - 1
    var number = first
    while number < first + Self.mostDays {
      let day = CalendarDay(number: number)
      guard months.contains(day.month) else {
        number = day.firstOfNextMonth
        continue
      }
      if let found = self.date(on: day, after: start, offset) {
        // A clock that is put back soon after midnight has shown the next day before this one's end.
        return min(found, self.date(on: CalendarDay(number: number + 1), after: start, offset) ?? found)
      }
      number += 1
    }
    return nil
  }

  /// Leap days are eight years apart at most.
  private static let mostDays: Int64 = 3_660

  private func matches(_ day: CalendarDay) -> Bool {
    let isDay = days.contains(day.day)
    let isWeekday = weekdays.contains(day.weekday)
    return days.isEvery || weekdays.isEvery ? isDay && isWeekday : isDay || isWeekday
  }

  private func date(on day: CalendarDay, after start: Int64, _ offset: (Int64) -> Int64) -> Int64? {
    guard months.contains(day.month), matches(day) else { return nil }
    let midnight = day.number * 86_400
    let before = offset(midnight - 86_400)
    let after = offset(midnight + 2 * 86_400)
    if before == after {
      if midnight + 86_400 - before <= start { return nil }
      return firstMinute { time in
        let date = midnight + time - before
        return date > start ? date : nil
      }
    }
    // The clock is changed some time about this day. Dates of the day need not be in the order of what it shows.
    var best: Int64?
    _ = firstMinute { time in
      // It comes between these two, if at all, and what the clock shows later does not come before the first of them.
      let (first, last) = (midnight + time - max(before, after), midnight + time - min(before, after))
      if last <= start { return nil }
      if let best, first > best { return best }
      for date in dates(showing: midnight + time, before, after, offset) where date > start {
        best = min(best ?? date, date)
      }
      return nil
    }
    return best
  }

  /// The first answer for a minute of the rule's, in seconds since midnight.
  private func firstMinute(_ answer: (Int64) -> Int64?) -> Int64? {
    for hour in 0..<24 where hours.contains(hour) {
      for minute in 0..<60 where minutes.contains(minute) {
        if let found = answer(Int64(hour * 3_600 + minute * 60)) { return found }
      }
    }
    return nil
  }

  /// When the local clock shows a time, or does not, as the rule understands it, where the zone's difference changes.
  private func dates(
    showing time: Int64, _ before: Int64, _ after: Int64, _ offset: (Int64) -> Int64
  ) -> [Int64] {
    let candidates = before == after ? [time - before] : [time - before, time - after]
    let real = candidates.filter { $0 + offset($0) == time }.sorted()
    if hours.isEvery { return real }
    if let first = real.first { return [first] }
    // It is skipped: when the clock has skipped it.
    var (low, high) = (candidates.min()!, candidates.max()!)
    let old = offset(low)
    while high - low > 1 {
      let middle = low + (high - low) / 2
      if offset(middle) == old { low = middle } else { high = middle }
    }
    return [high]
  }
}
