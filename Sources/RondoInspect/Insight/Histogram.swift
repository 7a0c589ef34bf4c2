internal import CRondoInspect
internal import Rondo

/// Durations from 1 ns to an hour, each within 3 %.
///
/// It has the form of HdrHistogram.
public struct Histogram: Sendable, Hashable {
  /// The number of values.
  public private(set) var count: UInt64 = 0
  /// The longest value.
  public private(set) var longest: Duration = .zero
  private var sum: UInt64 = 0
  /// By bucket; empty for none.
  private var buckets: [UInt64] = []

  init() {}

  /// A copy of what a record has.
  init(count: UInt64, sum: UInt64, longest: UInt64, buckets: [UInt64]) {
    // The writer goes on: what is in the buckets counts.
    self.count = buckets.reduce(0, +)
    self.sum = sum
    self.longest = .nanoseconds(Int64(clamping: longest))
    self.buckets = self.count == 0 ? [] : buckets
  }

  /// The mean of all values; zero without one.
  public var mean: Duration { count == 0 ? .zero : .nanoseconds(Int64(clamping: sum / count)) }

  /// The sum of all values.
  public var total: Duration { .nanoseconds(Int64(clamping: sum)) }

  /// Returns the duration that a part of the values does not exceed.
  ///
  /// 0.5 is the median. The result is at most 3 % too high, and never above `longest`. A part below 0 or above 1 traps.
  public func value(at part: Double) -> Duration {
    require(part >= 0 && part <= 1, "A part of the values is from 0 to 1, not \(part).")
    guard count > 0 else { return .zero }
    let rank = max(1, UInt64((part * Double(count)).rounded(.up)))
    var passed: UInt64 = 0
    for (index, bucket) in buckets.enumerated() {
      passed += bucket
      if passed >= rank {
        return min(longest, .nanoseconds(Int64(clamping: rondo_histogram_value(UInt32(index)))))
      }
    }
    return longest
  }

  /// One value more.
  mutating func add(_ value: Duration) {
    if buckets.isEmpty { buckets = [UInt64](repeating: 0, count: Int(rondo_histogram_buckets)) }
    let nanoseconds = UInt64(max(0, value.nanoseconds))
    buckets[Int(rondo_histogram_bucket(nanoseconds))] += 1
    count += 1
    sum &+= nanoseconds
    longest = max(longest, value)
  }

  /// The parts that reports give.
  static let parts: [(name: String, part: Double)] = [
    ("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999),
  ]

  var json: JSON {
    var members = [
      JSON.Member(name: "count", value: .number(Int64(clamping: count))),
      JSON.Member(name: "mean", value: .number(mean.nanoseconds)),
    ]
    for (name, part) in Self.parts {
      members.append(JSON.Member(name: name, value: .number(value(at: part).nanoseconds)))
    }
    members.append(JSON.Member(name: "max", value: .number(longest.nanoseconds)))
    return .object(members)
  }
}
