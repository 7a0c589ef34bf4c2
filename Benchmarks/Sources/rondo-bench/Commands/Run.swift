import ArgumentParser

extension RondoBench {
  /// Measures, and prints the table.
  struct Run: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Measure and print a table (the default).")

    @Option(name: .long, help: "A workload or a family of them, as 'wake.parked'; may be repeated. Default: all.")
    var workload: [String] = []

    @Option(name: .long, help: "A subject; may be repeated. Default: all.")
    var subject: [String] = []

    @Flag(help: "How long to take.")
    var effort: Effort = .quick

    @Flag(name: .long, help: "Do not count system calls under strace.")
    var noCounts = false

    @Option(name: .long, help: ArgumentHelp("Also write the figures to a file.", valueName: "file"))
    var json: String?

    @Option(name: .long, help: ArgumentHelp("Also write a page with plots.", valueName: "file"))
    var html: String?

    func validate() throws {
      for name in workload where !Workloads.all.contains(where: { Self.matches($0.name, name) }) {
        throw ValidationError("There is no workload '\(name)'; 'rondo-bench list' prints those there are.")
      }
      for name in subject where !Subjects.all.contains(where: { $0.name == name }) {
        throw ValidationError("There is no subject '\(name)'; 'rondo-bench list' prints those there are.")
      }
    }

    func run() throws {
      let contests = contests()
      var report = Report(environment: Environment(effort: effort))
      var progress = Progress(total: contests.reduce(0) { $0 + $1.steps })
      for contest in contests {
        for outcome in contest.run(&progress) { report.add(outcome) }
      }
      progress.clear()
      print(report.environment.text)
      print(
        "Median over rounds, p90, p99 and p99.9 over all; less is better. ! and BEHIND: a peer is ahead by over 1 %.\n")
      print(Table(scoreboards: Scoreboard.all(of: report)).text)
      if let json { try report.write(to: json) }
      if let html { try Page(report).write(to: html) }
      guard !report.refusals.contains(where: { $0.text.hasPrefix("FAILED") }) else { throw ExitCode.failure }
    }

    private func contests() -> [Contest] {
      let subjects = Subjects.all.filter { subject.isEmpty || subject.contains($0.name) }
      return Workloads.all.compactMap { candidate in
        let plan = candidate.plan(effort)
        let isNamed = workload.contains { Self.matches(candidate.name, $0) }
        guard isNamed || (workload.isEmpty && !plan.onRequest) else { return nil }
        return Contest(workload: candidate, subjects: subjects, plan: plan, counts: !noCounts, budget: effort.budget)
      }
    }

    /// Whether a workload is the one named or a member of the family named.
    private static func matches(_ name: String, _ pattern: String) -> Bool {
      name == pattern || name.hasPrefix(pattern + ".")
    }
  }
}

extension Effort: EnumerableFlag {}
