/// A point on CLOCK_MONOTONIC, in nanoseconds; arithmetic saturates.
///
/// The clock does not advance while the machine is suspended (`SuspendingClock`). `ContinuousClock` does; its instants
/// are converted with the suspended time known at the moment of the call.
package struct Instant: Comparable, Hashable, Sendable {
  package var nanoseconds: Int64

  package init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// Later than every instant a clock can show: "never".
  package static let distantFuture = Instant(nanoseconds: .max)
  /// Earlier than every instant a clock can show.
  package static let distantPast = Instant(nanoseconds: .min)

  @inline(__always)
  package static func < (left: Instant, right: Instant) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  /// The instant `nanoseconds` later; saturates.
  @inline(__always)
  package func advanced(by nanoseconds: Int64) -> Instant {
    let (sum, overflow) = self.nanoseconds.addingReportingOverflow(nanoseconds)
    return Instant(nanoseconds: overflow ? (nanoseconds < 0 ? .min : .max) : sum)
  }
}

extension Duration {
  /// The duration in whole nanoseconds, rounded up so that nothing is early; saturates.
  package var saturatingNanoseconds: Int64 {
    // 1,000,000,000 is 512 * 1,953,125. Up to 2.6 hours one register holds the 512ths, and the division is one of 64 bits,
    // by a constant. `components` takes ten times as long.
    if attoseconds >> 73 == 0 {
      let (nanoseconds, rest) = UInt64(truncatingIfNeeded: attoseconds >> 9).quotientAndRemainder(dividingBy: 1_953_125)
      return Int64(nanoseconds) + (rest > 0 || attoseconds & 511 > 0 ? 1 : 0)
    }
    let (seconds, attoseconds) = components
    let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    guard !overflow else { return seconds < 0 ? .min : .max }
    let part = attoseconds / 1_000_000_000 + (attoseconds % 1_000_000_000 > 0 ? 1 : 0)
    let (sum, carried) = scaled.addingReportingOverflow(part)
    return carried ? (part < 0 ? .min : .max) : sum
  }
}

extension Instant {
  /// The same point for `SuspendingClock`, whose epoch is CLOCK_MONOTONIC's: exact.
  package init(_ instant: SuspendingClock.Instant) {
    self.init(nanoseconds: SuspendingClock().systemEpoch.duration(to: instant).saturatingNanoseconds)
  }

  /// The point CLOCK_MONOTONIC will show at `instant`, unless the machine is suspended before.
  package init(_ instant: ContinuousClock.Instant, suspended: Int64) {
    let boottime = ContinuousClock().systemEpoch.duration(to: instant).saturatingNanoseconds
    self = Instant(nanoseconds: boottime).advanced(by: -suspended)
  }

  /// The instant in the standard library's terms.
  package var suspending: SuspendingClock.Instant {
    SuspendingClock().systemEpoch.advanced(by: .nanoseconds(nanoseconds))
  }
}
