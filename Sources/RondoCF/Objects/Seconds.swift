internal import CRondoCFPointers
import Rondo

/// The wall clock: seconds since 1 January 2001.
var absoluteTime: Double { rondo_cf_absolute_time() }

/// How long it is until a date, rounded up by what a date can resolve nowadays.
func delay(until date: Double) -> Duration {
  Duration(rounding: date - absoluteTime + 0x1p-23)
}
