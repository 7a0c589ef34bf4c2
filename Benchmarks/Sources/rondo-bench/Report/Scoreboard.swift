/// One workload's figures, compared: ratios to the limit, and who is ahead of Rondo.
struct Scoreboard {
  let workload: String
  let standings: [(subject: String, standing: Contest.Standing)]

  /// One subject's row.
  struct Row {
    var subject: String
    var p50, p90, p99, max: Double?
    var ratio: Double?
    var notes: [String] = []
    var isLosing = false
  }

  /// The peers whose median is below Rondo's; the limit is no peer.
  var ahead: [String] {
    guard let ours = comparableMedian(of: Subjects.ours) else { return [] }
    return standings.map(\.subject).filter { subject in
      subject != Subjects.ours && subject != Subjects.limit
        && (comparableMedian(of: subject).map { $0 < ours } ?? false)
    }
  }

  var rows: [Row] {
    standings.map { subject, standing in
      switch standing {
      case .refused(let refusal):
        return Row(subject: subject, notes: [refusal.note])
      case .measured(let tally):
        var row = Row(subject: subject, ratio: ratio(of: subject))
        if let p50 = tally.p50 {
          (row.p50, row.p90) = (p50, tally.percentile(90))
          (row.p99, row.max) = (tally.percentile(99), tally.percentile(100))
        }
        row.notes = tally.figures.map { "\($0.gauge.metric) \(Int($0.gauge.value.rounded())) \($0.gauge.unit)" }
        if subject == Subjects.ours, !ahead.isEmpty {
          row.isLosing = true
          row.notes.insert("BEHIND \(ahead.joined(separator: ", "))", at: 0)
        }
        return row
      }
    }
  }

  /// The figures in the form of the JSON file.
  var results: [Report.Result] {
    standings.flatMap { subject, standing -> [Report.Result] in
      guard case .measured(let tally) = standing else { return [] }
      func result(_ metric: String, _ unit: String, _ value: Double, _ samples: Int) -> Report.Result {
        .init(workload: workload, subject: subject, metric: metric, unit: unit, value: value, samples: samples)
      }
      var results: [Report.Result] = []
      if let p50 = tally.p50 {
        results.append(result("p50", "ns", p50, tally.samples))
        for (metric, percent) in [("p90", 90.0), ("p99", 99), ("max", 100)] {
          results.append(result(metric, "ns", tally.percentile(percent), tally.samples))
        }
      }
      if let ratio = ratio(of: subject) { results.append(result("ratio", "× raw", ratio, tally.samples)) }
      return results + tally.figures.map { result($0.gauge.metric, $0.gauge.unit, $0.gauge.value, $0.rounds) }
    }
  }

  /// Whether a subject did something else than it was asked.
  var hasFailure: Bool {
    standings.contains { if case .refused(let refusal) = $0.standing { refusal.isFailure } else { false } }
  }

  private func comparableMedian(of subject: String) -> Double? {
    guard case .measured(let tally) = standings.first(where: { $0.subject == subject })?.standing else { return nil }
    return tally.isComparable ? tally.p50 : nil
  }

  private func ratio(of subject: String) -> Double? {
    guard let limit = comparableMedian(of: Subjects.limit), limit > 0 else { return nil }
    return comparableMedian(of: subject).map { $0 / limit }
  }
}
