import Rondo

/// What a process tells of its loops in Prometheus's text form, version 0.0.4.
enum Prometheus {
  static func text(_ loops: [(loop: Loop, recorder: Recorder)]) -> String {
    var text = ""
    let counters = loops.map { Report.counters($0.loop.statistics) }
    for index in counters.first?.indices ?? 0..<0 {
      let name = "rondo_\(counters[0][index].name)_total"
      text += "# TYPE \(name) counter\n"
      for (entry, values) in zip(loops, counters) { text += "\(name){\(labels(entry.loop))} \(values[index].value)\n" }
    }
    text += "# TYPE rondo_nested_runs gauge\n"
    for (loop, _) in loops { text += "rondo_nested_runs{\(labels(loop))} \(loop.heartbeat.depth)\n" }
    let measured = loops.map { ($0.loop, $0.recorder.measured) }
    text += summaries("rondo_run_seconds", measured, \.run)
    text += summaries("rondo_ready_seconds", measured, \.ready)
    return text
  }

  private static func summaries(
    _ name: String, _ measured: [(Loop, [Measures])], _ histogram: (Measures) -> Histogram
  ) -> String {
    var text = "# TYPE \(name) summary\n"
    for (loop, all) in measured {
      for measures in all where histogram(measures).count > 0 {
        let own = labels(loop) + ",kind=\"\(measures.kind)\",item=\"\(escaped(measures.name))\""
        let values = histogram(measures)
        for (_, part) in Histogram.parts {
          text += "\(name){\(own),quantile=\"\(part)\"} \(seconds(values.value(at: part)))\n"
        }
        text += "\(name)_sum{\(own)} \(seconds(values.total))\n\(name)_count{\(own)} \(values.count)\n"
      }
    }
    return text
  }

  private static func labels(_ loop: Loop) -> String {
    "loop=\"\(escaped(loop.name))\",thread=\"\(loop.threadNumber)\""
  }

  private static func seconds(_ duration: Duration) -> String { String(Double(duration.nanoseconds) / 1e9) }

  /// A label's value. By scalars: "\r\n" is one character, and a quote before a combining mark is none.
  static func escaped(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { escaped, scalar in
      switch scalar {
      case "\\": escaped += "\\\\"
      case "\"": escaped += "\\\""
      case "\n": escaped += "\\n"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
  }
}
