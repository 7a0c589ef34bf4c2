/// The fewest wakes that serve repeating timers, each of whose fires may come up to a tolerance late.
enum CoalescingOptimum {
  /// The wakes needed for fires due at these moments.
  ///
  /// Each fire is an interval [due, due + tolerance] that a wake has to meet. Waking at the earliest deadline that is
  /// still open, and serving whatever is due by then, needs the fewest.
  static func wakes(for dues: some Sequence<Int64>, tolerance: Int64) -> Int {
    // The intervals are equally long, so the order of dues is the order of deadlines.
    var wakes = 0
    var last: Int64?
    for due in dues.sorted() where last.map({ due > $0 }) ?? true {
      last = due + tolerance
      wakes += 1
    }
    return wakes
  }

  /// The same for repeating timers whose grids never shift, on average over a long time.
  static func wakesPerSecond(dues: [Int64], interval: Int64, tolerance: Int64) -> Double {
    let repetitions: Int64 = 100
    let all = (0..<repetitions).lazy.flatMap { round in dues.lazy.map { $0 + round * interval } }
    return Double(wakes(for: all, tolerance: tolerance)) / (Double(repetitions) * Double(interval) / 1e9)
  }
}
