import ArgumentParser
import Foundation

extension RondoBench {
  /// Sets two reports side by side.
  struct Compare: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Compare two reports; fails if a figure became worse by more than the threshold.")

    @Argument(help: "The report of before, as JSON.")
    var old: String

    @Argument(help: "The report of after, as JSON.")
    var new: String

    @Option(name: .long, help: ArgumentHelp("How much worse a figure may be.", valueName: "per cent"))
    var threshold: Double?

    @Option(
      name: .long,
      help: ArgumentHelp(
        "A metric to compare, as 'p90'; 'ratio' is robust against another machine. May be repeated. Default: medians.",
        valueName: "metric"))
    var metric: [String] = []

    @Option(name: .long, help: "A subject to compare; may be repeated. Default: rondo.")
    var subject: [String] = [Subjects.ours]

    func run() throws {
      let comparison = Comparison(
        try Report(contentsOf: old), try Report(contentsOf: new), metrics: Set(metric), subjects: Set(subject))
      guard !comparison.rows.isEmpty else { throw ValidationError("The reports have no figure in common.") }
      let worse = threshold.map { comparison.worse(byMoreThan: $0) } ?? []
      let width = comparison.rows.map(\.workload.count).max() ?? 0
      for row in comparison.rows {
        let name = row.workload.padding(toLength: width, withPad: " ", startingAt: 0)
        let ratio = String(format: "%.3f", row.ratio)
        let mark = worse.contains(row) ? "  WORSE" : ""
        print(
          "\(name)  \(row.subject)  \(row.metric)  \(Number.text(row.old)) -> \(Number.text(row.new)) \(row.unit)"
            + "  × \(ratio)\(mark)")
      }
      for result in comparison.lost {
        print("\(result.workload)  \(result.subject)  \(result.metric)  \(Number.text(result.value)) -> no figure")
      }
      guard worse.isEmpty else { throw ExitCode.failure }
    }
  }
}
