/// One thing to measure, the same work for every subject.
protocol Workload: Sendable {
  /// What the command line and the reports call it; dots part a family from its members.
  var name: String { get }

  /// What is measured, in a few words.
  var summary: String { get }

  /// Why this machine cannot run it; nil when it can.
  var obstacle: String? { get }

  /// How much to do; nil when an effort leaves it out unless asked for by name.
  func plan(_ effort: Effort) -> Plan

  /// Measures one subject once. Throws what keeps the subject from having a figure.
  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round
}

extension Workload {
  var obstacle: String? { nil }
}

/// How long a run may take.
enum Effort: String, CaseIterable, Sendable {
  /// The whole suite in under a minute.
  case quick
  /// As long as steady figures need.
  case full
}

/// How much a workload does under one effort.
struct Plan: Sendable {
  /// Rounds that count.
  var rounds: Int
  /// Rounds before those, thrown away.
  var discarded = 1
  /// What the workload repeats in a round: wakes, ticks.
  var size: Int
  /// Whether to leave it out unless it is asked for by name.
  var onRequest = false
}

/// What one round of one subject measured.
struct Round: Sendable {
  /// Times in nanoseconds, to be merged into one histogram.
  var times: [Int64]
  /// Single figures beside the times.
  var gauges: [Gauge] = []
}

/// A single figure of a round, and how the rounds' figures become one.
struct Gauge: Sendable {
  enum Combination: Sendable {
    case sum, median
    /// The one furthest from zero.
    case worst
  }

  var metric: String
  var unit: String
  var value: Double
  var combination: Combination
}
