/// The fewest wakes that serve repeating timers, each of whose fires may come up to a tolerance late.
enum CoalescingOptimum {
  /// The wakes needed for the fires due in `from..<to`.
  ///
  /// Fires are intervals [due, due + tolerance] to be pierced by points: waking at the earliest deadline that is still
  /// open, and serving whatever is due by then, needs the fewest. Grids never shift, so each fire's interval is known.
  static func wakes(dues: [Int64], interval: Int64, tolerance: Int64, from: Int64, to: Int64) -> Int {
    var open: [Int64] = []
    for first in dues {
      let skipped = max(0, (from - first + interval - 1) / interval)
      var due = first + skipped * interval
      while due < to {
        open.append(due)
        due += interval
      }
    }
    open.sort()
    // All windows are equally long, so the order of dues is the order of deadlines.
    var wakes = 0
    var last = Int64.min
    for due in open where due > last {
      last = due + tolerance
      wakes += 1
    }
    return wakes
  }
}
