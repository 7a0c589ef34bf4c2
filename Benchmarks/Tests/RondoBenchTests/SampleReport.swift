@testable import rondo_bench

extension Report {
  /// A report made by hand.
  static func sample(_ results: [(workload: String, subject: String, metric: String, value: Double)]) -> Report {
    var report = Report(
      environment: Environment(
        kernel: "6.1", cpus: 2, processor: "a processor", clocksource: "tsc", load: 0.1, swift: "6.3", build: "release",
        effort: "quick", date: "2026-01-01T00:00:00Z"))
    report.results = results.map { result in
      Report.Result(
        workload: result.workload, subject: result.subject, metric: result.metric, unit: "ns", value: result.value,
        samples: 10)
    }
    return report
  }
}
