import ArgumentParser
import Foundation

extension RondoBench {
  /// Puts a report's figures where the project shows them.
  struct Publish: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Write a report's figures into the README, the page of figures and the pictures.")

    @Argument(help: "The report: a file that 'run --json' wrote.")
    var report: String

    @Option(name: .long, help: "The file whose block of figures is replaced.")
    var readme: String

    @Option(name: .long, help: "The page that is written.")
    var page: String

    @Option(name: .long, help: "The directory the pictures are written to.")
    var pictures: String

    /// The workloads with a picture, and the names of their files.
    private static let pictured = [
      ("wake.parked.1core", "wake-one-core"), ("timer.lateness.1ms.between", "timer-lateness"),
    ]

    func run() throws {
      let report = try Report(contentsOf: report)
      try Self.check(report)
      let markdown = Markdown(report: report)
      let old = try String(contentsOfFile: readme, encoding: .utf8)
      let new = try Self.replacing(
        in: old, by: report.environment.text + "\n\n" + markdown.summary)
      try Data(new.utf8).write(to: URL(fileURLWithPath: readme))
      try Data(markdown.page.utf8).write(to: URL(fileURLWithPath: page))
      for (workload, name) in Self.pictured where report.curves.contains(where: { $0.workload == workload }) {
        let picture = Plot.distribution(of: workload, in: report).picture
        try Data(picture.utf8).write(to: URL(fileURLWithPath: pictures).appending(path: "\(name).svg"))
      }
    }

    /// Throws if the report is of a quick run, or lacks workloads.
    static func check(_ report: Report) throws {
      guard report.environment.effort == Effort.full.rawValue else {
        throw ValidationError("A \(report.environment.effort) run is not published. Use EFFORT=full.")
      }
      let absent = Workloads.all.map(\.name).filter { name in !report.workloads.contains { $0.hasPrefix(name) } }
      guard absent.isEmpty else {
        throw ValidationError("The report lacks \(absent.joined(separator: ", ")). Run all workloads.")
      }
    }

    private static let begin = "<!-- figures: begin -->"
    private static let end = "<!-- figures: end -->"

    /// The text with what stands between the two marks replaced.
    static func replacing(in text: String, by block: String) throws -> String {
      guard let begin = text.range(of: begin), let end = text.range(of: end), begin.upperBound <= end.lowerBound else {
        throw ValidationError("The README has no '\(Self.begin)' with a '\(Self.end)' after it.")
      }
      return text[..<begin.upperBound] + "\n\n\(block)\n\n" + text[end.lowerBound...]
    }
  }
}
