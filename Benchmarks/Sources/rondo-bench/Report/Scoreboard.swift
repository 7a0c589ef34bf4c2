/// One workload's figures, compared: who is ahead of Rondo, and by how much.
struct Scoreboard {
  let workload: String
  let rows: [Row]

  /// One subject's row.
  struct Row {
    var subject: String
    var unit = ""
    var headline, p90, p99, p999, ratio: Double?
    /// The best and the worst round, where rounds are single figures.
    var best, worst: Double?
    var rounds = 0
    var notes: [String] = []
    var isLosing = false
    var isRefused = false
  }

  /// What has a column of its own or is the headline.
  private static let columns = Report.headlines.union([
    "p90", "p99", "p99.9", "max", "best", "worst", "ratio", "rounds",
  ])

  init(_ report: Report, workload: String, subjects: [String]) {
    self.workload = workload
    let ahead = Self.ahead(in: report, workload)
    rows = subjects.compactMap { subject in
      let results = report.results.filter { $0.workload == workload && $0.subject == subject }
      let refusal = report.refusals.first { $0.workload == workload && $0.subject == subject }
      guard refusal != nil || !results.isEmpty else { return nil }
      var row = Row(subject: subject)
      func value(_ metric: String) -> Double? { results.first { $0.metric == metric }?.value }
      if let headline = results.first(where: { Report.headlines.contains($0.metric) }) {
        (row.headline, row.unit) = (headline.value, headline.unit)
      }
      (row.p90, row.p99, row.p999, row.ratio) = (value("p90"), value("p99"), value("p99.9"), value("ratio"))
      (row.best, row.worst, row.rounds) = (value("best"), value("worst"), Int(value("rounds") ?? 0))
      row.notes = results.filter { !Self.columns.contains($0.metric) }.map { result in
        "\(result.metric) \(Number.text(result.value))" + (result.unit.isEmpty ? "" : " \(result.unit)")
      }
      row.notes += report.remarks.filter { $0.workload == workload && $0.subject == subject }.map(\.text)
      if let refusal {
        row.notes.insert(refusal.text, at: 0)
        row.isRefused = true
      }
      if subject == Subjects.ours, !ahead.isEmpty {
        row.isLosing = true
        row.notes.insert("BEHIND \(ahead.joined(separator: ", "))", at: 0)
      }
      return row
    }
  }

  /// A scoreboard for every workload of a report.
  static func all(of report: Report) -> [Scoreboard] {
    let known = Subjects.all.map(\.name)
    let others = Set(report.results.map(\.subject)).subtracting(known).sorted()
    return report.workloads.map { Scoreboard(report, workload: $0, subjects: known + others) }
  }

  /// Figures closer than this are a tie: medians of two runs of the same thing differ by as much.
  static let tie = 0.01

  /// The peers whose headline is below Rondo's; a limit is no peer, and neither is a variant of Rondo.
  static func ahead(in report: Report, _ workload: String) -> [String] {
    guard let ours = report.headline(workload, Subjects.ours) else { return [] }
    return report.results.filter { result in
      result.workload == workload && Report.headlines.contains(result.metric) && result.value < ours.value * (1 - tie)
        && Subjects.isPeer(result.subject)
    }.map(\.subject)
  }
}
