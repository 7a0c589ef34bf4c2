import Foundation

/// Everything one run measured, in the form of the JSON file.
struct Report: Codable {
  var environment: Environment
  var results: [Result]

  /// One figure.
  struct Result: Codable {
    var workload: String
    var subject: String
    var metric: String
    var unit: String
    var value: Double
    /// How many measurements the value stands for.
    var samples: Int
  }

  func write(to path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try encoder.encode(self).write(to: URL(fileURLWithPath: path))
  }
}

/// What a figure is worth nothing without.
struct Environment: Codable {
  var kernel: String
  var cpus: Int
  var processor: String
  var clocksource: String
  /// The load average of the last minute when the run began.
  var load: Double
  var swift: String
  var build: String
  var effort: String
  var date: String
}
