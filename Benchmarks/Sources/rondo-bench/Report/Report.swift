import Foundation

/// Everything one run measured, in the form of the JSON file. The table and the page are made of nothing else.
struct Report: Codable, Equatable {
  var environment: Environment
  var results: [Result] = []
  /// What has no figure, and why: no subject is skipped in silence.
  var refusals: [Note] = []
  /// What a reader must know beside the figures.
  var remarks: [Note] = []
  /// The times behind the percentiles.
  var curves: [Curve] = []

  /// One figure.
  struct Result: Codable, Equatable {
    var workload: String
    var subject: String
    var metric: String
    var unit: String
    var value: Double
    /// How many measurements the value stands for.
    var samples: Int
  }

  /// A sentence about one subject in one workload.
  struct Note: Codable, Equatable {
    var workload: String
    var subject: String
    var text: String
  }

  /// A cumulative distribution: at each point, the share of times that were not longer.
  struct Curve: Codable, Equatable {
    struct Point: Codable, Equatable {
      var percent: Double
      var nanoseconds: Double
    }

    var workload: String
    var subject: String
    var points: [Point]
  }

  init(environment: Environment) {
    self.environment = environment
  }

  /// A file may come from a version that knew only figures.
  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    environment = try container.decode(Environment.self, forKey: .environment)
    results = try container.decode([Result].self, forKey: .results)
    refusals = try container.decodeIfPresent([Note].self, forKey: .refusals) ?? []
    remarks = try container.decodeIfPresent([Note].self, forKey: .remarks) ?? []
    curves = try container.decodeIfPresent([Curve].self, forKey: .curves) ?? []
  }

  /// Throws a `Flaw` that names the file and what is wrong with it.
  init(contentsOf path: String) throws {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw Flaw(description: "\(path) cannot be read.")
    }
    do {
      self = try JSONDecoder().decode(Report.self, from: data)
    } catch DecodingError.keyNotFound(let key, _) {
      throw Flaw(description: "\(path) is no report: it has no '\(key.stringValue)'.")
    } catch {
      throw Flaw(description: "\(path) is no report: \(error)")
    }
  }

  /// Why a file is no report.
  struct Flaw: Error, Equatable, CustomStringConvertible {
    var description: String
  }

  func write(to path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try encoder.encode(self).write(to: URL(fileURLWithPath: path))
  }

  /// The metrics that sum a subject's work in a workload up in one figure, less being better.
  static let headlines: Set = ["p50", "median"]

  /// The workloads there are results or refusals of, in the order they were run.
  var workloads: [String] {
    var seen: Set<String> = []
    let all = order(of: results.map(\.workload)) + order(of: refusals.map(\.workload))
    return all.filter { seen.insert($0).inserted }
  }

  func value(_ workload: String, _ subject: String, _ metric: String) -> Double? {
    results.first { $0.workload == workload && $0.subject == subject && $0.metric == metric }?.value
  }

  func headline(_ workload: String, _ subject: String) -> Result? {
    results.first { $0.workload == workload && $0.subject == subject && Self.headlines.contains($0.metric) }
  }

  private func order(of names: [String]) -> [String] {
    var seen: Set<String> = []
    return names.filter { seen.insert($0).inserted }
  }
}

/// What a figure is worth nothing without.
struct Environment: Codable, Equatable {
  var kernel: String
  var cpus: Int
  var processor: String
  var clocksource: String
  /// The frequency governor, where the kernel has one.
  var governor: String?
  /// The load average of the last minute when the run began.
  var load: Double
  var swift: String
  var build: String
  var effort: String
  var date: String
  /// The peers' versions, by subject.
  var versions: [String: String]?
}
