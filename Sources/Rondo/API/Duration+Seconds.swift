/// Foundation and CoreFoundation measure time in seconds of a Double. Nothing may become early on the way, nor trap: a
/// limit that never comes is `.infinity` to some, and `.greatestFiniteMagnitude` to others.
extension Duration {
  /// So many seconds, rounded up to whole nanoseconds, at most CF's limit of some 16 years. NaN counts as that.
  package init(rounding seconds: Double) {
    let limit = 504_911_232.0
    let bounded = seconds.isNaN ? limit : min(max(seconds, -limit), limit)
    self = .nanoseconds(Int64((bounded * 1e9).rounded(.up)))
  }

  /// The duration in seconds.
  package var seconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) / 1e18
  }
}
