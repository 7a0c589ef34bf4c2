import Foundation

/// Lays scoreboards out as the table on standard output.
struct Table {
  let scoreboards: [Scoreboard]

  private static let heads = ["workload", "subject", "median", "unit", "p90", "p99", "p99.9", "× raw", "rounds"]
  /// The columns of words; the others are numbers.
  private static let words: Set = [0, 1, 3]

  var text: String {
    var lines: [[String]] = [Self.heads]
    var notes = ["notes"]
    for scoreboard in scoreboards {
      for row in folded(scoreboard.rows) {
        lines.append([
          scoreboard.workload, (row.isLosing ? "! " : "") + row.subject, text(row.headline), row.unit, text(row.p90),
          text(row.p99), text(row.p999), row.ratio.map { String(format: "%.2f", $0) } ?? "-",
          row.rounds > 0 ? "\(row.rounds)" : "-",
        ])
        notes.append(row.notes.joined(separator: ", "))
      }
    }
    let widths = Self.heads.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
    return zip(lines, notes).map { line, note in
      let cells = line.enumerated().map { column, cell in
        let space = String(repeating: " ", count: widths[column] - cell.count)
        return Self.words.contains(column) ? cell + space : space + cell
      }
      return (cells + [note]).joined(separator: "  ").trimmingCharacters(in: .whitespaces)
    }.joined(separator: "\n")
  }

  private func text(_ value: Double?) -> String {
    value.map(Number.text) ?? "-"
  }

  /// One row for three subjects or more that refuse a workload for the same reason.
  private func folded(_ rows: [Scoreboard.Row]) -> [Scoreboard.Row] {
    func saysNothingElse(_ row: Scoreboard.Row) -> Bool { row.isRefused && row.headline == nil }
    let alike = Dictionary(grouping: rows.filter(saysNothingElse), by: \.notes).filter { $0.value.count > 2 }
    return rows.compactMap { row in
      guard saysNothingElse(row), let others = alike[row.notes] else { return row }
      var row = row
      guard row.subject == others[0].subject else { return nil }
      row.subject = "(\(others.count) subjects)"
      return row
    }
  }
}

/// Numbers as the reports print them.
enum Number {
  /// Three figures or a whole number, whichever says more.
  static func text(_ value: Double) -> String {
    let magnitude = value.magnitude
    if magnitude >= 100 || value == value.rounded() { return String(Int64(value.rounded())) }
    return String(format: magnitude >= 10 ? "%.1f" : "%.2f", value)
  }

  /// A quotient: two digits behind the point while they say something.
  static func ratio(_ value: Double) -> String {
    String(format: value < 10 ? "%.2f" : "%.0f", value)
  }
}
