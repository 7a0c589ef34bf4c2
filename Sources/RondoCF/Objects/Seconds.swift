internal import CRondoCFPointers

// CoreFoundation measures in seconds of a Double, Rondo in nanoseconds; nothing may become early on the way.

extension Duration {
  /// So many seconds, rounded up to whole nanoseconds; at most CF's limit of some 16 years. NaN counts as that.
  init(rounding seconds: Double) {
    let limit = 504_911_232.0
    let bounded = seconds.isNaN ? limit : min(max(seconds, -limit), limit)
    self = .nanoseconds(Int64((bounded * 1e9).rounded(.up)))
  }

  var seconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) / 1e18
  }
}

/// The wall clock: seconds since 1 January 2001.
var absoluteTime: Double { rondo_cf_absolute_time() }

/// How long it is until a date, rounded up by what a date can resolve nowadays.
func delay(until date: Double) -> Duration {
  Duration(rounding: date - absoluteTime + 0x1p-23)
}
