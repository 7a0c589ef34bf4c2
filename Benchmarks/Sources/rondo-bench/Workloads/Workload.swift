/// One thing to measure, the same work for every subject.
protocol Workload: Sendable {
  /// What the command line and the reports call it; dots part a family from its members.
  var name: String { get }

  /// What is measured, in a few words.
  var summary: String { get }

  /// What a round measures apart, each with a figure of its own; one nameless part unless there are several.
  var parts: [String] { get }

  /// Why this machine cannot run it; nil when it can.
  var obstacle: String? { get }

  /// What its system calls are counted over; nil when they are not counted.
  var counting: Counting? { get }

  /// How much to do.
  func plan(_ effort: Effort) -> Plan

  /// Measures one subject once. Throws what keeps the subject from having a figure.
  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round

  /// Does the work of a round under strace, as little besides as can be; returns how many events it held.
  func countedRound(of subject: any Subject, size: Int) throws(Refusal) -> Int
}

extension Workload {
  var parts: [String] { [""] }
  var obstacle: String? { nil }
  var counting: Counting? { nil }

  func countedRound(of subject: any Subject, size: Int) throws(Refusal) -> Int {
    throw .cannot("counts no system calls")
  }
}

/// How long a run may take.
enum Effort: String, CaseIterable, Sendable {
  /// The whole suite in about a minute.
  case quick
  /// As long as steady figures need: an hour.
  case full

  /// How many seconds one subject may take in one workload; a slow one makes fewer rounds, and the report says so.
  var budget: Double {
    switch self {
    case .quick: 1
    case .full: 9
    }
  }
}

/// How much a workload does under one effort.
struct Plan: Sendable {
  enum Placement: Sendable {
    /// In this process, one subject after the other.
    case here
    /// Each round in a process of its own, all subjects at the same time: for counts, which time does not change.
    case apart
  }

  /// Rounds that count.
  var rounds: Int
  /// Rounds before those, thrown away.
  var discarded = 1
  /// What the workload repeats in a round: wakes, ticks.
  var size: Int
  /// Whether to leave it out unless it is asked for by name.
  var onRequest = false
  var placement = Placement.here
}

/// How system calls are counted: the difference of two runs under strace, so that set-up is no part of it.
struct Counting: Sendable {
  /// What the figure is called, as "syscalls/wake".
  var metric: String
  var small: Int
  var large: Int
  /// Events that the figure is for.
  var per = 1.0
  /// The harness's own calls in the middle of a run: the sender's sleep.
  var harness: Set<String> = ["clock_nanosleep", "nanosleep"]
}

/// What one round of one subject measured: a figure for each part of the workload.
struct Round: Sendable, Codable {
  var parts: [Part]

  init(_ parts: [Part]) {
    self.parts = parts
  }
}

/// One part's figures in one round.
struct Part: Sendable, Codable {
  /// As in the workload's `parts`.
  var name = ""
  /// What the headline is measured in. Less is better.
  var unit = "ns"
  /// The headline; nil when it is the median of the times.
  var value: Double?
  /// Times in nanoseconds, to be merged into one histogram.
  var times: [Int64] = []
  /// Single figures beside the headline.
  var gauges: [Gauge] = []
  /// What keeps this part alone from having a figure.
  var refusal: Refusal?
}

/// A single figure of a round, and how the rounds' figures become one.
struct Gauge: Sendable, Codable {
  enum Combination: String, Sendable, Codable {
    case sum, median
    /// The one furthest from zero.
    case worst
  }

  var metric: String
  var unit: String
  var value: Double
  var combination = Combination.median
}
