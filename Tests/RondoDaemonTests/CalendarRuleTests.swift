import Glibc
import Testing

@testable import RondoDaemon

/// The five fields of a crontab, and the dates they mean.
@Suite struct CalendarRuleTests {
  /// Seconds since 1970 of a time like 2026-11-22 22:40.
  private static func seconds(_ text: String) -> Int64 {
    let numbers = text.split { !$0.isNumber }.map { Int64($0)! }
    var (low, high): (Int64, Int64) = (0, 60_000)
    // The first day that is not before it.
    while low < high {
      let day = CalendarDay(number: (low + high) / 2)
      if (day.year, day.month, day.day) < (numbers[0], Int(numbers[1]), Int(numbers[2])) {
        low = day.number + 1
      } else {
        high = day.number
      }
    }
    return low * 86_400 + numbers[3] * 3_600 + numbers[4] * 60
  }

  private static func text(_ seconds: Int64) -> String {
    let day = CalendarDay(containing: seconds)
    func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let time = seconds - day.number * 86_400
    return "\(day.year)-\(two(Int64(day.month)))-\(two(Int64(day.day))) \(two(time / 3_600)):\(two(time / 60 % 60))"
  }

  /// The next dates of a rule, as the clock shows them in UTC.
  private func dates(
    _ text: String, after start: String, count: Int = 3, offset: (Int64) -> Int64 = { _ in 0 }
  ) throws -> [String] {
    let rule = try CalendarRule(text)
    var date = Self.seconds(start)
    var found: [String] = []
    for _ in 0..<count {
      guard let next = rule.date(after: date, offset: offset) else { break }
      date = next
      found.append(Self.text(next))
    }
    return found
  }

  @Test func `days are the calendar's`() {
    #expect(CalendarDay(number: 0).weekday == 4)
    var (year, month, day, weekday): (Int64, Int, Int, Int) = (1970, 1, 1, 4)
    for number in Int64(0)..<60_000 {
      let one = CalendarDay(number: number)
      let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
      let length = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
      guard (one.year, one.month, one.day, one.weekday) == (year, month, day, weekday),
        one.firstOfNextMonth == number + Int64(length - day + 1)
      else {
        Issue.record("day \(number): \(one)")
        return
      }
      weekday = (weekday + 1) % 7
      day += 1
      if day > length { (day, month) = (1, month + 1) }
      if month > 12 { (month, year) = (1, year + 1) }
    }
    #expect(CalendarDay(number: -1) == CalendarDay(containing: -1))
    #expect(CalendarDay(number: -1).day == 31 && CalendarDay(number: -1).weekday == 3)
  }

  @Test func `each kind of field means its dates`() throws {
    let now = "2026-11-22 22:40"
    #expect(try dates("* * * * *", after: now) == ["2026-11-22 22:41", "2026-11-22 22:42", "2026-11-22 22:43"])
    #expect(try dates("*/25 * * * *", after: now) == ["2026-11-22 22:50", "2026-11-22 23:00", "2026-11-22 23:25"])
    #expect(try dates("5,10-12 3 * * *", after: now) == ["2026-11-23 03:05", "2026-11-23 03:10", "2026-11-23 03:11"])
    #expect(try dates("0 8-18/5 * * *", after: now) == ["2026-11-23 08:00", "2026-11-23 13:00", "2026-11-23 18:00"])
    #expect(try dates("30 3 * * mon-fri", after: now) == ["2026-11-23 03:30", "2026-11-24 03:30", "2026-11-25 03:30"])
    #expect(try dates("0 0 1 JAN,jul *", after: now) == ["2027-01-01 00:00", "2027-07-01 00:00", "2028-01-01 00:00"])
    #expect(try dates("0 0 29 2 *", after: now, count: 2) == ["2028-02-29 00:00", "2032-02-29 00:00"])
    #expect(try dates("0 0 29 2 *", after: "2096-03-01 00:00", count: 1) == ["2104-02-29 00:00"])
    #expect(try dates("0 0 * * 7", after: now, count: 2) == ["2026-11-29 00:00", "2026-12-06 00:00"])
    #expect(try dates("0 0 * * 0", after: now, count: 1) == ["2026-11-29 00:00"])
    #expect(try dates("0 0 31 * *", after: now, count: 2) == ["2026-12-31 00:00", "2027-01-31 00:00"])
  }

  @Test func `of two restricted days either will do, and with a star both must`() throws {
    let now = "2026-11-22 22:40"
    #expect(try dates("0 0 24 * fri", after: now) == ["2026-11-24 00:00", "2026-11-27 00:00", "2026-12-04 00:00"])
    #expect(try dates("0 0 */2 * tue", after: now, count: 2) == ["2026-12-01 00:00", "2026-12-15 00:00"])
  }

  @Test func `a date is after the one that is asked about, to the second`() throws {
    let rule = try CalendarRule("0 0 * * *")
    #expect(rule.date(after: .zero) == .seconds(86_400))
    #expect(rule.date(after: .nanoseconds(-1)) == .zero)
    #expect(rule.date(after: .seconds(-1)) == .zero)
    #expect(rule.date(after: .seconds(86_399) + .milliseconds(999)) == .seconds(86_400))
    #expect(rule.date(after: .seconds(Int64.max)) == nil)
  }

