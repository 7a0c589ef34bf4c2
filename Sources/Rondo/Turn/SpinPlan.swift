/// When to stop sleeping and begin to spin for a precise timer, and the account of all spins. *loop thread*
///
/// A pure account: its input is what was slept and spun, and it reads no clock.
package struct SpinPlan: Equatable, Sendable {
  /// Nanoseconds before a date at which the sleep shall end: the kernel is later than that once in about twenty times.
  package private(set) var margin: Int64 = 100_000
  /// Nanoseconds spun in `second`.
  private var spent: Int64 = 0
  /// The second of the clock in which the loop last spun.
  private var second: Int64 = 0

  /// What the margin may be. Below, a spin gains nothing; above, the machine is too busy for precision.
  /// Chosen around the lateness of a sleep, which is 50 to 120 us in the benchmarks.
  package static let margins: ClosedRange<Int64> = 10_000...400_000

  /// Nanoseconds of a processor that a sleep and its wakeup take. Chosen: between two processors they took 7,470.
  package static let priceOfSleep: Int64 = 5_000

  package init() {}

  /// Whether `budget`, in nanoseconds of each second of the clock, has room for `nanoseconds` more from `start` on.
  package func affords(_ nanoseconds: Int64, of budget: Int64, at start: Instant) -> Bool {
    (Self.second(of: start) == second ? spent : 0) + nanoseconds <= budget
  }

  /// Learns from a sleep that ended `lateness` nanoseconds after its alarm.
  ///
  /// The margin climbs nineteen steps when it was too short and falls one when it was not: it settles where one sleep
  /// in twenty is later.
  package mutating func learn(lateness: Int64) {
    let step = max(100, margin / 200)
    let moved = lateness > margin ? margin + 19 * step : margin - step
    margin = min(max(moved, Self.margins.lowerBound), Self.margins.upperBound)
  }

  /// Books a spin of `nanoseconds` that began at `start`. Of one that was woken, the price of a sleep is not booked.
  package mutating func book(_ nanoseconds: Int64, at start: Instant, wasWoken: Bool = false) {
    let nanoseconds = wasWoken ? max(0, nanoseconds - Self.priceOfSleep) : nanoseconds
    let second = Self.second(of: start)
    if second != self.second {
      self.second = second
      spent = 0
    }
    spent += nanoseconds
  }

  private static func second(of instant: Instant) -> Int64 {
    instant.nanoseconds / 1_000_000_000
  }
}
