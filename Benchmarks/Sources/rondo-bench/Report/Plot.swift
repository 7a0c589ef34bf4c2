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
    func across(_ value: Double) -> Double { margin.left + x.share(value) * (width - margin.left - margin.right) }
    func up(_ value: Double) -> Double {
      height - margin.bottom - y.share(value) * (height - margin.top - margin.bottom)
    }
    func number(_ value: Double) -> String { String(format: "%.1f", value) }

    var parts = [
      "<svg viewBox=\"0 0 \(Int(width)) \(Int(height))\" role=\"img\" aria-label=\"\(escaped(title))\">",
      "<text class=\"title\" x=\"\(margin.left)\" y=\"18\">\(escaped(title))</text>",
    ]
    let (left, right) = (number(margin.left), number(width - margin.right))
    let (top, bottom) = (number(margin.top), number(height - margin.bottom))
    for tick in x.ticks {
      let at = number(across(tick))
      parts.append("<line class=\"grid\" x1=\"\(at)\" x2=\"\(at)\" y1=\"\(top)\" y2=\"\(bottom)\"/>")
      parts.append(
        "<text class=\"tick\" text-anchor=\"middle\" x=\"\(at)\" y=\"\(number(height - margin.bottom + 15))\">\(label(tick))</text>"
      )
    }
    for tick in y.ticks {
      let at = number(up(tick))
      parts.append("<line class=\"grid\" x1=\"\(left)\" x2=\"\(right)\" y1=\"\(at)\" y2=\"\(at)\"/>")
      parts.append(
        "<text class=\"tick\" text-anchor=\"end\" x=\"\(number(margin.left - 6))\" y=\"\(number(up(tick) + 4))\">\(label(tick))</text>"
      )
    }
    parts.append(
      "<text class=\"tick\" text-anchor=\"middle\" x=\"\(number((margin.left + width - margin.right) / 2))\" y=\"\(number(height - 10))\">\(escaped(xTitle))</text>"
    )
    parts.append(
      "<text class=\"tick\" text-anchor=\"middle\" transform=\"translate(14 \(number(height / 2))) rotate(-90)\">\(escaped(yTitle))</text>"
    )
    for (index, series) in drawn.enumerated() {
      let colour = Self.colours[series.name] ?? "#000000"
      let line = series.points.map { "\(number(across($0.x))),\(number(up($0.y)))" }.joined(separator: " ")
      let weight = Subjects.isOurs(series.name) ? 2.6 : 1.4
      parts.append("<polyline fill=\"none\" stroke=\"\(colour)\" stroke-width=\"\(weight)\" points=\"\(line)\"/>")
      let row = number(margin.top + 12 + Double(index) * 16)
      parts.append(
        "<text class=\"legend\" fill=\"\(colour)\" x=\"\(number(width - margin.right + 10))\" y=\"\(row)\">\(escaped(series.name))</text>"
      )
    }
    return (parts + ["</svg>"]).joined(separator: "\n")
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
