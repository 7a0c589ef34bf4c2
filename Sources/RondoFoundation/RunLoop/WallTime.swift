import Foundation
import Rondo

// Foundation measures time in seconds of a Double, Rondo in nanoseconds; nothing may become early on the way.

extension Duration {
  /// The duration of `seconds`, rounded up to whole nanoseconds; saturates at 16 years, CF's TIMER_INTERVAL_LIMIT.
  init(rounding seconds: TimeInterval) {
    let limit = 504_911_232.0
    let nanoseconds = (min(max(seconds, -limit), limit) * 1e9).rounded(.up)
    self = .nanoseconds(Int64(nanoseconds))
  }

  var timeInterval: TimeInterval {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) / 1e18
  }
}

extension Date {
  /// How long it is from now until the date, rounded up by what a Date can resolve nowadays: 2⁻²³ s.
  var durationFromNow: Duration {
    Duration(rounding: timeIntervalSinceNow + 0x1p-23)
  }
}

extension Loop {
  /// Runs `mode` until `limitDate`: a past one is one turn that only looks, one 16 years ahead is never.
  @discardableResult
  func run(in mode: Mode, limit limitDate: Date, returnAfterSourceHandled: Bool) -> RunResult {
    let left = limitDate.timeIntervalSinceNow
    if left > 504_911_232 { return run(in: mode, returnAfterSourceHandled: returnAfterSourceHandled) }
    return run(
      in: mode, for: left > 0 ? limitDate.durationFromNow : .zero, returnAfterSourceHandled: returnAfterSourceHandled)
  }
}

extension Date {
  /// The date, at most CF's TIMER_DATE_LIMIT, in the year 2129.
  var limited: Date {
    min(self, Date(timeIntervalSinceReferenceDate: 4_039_289_856))
  }
}