  @Test(arguments: [
    ("60 * * * *", "minute", "60"), ("* 24 * * *", "hour", "24"), ("* * 0 * *", "day", "0"),
    ("* * * 13 *", "month", "13"), ("* * * * 8", "weekday", "8"), ("5-1 * * * *", "minute", "5-1"),
    ("1,, * * * *", "minute", "1,,"), ("*/0 * * * *", "minute", "*/0"), ("5/2 * * * *", "minute", "5/2"),
    ("-1 * * * *", "minute", "-1"), ("+1 * * * *", "minute", "+1"), ("1-2-3 * * * *", "minute", "1-2-3"),
    ("* * * foo *", "month", "foo"), ("*/99999999999999999999 * * * *", "minute", "*/99999999999999999999"),
    ("1- * * * *", "minute", "1-"), ("** * * * *", "minute", "**"), ("*/+2 * * * *", "minute", "*/+2"),
  ])
  func `nonsense is named by its field`(_ text: String, _ field: String, _ part: String) {
    #expect(throws: CalendarRuleError.malformed(field: field, text: part)) { try CalendarRule(text) }
  }

  @Test func `too few fields, too many, and dates that never come are refused`() {
    #expect(throws: CalendarRuleError.fieldCount(0)) { try CalendarRule("") }
    #expect(throws: CalendarRuleError.fieldCount(4)) { try CalendarRule("* * * *") }
    #expect(throws: CalendarRuleError.fieldCount(6)) { try CalendarRule("* * * * * *") }
    #expect(throws: CalendarRuleError.never) { try CalendarRule("0 0 30 2 *") }
    #expect(throws: CalendarRuleError.never) { try CalendarRule("0 0 31 4,6,9,11 *") }
  }

  // MARK: - Summer time

  /// Two hours ahead of UTC from 2026-03-29 01:00 to 2026-10-25 01:00 (UTC), as in Berlin, and one hour else.
  private func berlin(_ seconds: Int64) -> Int64 {
    Self.seconds("2026-03-29 01:00")..<Self.seconds("2026-10-25 01:00") ~= seconds ? 7_200 : 3_600
  }

  @Test func `a date that summer time skips comes when the clock has skipped it`() throws {
    #expect(
      try dates("30 2 * * *", after: "2026-03-28 00:00", offset: berlin)
        == ["2026-03-28 01:30", "2026-03-29 01:00", "2026-03-30 00:30"])
    #expect(
      try dates("0,10,20 2,3 * * *", after: "2026-03-28 03:00", count: 4, offset: berlin)
        == ["2026-03-29 01:00", "2026-03-29 01:10", "2026-03-29 01:20", "2026-03-30 00:00"])
  }

  @Test func `a date that comes twice counts once`() throws {
    #expect(
      try dates("30 2 * * *", after: "2026-10-24 12:00", offset: berlin)
        == ["2026-10-25 00:30", "2026-10-26 01:30", "2026-10-27 01:30"])
  }

  @Test func `a rule for every hour goes by every hour there is`() throws {
    #expect(
      try dates("30 * * * *", after: "2026-10-24 23:00", count: 4, offset: berlin)
        == ["2026-10-24 23:30", "2026-10-25 00:30", "2026-10-25 01:30", "2026-10-25 02:30"])
    #expect(
      try dates("30 * * * *", after: "2026-03-29 00:00", count: 3, offset: berlin)
        == ["2026-03-29 00:30", "2026-03-29 01:30", "2026-03-29 02:30"])
  }

  @Test func `a clock that is put back at midnight shows the day before again`() throws {
    // From 24:00 back to 23:00, at 2026-10-24 22:00 UTC.
    let change = Self.seconds("2026-10-24 22:00")
    let offset = { (seconds: Int64) -> Int64 in seconds < change ? 7_200 : 3_600 }
    #expect(
      try dates("30 * * * *", after: "2026-10-24 21:00", count: 3, offset: offset)
        == ["2026-10-24 21:30", "2026-10-24 22:30", "2026-10-24 23:30"])
    #expect(
      try dates("30 23 * * *", after: "2026-10-24 21:00", count: 2, offset: offset)
        == ["2026-10-24 21:30", "2026-10-25 22:30"])
    #expect(
      try dates("0 0 * * *", after: "2026-10-24 21:00", count: 2, offset: offset)
        == ["2026-10-24 23:00", "2026-10-25 23:00"])
    // From 00:30 back to 23:30, so that the next day has begun before this one ends.
    let later = { (seconds: Int64) -> Int64 in seconds < change + 1_800 ? 7_200 : 3_600 }
    #expect(
      try dates("15,45 * * * *", after: "2026-10-24 21:40", count: 4, offset: later)
        == ["2026-10-24 21:45", "2026-10-24 22:15", "2026-10-24 22:45", "2026-10-24 23:15"])
  }

  @Test(arguments: ["2026-03-28 12:00", "2026-10-24 12:00"])
  func `every date about a change is found once, in order`(_ start: String) throws {
    let rule = try CalendarRule("*/7 * * * *")
    var date = Self.seconds(start)
    var expected = date
    for _ in 0..<300 {
      date = try #require(rule.date(after: date, offset: berlin))
      repeat { expected += 60 } while (expected + berlin(expected)) / 60 % 60 % 7 != 0
      #expect(date == expected)
    }
  }

  @Test func `local time is the C library's`() throws {
    for seconds in stride(from: Int64(0), to: 2_000_000_000, by: 10_000_000) {
      var time = time_t(seconds)
      var parts = unsafe tm()
      _ = unsafe localtime_r(&time, &parts)
      let day = CalendarDay(containing: seconds + LocalTime.offset(at: seconds))
      let expected = unsafe [parts.tm_mday, parts.tm_mon + 1, parts.tm_wday].map(Int.init)
      #expect([day.day, day.month, day.weekday] == expected)
    }
    let daily = try CalendarRule("0 12 * * *", in: .local)
    let next = try #require(daily.date(after: .zero)).components.seconds
    #expect((next + LocalTime.offset(at: next)) % 86_400 == 43_200)
  }
}
