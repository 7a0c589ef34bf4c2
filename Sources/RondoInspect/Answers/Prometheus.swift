import Rondo

/// What a process tells of its loops and servers in Prometheus's text form, version 0.0.4.
enum Prometheus {
  static func text(_ loops: [(loop: Loop, recorder: Recorder)]) -> String {
    var text = ""
    let counters = loops.map { Report.counters($0.loop.statistics) }
    for index in counters.first?.indices ?? 0..<0 {
      let name = "rondo_\(counters[0][index].name)_total"
      text += "# TYPE \(name) counter\n"
      for (entry, values) in zip(loops, counters) { text += "\(name){\(labels(entry.loop))} \(values[index].count)\n" }
    }
    text += "# TYPE rondo_nested_runs gauge\n"
    for (loop, _) in loops { text += "rondo_nested_runs{\(labels(loop))} \(loop.heartbeat.depth)\n" }
    let measured = loops.map { ($0.loop, $0.recorder.measured) }
    text += summaries("rondo_run_seconds", measured, \.run)
    text += summaries("rondo_ready_seconds", measured, \.ready)
    return text + self.text(ShownServers.all)
  }

  private static func text(_ servers: [(name: String, figures: ServerFigures)]) -> String {
    func samples(_ name: String, _ type: String, _ value: (ServerFigures) -> UInt64) -> String {
      "# TYPE \(name) \(type)\n"
        + servers.map { "\(name){server=\"\(escaped($0))\"} \(value($1))\n" }.joined()
    }
    var text = samples("rondo_server_connections", "gauge") { UInt64($0.connections) }
    text += samples("rondo_server_draining", "gauge") { $0.isDraining ? 1 : 0 }
    text += samples("rondo_server_accepted_total", "counter") { $0.accepted }
    text += samples("rondo_server_requests_total", "counter") { $0.requests }
    text += "# TYPE rondo_server_limits_total counter\n"
    for (name, figures) in servers {
      for (limit, count) in figures.limits {
        text += "rondo_server_limits_total{server=\"\(escaped(name))\",limit=\"\(limit)\"} \(count)\n"
      }
    }
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
