import Foundation

/// The report as one HTML file that needs nothing beside it.
struct Page {
  private let report: Report

  init(_ report: Report) {
    self.report = report
  }

  func write(to path: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
  }

  var text: String {
    """
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>Run loops on Linux</title>
    <style>
    \(Self.style)
    </style>
    </head>
    <body>
    <h1>Run loops on Linux</h1>
    <p class="environment">\(escaped(report.environment.text).replacingOccurrences(of: "\n", with: "<br>"))</p>
    <p>Subjects take turns round by round. A figure is the median over the rounds; p90, p99 and p99.9 are over
    all measurements; less is better everywhere. Ratios are to <code>raw</code>, bare kernel calls, in the same run. A row
    of Rondo's that is behind a peer by more than 1 % is marked.</p>
    <h2>The bars</h2>
    \(bars)
    <h2>Where Rondo is behind</h2>
    \(losses)
    <h2>Latencies</h2>
    <div class="plots">\(distributions)</div>
    <h2>Cost against the number</h2>
    <div class="plots">\(growth)</div>
    <h2>Everything</h2>
    \(table(Scoreboard.all(of: report)))
    </body>
    </html>

    """
  }

  // MARK: Tables

  private var bars: String {
    let rows = Bar.all.map { bar in
      let verdict = bar.verdict(in: report)
      let value = bar.value(in: report).map(Number.ratio) ?? "-"
      return """
        <tr class="\(verdict == .missed ? "losing" : verdict == .unknown ? "absent" : "met")">\
        <td>\(escaped(bar.statement))</td><td class="number">\(value)</td>\
        <td class="number">≤ \(Number.text(bar.limit))</td><td>\(escaped(bar.unit))</td><td>\(verdict.rawValue)</td></tr>
        """
    }
    let heads = ["bar", "measured", "limit", "unit", "verdict"].map { "<th>\($0)</th>" }.joined()
    return "<table>\n<tr>\(heads)</tr>\n\(rows.joined(separator: "\n"))\n</table>"
  }

  private var losses: String {
    let losing = Scoreboard.all(of: report).filter { $0.rows.contains(where: \.isLosing) }
    if losing.isEmpty { return "<p>Nowhere in this run.</p>" }
    let items = losing.map { board in
      let ahead = Scoreboard.ahead(in: report, board.workload).joined(separator: ", ")
      return "<li><code>\(escaped(board.workload))</code>: behind \(escaped(ahead))</li>"
    }
    return "<ul>\n\(items.joined(separator: "\n"))\n</ul>"
  }

  private func table(_ scoreboards: [Scoreboard]) -> String {
    let heads = [
      "workload", "subject", "median", "unit", "p90", "p99", "p99.9", "best", "worst", "× raw", "rounds", "notes",
    ]
    var lines = ["<table>", "<tr>\(heads.map { "<th>\($0)</th>" }.joined())</tr>"]
    for board in scoreboards {
      for row in board.rows {
        let kind = row.isLosing ? "losing" : row.isRefused ? "absent" : Subjects.isOurs(row.subject) ? "ours" : ""
        let numbers = [row.headline, row.p90, row.p99, row.p999, row.best, row.worst].map { $0.map(Number.text) ?? "" }
        let ratio = row.ratio.map { String(format: "%.2f", $0) } ?? ""
        let cells = [
          "<td>\(escaped(board.workload))</td><td>\(escaped(row.subject))</td>",
          "<td class=\"number\">\(numbers[0])</td><td>\(escaped(row.unit))</td>",
          numbers[1...].map { "<td class=\"number\">\($0)</td>" }.joined(),
          "<td class=\"number\">\(ratio)</td><td class=\"number\">\(row.rounds > 0 ? "\(row.rounds)" : "")</td>",
          "<td>\(escaped(row.notes.joined(separator: ", ")))</td>",
        ]
        lines.append("<tr class=\"\(kind)\">\(cells.joined())</tr>")
      }
    }
    return (lines + ["</table>"]).joined(separator: "\n")
  }

  // MARK: Plots

  private var distributions: String {
    var workloads: [String] = []
    for curve in report.curves where !workloads.contains(curve.workload) { workloads.append(curve.workload) }
    return workloads.map { Plot.distribution(of: $0, in: report).svg }.joined(separator: "\n")
  }

  private var growth: String {
    let timers = [("make", ["add", "cancel", "fire"]), ("start", ["start", "extend", "stop", "fire"])]
      .flatMap { family, operations in
        operations.map { operation in
          plot(
            "timer.\(family), \(operation)", prefix: "timer.\(family).", suffix: ".\(operation)", "timers",
            "ns a timer")
        }
      }
    let ring = plot("fd.ring, one active", prefix: "fd.ring.", suffix: ".1.event", "descriptors", "ns an event")
    return (timers + [ring]).joined(separator: "\n")
  }

  /// The headlines of workloads that differ by a number in their name.
  private func plot(
    _ title: String, prefix: String, suffix: String, _ xTitle: String, _ yTitle: String
  ) -> String {
    var series: [Plot.Series] = []
    for result in report.results where Report.headlines.contains(result.metric) {
      guard result.workload.hasPrefix(prefix), result.workload.hasSuffix(suffix),
        let count = Double(result.workload.dropFirst(prefix.count).dropLast(suffix.count))
      else { continue }
      let point = (x: count, y: result.value)
      if let index = series.firstIndex(where: { $0.name == result.subject }) {
        series[index].points.append(point)
      } else {
        series.append(Plot.Series(name: result.subject, points: [point]))
      }
    }
    for index in series.indices { series[index].points.sort { $0.x < $1.x } }
    return Plot(title: title, xTitle: xTitle, yTitle: yTitle, series: series).svg
  }

  private static let style = """
    body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 1320px; padding: 0 1em; color: #111;
      background: #fff; }
    .environment { color: #444; }
    table { border-collapse: collapse; font-size: 13px; }
    th, td { text-align: left; padding: 2px 10px 2px 0; border-bottom: 1px solid #ddd; vertical-align: top; }
    .number { text-align: right; font-variant-numeric: tabular-nums; }
    .losing td { background: #fde8e4; }
    .losing td:nth-child(2)::before { content: "! "; color: #b10e1e; font-weight: bold; }
    .ours td { background: #eef6ee; }
    .absent td { color: #777; }
    .plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(520px, 1fr)); gap: 1em; }
    svg { width: 100%; height: auto; border: 1px solid #ddd; }
    \(Plot.style(within: "svg "))
    """
}
