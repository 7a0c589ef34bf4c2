import Histogram

/// What the counted rounds of one subject in one workload add up to.
struct Tally {
  private var merged = Histogram<UInt64>(highestTrackableValue: longest, numberOfSignificantValueDigits: .three)
  private var medians: [Double] = []
  private var gauges: [(first: Gauge, values: [Double])] = []

  /// A minute: more than any single time here, and it bounds the histogram's memory.
  private static let longest: UInt64 = 60_000_000_000

  mutating func add(_ round: Round) {
    if !round.times.isEmpty {
      let sorted = round.times.sorted()
      medians.append(Double(sorted[sorted.count / 2]))
      for time in sorted { merged.record(min(UInt64(max(time, 0)), Self.longest)) }
    }
    for gauge in round.gauges {
      if let index = gauges.firstIndex(where: { $0.first.metric == gauge.metric }) {
        gauges[index].values.append(gauge.value)
      } else {
        gauges.append((gauge, [gauge.value]))
      }
    }
  }

  /// The median over the rounds of each round's median: one bad round does not move it.
  var p50: Double? { medians.isEmpty ? nil : medians.sorted()[medians.count / 2] }

  /// Whether the rounds were enough to set subjects against each other: one is not, since nothing was interleaved.
  var isComparable: Bool { medians.count > 1 }

  /// A percentile of all times together.
  func percentile(_ percent: Double) -> Double { Double(merged.valueAtPercentile(percent)) }

  /// How many times were measured.
  var samples: Int { Int(merged.totalCount) }

  /// The rounds' single figures, each combined into one.
  var figures: [(gauge: Gauge, rounds: Int)] {
    gauges.map { first, values in
      var gauge = first
      switch first.combination {
      case .sum: gauge.value = values.reduce(0, +)
      case .median: gauge.value = values.sorted()[values.count / 2]
      case .worst: gauge.value = values.max { $0.magnitude < $1.magnitude } ?? 0
      }
      return (gauge, values.count)
    }
  }
}
