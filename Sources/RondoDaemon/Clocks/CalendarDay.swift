import Glibc

/// A day of the Gregorian calendar, as people count and as days since 1970-01-01.
struct CalendarDay: Equatable {
  let number: Int64
  let year: Int64
  /// From 1 on.
  let month, day: Int

  /// The day of a time in seconds since 1970-01-01 00:00.
  init(containing seconds: Int64) {
    self.init(number: Self.floor(seconds, by: 86_400))
  }

  /// 400 years have 146,097 days. A year that begins in March has its leap day at its end, and the days of its months
  /// grow by 153 in five.
  init(number: Int64) {
    self.number = number
    // Since 0000-03-01.
    let days = number + 719_468
    let era = Self.floor(days, by: 146_097)
    let dayOfEra = days - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthSinceMarch = (5 * dayOfYear + 2) / 153
    day = Int(dayOfYear - (153 * monthSinceMarch + 2) / 5) + 1
    month = Int(monthSinceMarch < 10 ? monthSinceMarch + 3 : monthSinceMarch - 9)
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  /// 0 for Sunday. 1970-01-01 was a Thursday.
  var weekday: Int { Int(number + 4 - Self.floor(number + 4, by: 7) * 7) }

  /// The number of the first day of the month after.
  var firstOfNextMonth: Int64 {
    // No month is shorter than 28 days, and none longer than 31.
    let late = CalendarDay(number: number - Int64(day) + 1 + 31)
    return late.number - Int64(late.day) + 1
  }

  private static func floor(_ number: Int64, by divisor: Int64) -> Int64 {
    let quotient = number / divisor
    return number % divisor < 0 ? quotient - 1 : quotient
  }
}

/// The machine's own time.
enum LocalTime {
  /// How many seconds it is ahead of UTC at a time: localtime_r(3). Any thread.
  static func offset(at seconds: Int64) -> Int64 {
    _ = zoneIsKnown
    var time = time_t(seconds)
    var parts = unsafe tm()
    guard unsafe localtime_r(&time, &parts) != nil else { return 0 }
    return unsafe Int64(parts.tm_gmtoff)
  }

  /// localtime_r(3) need not look for TZ by itself.
  private static let zoneIsKnown: Void = tzset()
}
