import Foundation

/// A line plot as inline SVG.
struct Plot {
  struct Series {
    var name: String
    var points: [(x: Double, y: Double)]
  }

  var title: String
  var xTitle: String
  var yTitle: String
  var series: [Series]
  /// Whether an axis is logarithmic; a linear one begins at zero.
  var isXLogarithmic = true
  var isYLogarithmic = true

  private static let width = 640.0
  private static let height = 360.0
  private static let margin = (left: 64.0, right: 130.0, top: 30.0, bottom: 44.0)

  /// Colours that stay with their subjects from plot to plot.
  private static let colours = [
    "raw": "#777777", "rondo": "#d4351c", "rondo.precise": "#f47738", "libevent": "#1d70b8", "libuv": "#00703c",
    "libev": "#85994b", "glib": "#4c2c92", "sd-event": "#b58840", "cfrunloop": "#d53880", "runloop": "#f499be",
    "dispatch": "#28a197", "task.sleep": "#6f72af", "nio": "#b10e1e",
  ]

  var svg: String {
    let drawn = series.map { series in
      var series = series
      series.points.removeAll { (isXLogarithmic && $0.x <= 0) || (isYLogarithmic && $0.y <= 0) }
      return series
    }.filter { !$0.points.isEmpty }
    let points = drawn.flatMap(\.points)
    guard let x = Axis(points.map(\.x), isLogarithmic: isXLogarithmic),
      let y = Axis(points.map(\.y), isLogarithmic: isYLogarithmic)
    else { return "" }
    let (margin, width, height) = (Self.margin, Self.width, Self.height)
    let (right, bottom) = (width - margin.right, height - margin.bottom)
    func across(_ value: Double) -> Double { margin.left + x.share(value) * (right - margin.left) }
    func up(_ value: Double) -> Double { bottom - y.share(value) * (bottom - margin.top) }

    var parts = [
      "<svg viewBox=\"0 0 \(Int(width)) \(Int(height))\" role=\"img\" aria-label=\"\(escaped(title))\">",
      text(title, at: (margin.left, 18), "class=\"title\""),
      text(xTitle, at: ((margin.left + right) / 2, height - 10), Self.middle),
      text(yTitle, at: (0, 0), Self.middle + " transform=\"translate(14 \(number(height / 2))) rotate(-90)\""),
    ]
    for tick in x.ticks {
      parts.append(line(from: (across(tick), margin.top), to: (across(tick), bottom)))
      parts.append(text(label(tick), at: (across(tick), bottom + 15), Self.middle))
    }
    for tick in y.ticks {
      parts.append(line(from: (margin.left, up(tick)), to: (right, up(tick))))
      parts.append(text(label(tick), at: (margin.left - 6, up(tick) + 4), "class=\"tick\" text-anchor=\"end\""))
    }
    for (index, series) in drawn.enumerated() {
      let colour = Self.colours[series.name] ?? "#000000"
      let points = series.points.map { "\(number(across($0.x))),\(number(up($0.y)))" }.joined(separator: " ")
      let weight = Subjects.isOurs(series.name) ? 2.6 : 1.4
      let stroke = "fill=\"none\" stroke=\"\(colour)\" stroke-width=\"\(weight)\""
      parts.append("<polyline \(stroke) points=\"\(points)\"/>")
      let row = margin.top + 12 + Double(index) * 16
      parts.append(text(series.name, at: (right + 10, row), "fill=\"\(colour)\""))
    }
    return (parts + ["</svg>"]).joined(separator: "\n")
  }

  /// What its words and lines look like, for a style sheet.
  static func style(within scope: String) -> String {
    """
    \(scope)text { font: 12px system-ui, sans-serif; }
    \(scope).title { font-weight: bold; font-size: 14px; }
    \(scope).tick { fill: #444; font-size: 11px; }
    \(scope).grid { stroke: #e4e4e4; stroke-width: 1; }
    """
  }

  /// The plot as a file of its own, on white whatever lies under it.
  var picture: String {
    svg.replacing(
      "<svg ", with: "<svg xmlns=\"http://www.w3.org/2000/svg\" style=\"background:#fff\" ", maxReplacements: 1
    )
    .replacing(">", with: "><style>\n\(Self.style(within: ""))\n</style>", maxReplacements: 1) + "\n"
  }

  /// What share of a workload's times was not longer than a time, for every subject.
  static func distribution(of workload: String, in report: Report) -> Plot {
    Plot(
      title: workload, xTitle: "ns", yTitle: "% not longer",
      series: report.curves.filter { $0.workload == workload }.map { curve in
        Series(name: curve.subject, points: curve.points.map { (x: max(1, $0.nanoseconds), y: $0.percent) })
      }, isYLogarithmic: false)
  }

  private static let middle = "class=\"tick\" text-anchor=\"middle\""

  private func number(_ value: Double) -> String { String(format: "%.1f", value) }

  private func text(_ text: String, at place: (x: Double, y: Double), _ attributes: String) -> String {
    "<text \(attributes) x=\"\(number(place.x))\" y=\"\(number(place.y))\">\(escaped(text))</text>"
  }

  private func line(from: (x: Double, y: Double), to: (x: Double, y: Double)) -> String {
    let ends = "x1=\"\(number(from.x))\" y1=\"\(number(from.y))\" x2=\"\(number(to.x))\" y2=\"\(number(to.y))\""
    return "<line class=\"grid\" \(ends)/>"
  }

  private func label(_ value: Double) -> String {
    switch value {
    case 1_000_000_000...: "\(Number.text(value / 1e9)) G"
    case 1_000_000...: "\(Number.text(value / 1e6)) M"
    case 10_000...: "\(Number.text(value / 1e3)) k"
    default: Number.text(value)
    }
  }
}

/// Where values lie between the ends of an axis.
private struct Axis {
  let ticks: [Double]
  private let low: Double
  private let high: Double
  private let isLogarithmic: Bool

  init?(_ values: [Double], isLogarithmic: Bool) {
    guard let least = values.min(), let most = values.max() else { return nil }
    self.isLogarithmic = isLogarithmic
    if isLogarithmic {
      let first = log10(least).rounded(.down)
      let last = max(log10(most).rounded(.up), first + 1)
      (low, high) = (first, last)
      ticks = stride(from: first, through: last, by: 1).map { pow(10, $0) }
    } else {
      low = min(0, least)
      high = most > low ? most : low + 1
      let (low, span) = (low, high - low)
      ticks = (0...5).map { low + span * Double($0) / 5 }
    }
  }

  /// 0 at the low end, 1 at the high one.
  func share(_ value: Double) -> Double {
    ((isLogarithmic ? log10(value) : value) - low) / (high - low)
  }
}

/// Text that may stand in HTML.
func escaped(_ text: String) -> String {
  text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
    .replacingOccurrences(of: ">", with: "&gt;").replacingOccurrences(of: "\"", with: "&quot;")
}
