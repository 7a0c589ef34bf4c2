import Foundation

/// Two reports side by side.
struct Comparison {
  /// One figure in both.
  struct Row: Equatable {
    var workload: String
    var subject: String
    var metric: String
    var unit: String
    var old: Double
    var new: Double

    /// How many times the old figure the new one is; infinite where something came out of nothing.
    var ratio: Double { old == new ? 1 : old == 0 ? .infinity : new / old }
  }

  let rows: [Row]
  /// Figures of the old report that the new one lacks.
  let lost: [Report.Result]

  /// Compares the figures of `metrics`; all headlines if none is named. Where less is not better, ratios say nothing.
  init(_ old: Report, _ new: Report, metrics: Set<String>, subjects: Set<String>) {
    var rows: [Row] = []
    var lost: [Report.Result] = []
    for result in old.results {
      guard metrics.isEmpty ? Report.headlines.contains(result.metric) : metrics.contains(result.metric),
        subjects.isEmpty || subjects.contains(result.subject)
      else { continue }
      if let value = new.value(result.workload, result.subject, result.metric) {
        rows.append(
          Row(
            workload: result.workload, subject: result.subject, metric: result.metric, unit: result.unit,
            old: result.value, new: value))
      } else {
        lost.append(result)
      }
    }
    (self.rows, self.lost) = (rows, lost)
  }

  /// The rows that became worse by more than so many per cent.
  func worse(byMoreThan percent: Double) -> [Row] {
    rows.filter { $0.ratio > 1 + percent / 100 }
  }
}
