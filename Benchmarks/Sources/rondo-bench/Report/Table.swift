import Foundation

/// Lays scoreboards out as the table on standard output.
struct Table {
  let scoreboards: [Scoreboard]

  private static let heads = ["workload", "subject", "p50 ns", "p90 ns", "p99 ns", "max ns", "× raw"]

  var text: String {
    var lines: [[String]] = [Self.heads]
    var notes = ["notes"]
    for scoreboard in scoreboards {
      for row in scoreboard.rows {
        let times = [row.p50, row.p90, row.p99, row.max].map { $0.map { String(Int($0.rounded())) } ?? "-" }
        let ratio = row.ratio.map { String(format: "%.2f", $0) } ?? "-"
        lines.append([scoreboard.workload, (row.isLosing ? "! " : "") + row.subject] + times + [ratio])
        notes.append(row.notes.joined(separator: ", "))
      }
    }
    let widths = Self.heads.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
    return zip(lines, notes).map { line, note in
      let cells = line.enumerated().map { column, cell in
        let space = String(repeating: " ", count: widths[column] - cell.count)
        return column < 2 ? cell + space : space + cell
      }
      return (cells + [note]).joined(separator: "  ").trimmingCharacters(in: .whitespaces)
    }.joined(separator: "\n")
  }
}
