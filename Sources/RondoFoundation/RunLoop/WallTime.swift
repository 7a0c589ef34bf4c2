import Foundation
import Rondo

extension Date {
  /// How long it is from now until the date, rounded up by what a Date can resolve nowadays: 2⁻²³ s.
  var durationFromNow: Duration {
    Duration(rounding: timeIntervalSinceNow + 0x1p-23)
  }
}

extension Loop {
  /// Runs `mode` until `limitDate`: a past one is one turn that only looks, one 16 years ahead is never.
  @discardableResult
  func run(in mode: Mode, limit limitDate: Date, returnAfterSourceHandled: Bool) -> Loop.RunResult {
    let left = limitDate.timeIntervalSinceNow
    if left > 504_911_232 { return run(in: mode, returnAfterSourceHandled: returnAfterSourceHandled) }
    return run(
      in: mode, for: left > 0 ? limitDate.durationFromNow : .zero, returnAfterSourceHandled: returnAfterSourceHandled)
  }
}

extension Date {
  /// The date, at most CF's TIMER_DATE_LIMIT, in the year 2129. Foundation's locks trap on dates after 2262, such as
  /// `.distantFuture`, when they have to wait.
  var limited: Date {
    min(self, Date(timeIntervalSinceReferenceDate: 4_039_289_856))
  }
}
