import Histogram

/// What the counted rounds of one subject in one part of a workload add up to.
struct Tally {
  private var merged = Histogram<UInt64>(highestTrackableValue: longest, numberOfSignificantValueDigits: .three)
  private var headlines: [Double] = []
  private var gauges: [(first: Gauge, values: [Double])] = []
  private(set) var unit = "ns"
  /// What a reader must know beside the figures.
  private(set) var remarks: [String] = []

  /// A minute: more than any single time here, and it bounds the histogram's memory.
  private static let longest: UInt64 = 60_000_000_000

  mutating func add(_ part: Part) {
    unit = part.unit
    if !part.times.isEmpty {
      for time in part.times { merged.record(min(UInt64(max(time, 0)), Self.longest)) }
    }
    if let value = part.value {
      headlines.append(value)
    } else if !part.times.isEmpty {
      headlines.append(Double(part.times.sorted()[part.times.count / 2]))
    }
    for gauge in part.gauges { add(gauge) }
  }

  /// A figure that is not a round's, or one of them.
  mutating func add(_ gauge: Gauge) {
    if let index = gauges.firstIndex(where: { $0.first.metric == gauge.metric }) {
      gauges[index].values.append(gauge.value)
    } else {
      gauges.append((gauge, [gauge.value]))
    }
  }

  mutating func remark(_ text: String) {
    remarks.append(text)
  }

  /// The median over the rounds of each round's headline: one bad round does not move it.
  var headline: Double? { headlines.isEmpty ? nil : Statistics.median(headlines) }

  /// The best and the worst round.
  var range: ClosedRange<Double>? {
    guard let least = headlines.min(), let most = headlines.max() else { return nil }
    return least...most
  }

  /// How many rounds counted.
  var rounds: Int { headlines.count }

  /// Whether there are times, and so percentiles.
  var hasTimes: Bool { merged.totalCount > 0 }

  /// A percentile of all times together.
  func percentile(_ percent: Double) -> Double { Double(merged.valueAtPercentile(percent)) }

  /// What is told of the tail. Of fewer than a thousand times, one in a thousand is the longest, which stands by itself.
  var tail: [(metric: String, value: Double)] {
    guard hasTimes else { return [] }
    let rare = samples >= Self.enoughForRare ? [("p99.9", 99.9)] : []
    return ([("p90", 90), ("p99", 99)] + rare + [("max", 100)]).map { ($0, percentile($1)) }
  }

  private static let enoughForRare = 1000

  /// How many measurements the headline stands for.
  var samples: Int { hasTimes ? Int(merged.totalCount) : rounds }

  /// The rounds' single figures, each combined into one.
  var figures: [(gauge: Gauge, rounds: Int)] {
    gauges.map { first, values in
      var gauge = first
      switch first.combination {
      case .sum: gauge.value = values.reduce(0, +)
      case .median: gauge.value = Statistics.median(values)
      case .worst: gauge.value = values.max { $0.magnitude < $1.magnitude } ?? 0
      }
      return (gauge, values.count)
    }
  }
}
